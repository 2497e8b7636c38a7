// Room for groups, and adding rows to them.
#include "engine/fragment/group_table.h"

namespace gpujoin {

namespace {

// Groups of a table, and bytes of their values of any length: beyond these it costs more to look groups up
// than the client's work on groups that come again.
constexpr uint64_t kMostGroups = 256u << 10;
// The same where the table is set aside, and its groups are merged with those of others in the end.
constexpr uint64_t kMostGroupsToMerge = 2u << 20;
constexpr uint64_t kMostData = 64u << 20;

std::vector<ColumnSpec> stored_columns(const SinkPlan& plan, const GroupKeyLayout& layout) {
    std::vector<ColumnSpec> columns = stored_group_columns(plan);
    for (const ColumnSpec& column : layout.columns()) columns.push_back(column);
    return columns;
}

// At most, of the rows of a block that have a bit in `rows`: those that lie side by side are not looked at
// one by one.
uint64_t data_bytes_of(const HostColumn& column, const RowBlock& block, uint64_t rows) {
    const cpu::ColumnSource& source = column.source;
    if (rows == 0) return 0;
    if (!column.rows) return source.offset(block.first + block.lanes) - source.offset(block.first);
    uint64_t bytes = 0;
    for_each_lane(rows, [&](uint32_t lane) { bytes += source.value(column.rows[block.first + lane]).bytes; });
    return bytes;
}

}  // namespace

GroupTable::GroupTable(const SinkPlan& plan, const GroupKeyLayout& layout, Ledger* ledger)
    : plan_(plan),
      most_groups_(plan.completes_groups ? kMostGroupsToMerge : kMostGroups),
      store_(ledger, stored_columns(plan, layout)),
      index_(plan, layout, &store_, ledger),
      values_(plan, &store_) {
    auto note = [&](size_t column, uint16_t input) {
        if (plan.inputs[input].spec.type == ColumnType::Bytes)
            texts_.emplace_back(static_cast<uint32_t>(column), input);
    };
    for (size_t i = 0; i < plan.keys.size(); i++) note(i, plan.keys[i]);
    for (size_t i = 0; i < plan.aggregates.size(); i++)
        if (plan.aggregates[i].function == AggregateFunction::Any)
            note(plan.keys.size() + i, plan.aggregates[i].value);
}

uint64_t GroupTable::data_bytes() const {
    uint64_t bytes = 0;
    for (const auto& [column, input] : texts_) bytes += store_.data_bytes(column);
    return bytes;
}

bool GroupTable::is_at_limit() const {
    return store_.rows() + uint64_t{RowBlock::kMostLanes} > most_groups_ || data_bytes() > kMostData;
}

// As if each row began a group.
Status GroupTable::make_data_room(const RowBlock& block, uint64_t rows) {
    for (const auto& [column, input] : texts_)
        GPUJOIN_RETURN_IF_FAILED(
            store_.make_data_room(column, data_bytes_of(block.columns[input], block, rows)));
    return {};
}

bool GroupTable::has_room(const RowBlock& block, const SinkPrograms& programs) {
    const uint64_t groups = uint64_t{store_.rows()} + block.lanes;
    return texts_.empty() && groups <= most_groups_ && groups <= store_.capacity() &&
           index_.has_room(groups) && values_.has_range(block, programs);
}

// Full: there is no room, but there would be in an empty table, or for a smaller block.
Status GroupTable::make_room(const RowBlock& block, const SinkPrograms& programs, uint64_t rows,
                             bool* is_full) {
    const uint64_t groups = uint64_t{store_.rows()} + block.lanes;
    *is_full = groups > most_groups_ || data_bytes() > kMostData || !values_.has_range(block, programs);
    if (*is_full) return {};
    Status status = store_.make_room(block.lanes);
    if (status.ok()) status = index_.make_room(groups);
    if (status.ok()) status = make_data_room(block, rows);
    if (status.fault != Fault::HostMemory) return status;
    if (store_.rows() == 0 && block.lanes == 1) return make_first_room(block);
    *is_full = true;
    return {};
}

// A join that has used up its memory, with a build side, is grouped nevertheless.
Status GroupTable::make_first_room(const RowBlock& row) {
    is_charged_ = false;
    GPUJOIN_RETURN_IF_FAILED(store_.make_first_room());
    GPUJOIN_RETURN_IF_FAILED(index_.make_first_room());
    for (const auto& [column, input] : texts_)
        GPUJOIN_RETURN_IF_FAILED(
            store_.make_first_data_room(column, data_bytes_of(row.columns[input], row, row.all())));
    return {};
}

Status GroupTable::make_room(const RowBlock& block, const SinkPrograms& programs, uint64_t rows,
                             uint32_t* lanes) {
    RowBlock part = block;
    while (true) {
        bool is_full;
        GPUJOIN_RETURN_IF_FAILED(make_room(part, programs, rows & part.all(), &is_full));
        *lanes = is_full ? 0 : part.lanes;
        // A table of a few rows may have room for another one.
        if (!is_full || store_.rows() >= RowBlock::kMostLanes || part.lanes == 1) return {};
        part.lanes = (part.lanes + 1) / 2;
    }
}

void GroupTable::add(const RowBlock& block, const SinkPrograms& programs, uint64_t rows) {
    values_.take_range();
    uint32_t groups[RowBlock::kMostLanes];
    uint32_t new_lanes[RowBlock::kMostLanes];
    if (const uint32_t found_new = index_.find(block, rows, groups, new_lanes)) {
        begin_groups(block, new_lanes, found_new);
    }
    values_.add(programs, rows, groups);
}

void GroupTable::begin_groups(const RowBlock& block, const uint32_t* new_lanes, uint32_t count) {
    for (uint32_t i = 0; i < plan_.keys.size(); i++) {
        const HostColumn& key = block.columns[plan_.keys[i]];
        uint32_t from[RowBlock::kMostLanes];
        for (uint32_t n = 0; n < count; n++) from[n] = key.row(block.first + new_lanes[n]);
        store_.write(i, key.source, from, count);
    }
    values_.begin(block, new_lanes, count);
    store_.add(count);
}

Status GroupTable::reserve(uint64_t groups, std::span<const uint64_t> data) {
    GPUJOIN_RETURN_IF_FAILED(store_.make_room(groups));
    GPUJOIN_RETURN_IF_FAILED(index_.make_room(groups));
    for (const auto& [column, input] : texts_)
        GPUJOIN_RETURN_IF_FAILED(store_.make_data_room(column, data[column]));
    return {};
}

void GroupTable::count_data(std::span<const uint32_t> groups, std::span<uint64_t> data) const {
    for (const auto& [column, input] : texts_) {
        const cpu::ColumnSource source = store_.source(column);
        for (uint32_t group : groups) data[column] += source.value(group).bytes;
    }
}

void GroupTable::merge(const RowBlock& block) {
    uint32_t groups[RowBlock::kMostLanes];
    uint32_t new_lanes[RowBlock::kMostLanes];
    if (const uint32_t found_new = index_.find(block, block.all(), groups, new_lanes))
        begin_groups(block, new_lanes, found_new);
    values_.merge(block, block.all(), groups);
}

void GroupTable::clear() {
    store_.clear();
    index_.clear();
    values_.clear();
}

std::vector<HostColumn> GroupTable::columns() const {
    return columns(plan_.group_columns.size());
}

std::vector<HostColumn> GroupTable::columns_to_merge() const {
    return columns(stored_group_columns(plan_).size());
}

std::vector<HostColumn> GroupTable::columns(size_t count) const {
    std::vector<HostColumn> columns;
    for (uint32_t i = 0; i < count; i++) columns.push_back({store_.source(i), nullptr});
    return columns;
}

}  // namespace gpujoin
