// RangePlan: which range terms drive a search and how the others are used; RangeBounds: the interval of build
// order keys (compare.h) that the driving terms leave to a probe row.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/cpu/context.h"
#include "engine/key_interval.h"

namespace gpujoin::cpu {

struct RangePlan {
    uint16_t build_column = 0;    // the rows are sorted by this one
    std::vector<Term> driving;    // all range terms on it: together one interval
    std::optional<Term> pruning;  // a range term on another column, for passing over candidates
    std::vector<Term> undecided;  // what is left to test on candidates
};

// The terms on join.range_column drive. Where that is open, a column bounded on both sides is preferred: it
// is likely to leave the fewest candidates. The join has a range.
RangePlan plan_ranges(const JoinContext& join);

// The column to drive by what samples of the build rows and of a probe batch show (range_choice.h).
Status choose_range_column(const JoinContext& join, const BatchView& batch, uint16_t* column);

class RangeBounds {
  public:
    RangeBounds() = default;
    RangeBounds(const JoinSpec& spec, const std::vector<Term>& terms, const BatchView& batch);

    // For probe rows [begin, begin + rows): build keys in [low[i], high[i]] may match, none if low > high.
    // Where order keys are not exact, the interval includes keys that tie.
    void read(uint64_t begin, uint32_t rows, uint64_t* low, uint64_t* high) const;

  private:
    struct Bound {
        ColumnSource column;
        Comparison comparison;
    };
    std::vector<Bound> bounds_;
};

}  // namespace gpujoin::cpu
