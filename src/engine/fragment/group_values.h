// GroupValues: the aggregates of groups, each a column of the store, or two for a sum of floats, added to
// block by block.
#pragma once

#include <span>
#include <vector>

#include "engine/fragment/row_store.h"
#include "engine/fragment/sink_programs.h"

namespace gpujoin {

// By group: the sum so far, and what rounding took from it.
struct FloatSums {
    double* sum;
    double* lost;
};

class GroupValues {
  public:
    // The aggregates are the columns of the store behind the keys (stored_group_columns()). Plan and store
    // outlive it.
    GroupValues(const SinkPlan& plan, RowStore* store);

    // What the values of each program that is summed as floats amount to, without their signs.
    std::span<const double> sizes() const { return sizes_; }
    // Whether the sums of floats can take the values of a block: the partial sums are given out before they
    // might leave the range of floats.
    bool has_range(const RowBlock& block, const SinkPrograms& programs);
    // The values of the block will be added.
    void take_range();

    // Begins new groups, the next ones of the store, each with a row of the block.
    void begin(const RowBlock& block, const uint32_t* lanes, uint32_t count);

    // Adds the rows that have a bit in `rows` to their groups.
    void add(const SinkPrograms& programs, uint64_t rows, const uint32_t* groups);

    // Adds groups that come from another table, in a block of its columns, own ones too.
    void merge(const RowBlock& block, uint64_t rows, const uint32_t* groups);

    // Before groups are given out: sums of floats are rounded, and what is NULL has zero bytes.
    void close();
    void clear();

  private:
    struct Aggregate {
        AggregateSpec spec;
        bool is_float;
        uint32_t column;
        uint32_t lost;  // of a sum of floats: the column of what rounding took from it
    };

    FloatSums sums_of(const Aggregate& aggregate) const;
    void add_to(const Aggregate& aggregate, const BlockValues* values, uint64_t rows, const uint32_t* groups);

    const SinkPlan& plan_;
    RowStore& store_;
    std::vector<Aggregate> aggregates_;
    std::vector<uint16_t> summed_floats_;  // programs
    std::vector<double> sizes_;       // of these: what the values that were added amount to, without signs
    std::vector<double> next_sizes_;  // the same with those of a block
};

}  // namespace gpujoin
