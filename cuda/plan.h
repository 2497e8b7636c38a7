// What a sealed join does: which algorithm finds the candidates of a probe row, and which terms are left to
// be tested on each of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "wire/join_spec.h"

namespace gpujoin::cuda {

inline constexpr uint32_t kMaxTileTests = 3;

struct JoinPlan {
    Algorithm algorithm = Algorithm::Auto;
    bool by_key = false;         // candidates are found by the equality columns
    bool merge = false;          // by merging sorted sides: on range_column, else on the equality columns
    int range_column = -1;       // build column that candidates are sorted on and searched by; -1 for none
    std::vector<Term> bounds;    // range terms on range_column: the search
    std::vector<Term> packed;    // terms to be tested on each candidate by order key
    std::vector<Term> residual;  // terms to be tested on each candidate by value

    // Of a nested loop instead, where its terms come down to a few tests of one build column each (tiles.h):
    std::vector<Term> tile_terms;
    std::vector<uint8_t> tile_of_term;   // the test that each is part of
    std::vector<uint16_t> tile_columns;  // the build column of each test

    bool filters = false;  // candidates must pass the spec's filter program too

    // Whether range_column should rather be chosen with a probe batch in hand (engine/range_choice.h).
    bool chooses_late = false;

    bool tests_candidates() const {
        return !packed.empty() || !residual.empty() || !tile_terms.empty() || filters;
    }
    // All pairs are candidates, and there is nothing but the filter program to test.
    bool only_filters() const {
        return filters && algorithm == Algorithm::NestedLoop && packed.empty() && residual.empty();
    }
};

// The plan of the algorithm that is chosen (engine/algorithm.h) for so many build rows. sort_merge merges on
// the equalities where there are any, and tests ranges. range_column: the build column to search by where
// there is a choice; else the likely one. Only `range_column`, `bounds` and `packed` depend on it.
// exact_sort_key: rows that are sorted by their equality columns need no other test; only what is tested
// depends on it.
JoinPlan plan_join(const JoinSpec& spec, uint64_t build_rows, bool exact_sort_key,
                   std::optional<uint16_t> range_column = {});

}  // namespace gpujoin::cuda
