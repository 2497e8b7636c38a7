// GroupTable: groups and their aggregates, as one batch at a time adds to them. It takes blocks of rows as
// long as there is room; when it is full, its groups are given out and it begins again.
#pragma once

#include "engine/fragment/group_index.h"
#include "engine/fragment/group_values.h"

namespace gpujoin {

class GroupTable {
  public:
    // Plan and layout outlive it.
    GroupTable(const SinkPlan& plan, const GroupKeyLayout& layout, Ledger* ledger);

    // Whether there is room for a block, over which the programs have run, as if each row began a group.
    bool has_room(const RowBlock& block, const SinkPrograms& programs);
    // Makes room for the rows of a block that have a bit in `rows`, as many from the first one on as there
    // can be. None: the table is full. Where it is empty there is room for a row, whatever memory is left.
    Status make_room(const RowBlock& block, const SinkPrograms& programs, uint64_t rows, uint32_t* lanes);
    // Adds the rows of a block that have a bit in `rows`. There is room.
    void add(const RowBlock& block, const SinkPrograms& programs, uint64_t rows);

    // No more groups, or no longer values, go into a table, whatever memory there is.
    bool is_at_limit() const;
    // All of its memory is charged, so that there can be more such tables.
    bool is_charged() const { return is_charged_; }

    // Of tables into which the groups of others are merged: makes room for so many groups, and so many bytes
    // in each column of values of any length; adds groups that lie in columns like those of this table, for
    // which there is room.
    Status reserve(uint64_t groups, std::span<const uint64_t> data);
    void merge(const RowBlock& block);
    // Adds what those of its groups have in columns of values of any length.
    void count_data(std::span<const uint32_t> groups, std::span<uint64_t> data) const;
    const GroupIndex& index() const { return index_; }
    // What was added up as floats (GroupValues::sizes()).
    std::span<const double> sizes_of_floats() const { return values_.sizes(); }

    // Before groups are read.
    void close() { values_.close(); }
    void clear();

    uint32_t groups() const { return store_.rows(); }
    // The columns of groups, as results have them; and as merge() wants them of another table.
    std::vector<HostColumn> columns() const;
    std::vector<HostColumn> columns_to_merge() const;

  private:
    Status make_room(const RowBlock& block, const SinkPrograms& programs, uint64_t rows, bool* is_full);
    Status make_data_room(const RowBlock& block, uint64_t rows);
    Status make_first_room(const RowBlock& row);
    void begin_groups(const RowBlock& block, const uint32_t* new_lanes, uint32_t count);
    uint64_t data_bytes() const;
    std::vector<HostColumn> columns(size_t count) const;

    const SinkPlan& plan_;
    const uint64_t most_groups_;
    bool is_charged_ = true;
    RowStore store_;
    GroupIndex index_;
    GroupValues values_;
    std::vector<std::pair<uint32_t, uint16_t>> texts_;  // columns of the store, and the inputs they are from
};

}  // namespace gpujoin
