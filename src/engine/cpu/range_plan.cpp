// Choice of the driving range terms, and their bounds.
#include "engine/cpu/range_plan.h"

#include <algorithm>

namespace gpujoin::cpu {

namespace {

constexpr uint64_t kHighest = ~uint64_t{0};

uint16_t likely_column(const JoinSpec& spec) {
    for (uint32_t i = 0; i < spec.ranges; i++) {
        for (uint32_t j = i + 1; j < spec.ranges; j++) {
            if (spec.range[i].build_column == spec.range[j].build_column &&
                is_lower_bound(spec.range[i]) != is_lower_bound(spec.range[j]))
                return spec.range[i].build_column;
        }
    }
    // Bounded on one side: from above, so that the rows near the bound, which are the likely ones where the
    // column is one end of an interval, come last (MaximumTree::trim).
    for (uint32_t i = 0; i < spec.ranges; i++)
        if (!is_lower_bound(spec.range[i])) return spec.range[i].build_column;
    return spec.range[0].build_column;
}

// Narrows [low, high] to the build keys that one term accepts.
void narrow(uint64_t key, Comparison comparison, uint64_t* low, uint64_t* high) {
    bool none = false;
    switch (comparison) {
        case Comparison::Less:
            none = key == kHighest;
            *low = std::max(*low, key + 1);
            break;
        case Comparison::LessEqual:
            *low = std::max(*low, key);
            break;
        case Comparison::Greater:
            none = key == 0;
            *high = std::min(*high, key - 1);
            break;
        default:
            *high = std::min(*high, key);
    }
    if (none) {
        *low = 1;
        *high = 0;
    }
}

}  // namespace

RangePlan plan_ranges(const JoinContext& join) {
    const JoinSpec& spec = join.spec;
    RangePlan plan;
    plan.build_column = join.range_column ? *join.range_column : likely_column(spec);
    for (uint32_t i = 0; i < spec.ranges; i++) {
        const Term& term = spec.range[i];
        bool exact = order_key_is_exact(spec.build[term.build_column]);
        if (term.build_column == plan.build_column) {
            plan.driving.push_back(term);
            if (exact) continue;
        } else if (!plan.pruning) {
            plan.pruning = term;
            if (exact) continue;
        }
        plan.undecided.push_back(term);
    }
    plan.undecided.insert(plan.undecided.end(), spec.filter, spec.filter + spec.filters);
    return plan;
}

RangeBounds::RangeBounds(const JoinSpec& spec, const std::vector<Term>& terms, const BatchView& batch) {
    for (const Term& term : terms) {
        const ColumnSpec& column = spec.probe[term.probe_column];
        Comparison comparison = term.comparison;
        if (!order_key_is_exact(column)) {
            if (comparison == Comparison::Less) comparison = Comparison::LessEqual;
            if (comparison == Comparison::Greater) comparison = Comparison::GreaterEqual;
        }
        bounds_.push_back({probe_source(column, batch.columns[term.probe_column]), comparison});
    }
}

void RangeBounds::read(uint64_t begin, uint32_t rows, uint64_t* low, uint64_t* high) const {
    std::fill(low, low + rows, 0);
    std::fill(high, high + rows, kHighest);
    for (const Bound& bound : bounds_) {
        const ColumnSource column = bound.column;
        for (uint32_t i = 0; i < rows; i++) {
            uint64_t key = order_key(column.spec, column.value(begin + i));
            // An interval that is empty stays so.
            if (low[i] <= high[i]) narrow(key, bound.comparison, &low[i], &high[i]);
        }
    }
}

}  // namespace gpujoin::cpu
