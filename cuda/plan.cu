// Choice of the algorithm.
#include "cuda/plan.h"

#include <map>
#include <utility>

#include "engine/algorithm.h"
#include "engine/compare.h"
#include "engine/range_choice.h"

namespace gpujoin::cuda {

namespace {

void append_terms(std::vector<Term>* terms, const Term* more, uint32_t count) {
    terms->insert(terms->end(), more, more + count);
}

// Packs what can be packed. Where order keys may tie for different values, a term is tested by value too;
// inequality would then be packed in vain.
void pack_terms(const JoinSpec& spec, JoinPlan* plan) {
    std::vector<Term> by_value;
    for (const Term& term : plan->residual) {
        bool exact = order_key_is_exact(spec.build[term.build_column]);
        bool searched = term.build_column == plan->range_column && term.comparison != Comparison::NotEqual;
        if (!exact) by_value.push_back(term);
        if (exact || (term.comparison != Comparison::NotEqual && !searched)) plan->packed.push_back(term);
    }
    plan->residual = std::move(by_value);
}

// Turns packed terms into tile tests, if they are not too many. Terms of one build column share a test; one
// with <> has a test of its own.
void make_tiles(JoinPlan* plan) {
    if (!plan->residual.empty()) return;
    std::vector<uint16_t> columns;
    std::vector<uint8_t> tests;
    std::map<uint16_t, uint8_t> test_of_column;
    for (const Term& term : plan->packed) {
        auto next = static_cast<uint8_t>(columns.size());
        uint8_t test = next;
        if (term.comparison != Comparison::NotEqual)
            test = test_of_column.try_emplace(term.build_column, next).first->second;
        if (test == next) columns.push_back(term.build_column);
        tests.push_back(test);
    }
    if (columns.size() > kMaxTileTests) return;
    plan->tile_columns = std::move(columns);
    plan->tile_of_term = std::move(tests);
    plan->tile_terms = std::move(plan->packed);
    plan->packed.clear();
}

}  // namespace

JoinPlan plan_join(const JoinSpec& spec, uint64_t build_rows, bool exact_sort_key,
                   std::optional<uint16_t> range_column) {
    JoinPlan plan;
    plan.algorithm = choose_algorithm(spec, build_rows);
    bool searches = plan.algorithm != Algorithm::NestedLoop;
    plan.merge = plan.algorithm == Algorithm::SortMerge;
    plan.by_key = searches && !plan.merge && spec.equalities > 0;
    bool exact_key = plan.by_key || (plan.merge && exact_sort_key);
    if (!exact_key) append_terms(&plan.residual, spec.equality, spec.equalities);
    bool by_range = plan.algorithm == Algorithm::Index || (plan.merge && spec.equalities == 0);
    if (by_range) {
        plan.range_column = range_column.value_or(likely_range_column(spec));
        plan.chooses_late = has_range_choice(spec);
    }
    for (uint32_t i = 0; i < spec.ranges; i++) {
        const Term& term = spec.range[i];
        bool bound = term.build_column == plan.range_column;
        if (bound) plan.bounds.push_back(term);
        // Where order keys may tie for different values the search is only a first approximation.
        if (!bound || !order_key_is_exact(spec.build[term.build_column])) plan.residual.push_back(term);
    }
    append_terms(&plan.residual, spec.filter, spec.filters);
    // Hashing leaves few candidates, for which arrays of order keys are not worth their memory.
    if (plan.algorithm != Algorithm::Hash) pack_terms(spec, &plan);
    plan.filters = spec.program.steps > 0;
    if (plan.algorithm == Algorithm::NestedLoop && !plan.filters) make_tiles(&plan);
    return plan;
}

}  // namespace gpujoin::cuda
