// Matcher: an algorithm's sealed build side. For each probe row it gives a range of positions in its list of
// build rows; the cursor expands the ranges, tests the terms that the algorithm has not decided, and writes
// results. So algorithms differ only in how they find ranges.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/cpu/context.h"

namespace gpujoin::cpu {

// The candidates of a block of probe rows: positions [first[i], first[i] + count[i]) for row i.
struct CandidateRanges {
    uint32_t first[kBlockRows];
    uint32_t count[kBlockRows];
};

// One probe batch under way; belongs to one cursor.
class Search {
  public:
    virtual ~Search() = default;

    // Finds the candidates of probe rows [begin, begin + rows), rows <= kBlockRows; begin only grows. Rows
    // with NULLs in a term may be given any candidates.
    virtual Status find(uint64_t begin, uint32_t rows, CandidateRanges* ranges) = 0;

    // Lists those of the positions [*position, end) that can match the probe row, `room` at most, and moves
    // *position behind what was looked at: lets an algorithm pass over candidates wholesale. Only of matchers
    // that prune.
    virtual uint32_t list_candidates(uint64_t, uint32_t*, uint32_t, uint32_t, uint32_t*) { return 0; }
};

class Matcher {
  public:
    virtual ~Matcher() = default;

    // Starts on a probe batch. The batch and its reader outlive the search.
    virtual Status start(const BatchView& batch, const KeyReader& reader,
                         std::unique_ptr<Search>* search) = 0;

    // Row numbers by position; nullptr: the position itself.
    virtual const uint32_t* row_of_position() const = 0;

    uint64_t positions = 0;       // all positions are less
    bool unique_keys = false;     // no two build rows share an equality key
    bool prunes = false;          // list_candidates() is to be used
    std::vector<Term> undecided;  // terms that a candidate may fail
};

// Each builds its side, or fails. Which terms each needs: hash equalities; index ranges; sort_merge either.
Status make_hash_matcher(JoinContext& join, std::unique_ptr<Matcher>* matcher);
Status make_index_matcher(JoinContext& join, std::unique_ptr<Matcher>* matcher);
Status make_sort_merge_matcher(JoinContext& join, std::unique_ptr<Matcher>* matcher);
Status make_nested_loop_matcher(JoinContext& join, std::unique_ptr<Matcher>* matcher);

}  // namespace gpujoin::cpu
