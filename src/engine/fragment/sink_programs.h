// SinkPrograms: the values that a sink's programs give for a block of rows, and which of these rows escape.
#pragma once

#include <vector>

#include "engine/fragment/host_column.h"

namespace gpujoin {

// What a program gives: numbers, or truth values. What is undecided may be NULL, too.
struct BlockValues {
    int64_t value[RowBlock::kMostLanes];
    uint64_t truth;
    uint64_t null;
    uint64_t undecided;
};

class SinkPrograms {
  public:
    // The plan outlives it.
    explicit SinkPrograms(const SinkPlan& plan);

    // Runs all programs. Returns the mask of escaped rows.
    uint64_t run(const RowBlock& block);

    const BlockValues& operator[](uint16_t program) const { return values_[program]; }

    // Of those of the rows that an aggregate looks at at all.
    uint64_t passed(const AggregateSpec& aggregate) const {
        return aggregate.filter == kNoNumber ? ~uint64_t{0} : values_[aggregate.filter].truth;
    }

  private:
    const SinkPlan& plan_;
    std::vector<bool> is_truth_;
    std::vector<BlockValues> values_;
    bool may_escape_ = false;
};

}  // namespace gpujoin
