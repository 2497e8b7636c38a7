// Choice of the driving range terms, and their bounds.
#include "engine/cpu/index/range_plan.h"

#include <algorithm>

#include "engine/range_choice.h"

namespace gpujoin::cpu {

namespace {

// Reads a sample of a column.
Status read_keys(const ColumnSource& source, uint64_t step, std::vector<SampledKey>* keys) {
    uint64_t row = 0;
    for (SampledKey& key : *keys) {
        key = {0, !source.is_null(row)};
        if (key.valid) key.key = order_key(source.spec, source.value(row));
        row += step;
    }
    return {};
}

}  // namespace

RangePlan plan_ranges(const JoinContext& join) {
    const JoinSpec& spec = join.spec;
    RangePlan plan;
    plan.build_column = join.range_column ? *join.range_column : likely_range_column(spec);
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

Status choose_range_column(const JoinContext& join, const BatchView& batch, uint16_t* column) {
    SampledSide probe{batch.rows, [&](uint16_t number, uint64_t step, std::vector<SampledKey>* keys) {
                          return read_keys(probe_source(join.spec.probe[number], batch.columns[number]), step,
                                           keys);
                      }};
    SampledSide build{join.build.rows(), [&](uint16_t number, uint64_t step, std::vector<SampledKey>* keys) {
                          return read_keys(join.build.source(number), step, keys);
                      }};
    return choose_range_column(join.spec, probe, build, column);
}

RangeBounds::RangeBounds(const JoinSpec& spec, const std::vector<Term>& terms, const BatchView& batch) {
    for (const Term& term : terms) {
        const ColumnSpec& column = spec.probe[term.probe_column];
        Comparison comparison = compare_order_keys(column, term.comparison);
        bounds_.push_back({probe_source(column, batch.columns[term.probe_column]), comparison});
    }
}

void RangeBounds::read(uint64_t begin, uint32_t rows, uint64_t* low, uint64_t* high) const {
    std::fill(low, low + rows, KeyInterval{}.low);
    std::fill(high, high + rows, KeyInterval{}.high);
    for (const Bound& bound : bounds_) {
        const ColumnSource column = bound.column;
        for (uint32_t i = 0; i < rows; i++) {
            KeyInterval interval{low[i], high[i]};
            interval.narrow(order_key(column.spec, column.value(begin + i)), bound.comparison);
            low[i] = interval.low;
            high[i] = interval.high;
        }
    }
}

}  // namespace gpujoin::cpu
