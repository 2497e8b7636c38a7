// Listing the groups of each table by parts, and adding one table's after the other's.
#include "engine/fragment/group_merger.h"

#include <algorithm>

#include "engine/guard.h"

namespace gpujoin {

namespace {

constexpr uint64_t kGroupsOfPart = 128u << 10;
constexpr uint32_t kMostBits = 12;

// What groups are keyed by and have is what the columns of groups are.
SinkPlan plan_of_groups(const SinkPlan& plan) {
    SinkPlan groups = plan;
    groups.inputs.clear();
    for (uint16_t i = 0; i < plan.group_columns.size(); i++)
        groups.inputs.push_back({0, i, plan.group_columns[i]});
    for (uint16_t i = 0; i < groups.keys.size(); i++) groups.keys[i] = i;
    for (size_t i = 0; i < groups.aggregates.size(); i++)
        if (groups.aggregates[i].function == AggregateFunction::Any)
            groups.aggregates[i].value = static_cast<uint16_t>(groups.keys.size() + i);
    return groups;
}

}  // namespace

GroupMerger::GroupMerger(const SinkPlan& plan, Ledger* ledger, const std::atomic<bool>* cancel)
    : plan_(plan_of_groups(plan)),
      layout_(plan_),
      ledger_(ledger),
      cancel_(cancel),
      merged_(plan_, layout_, ledger) {}

bool GroupMerger::stays_in_range(const std::vector<std::unique_ptr<GroupTable>>& tables) {
    std::vector<double> total;
    for (const auto& table : tables) {
        const std::span<const double> sizes = table->sizes_of_floats();
        total.resize(sizes.size());
        for (size_t i = 0; i < sizes.size(); i++) total[i] += sizes[i];
    }
    return std::ranges::all_of(total, [](double size) { return size <= kMostSummed; });
}

Status GroupMerger::list(const GroupTable& table) {
    if (is_cancelled()) return cancelled_status();
    Source& source = sources_.emplace_back();
    source.table = &table;
    source.starts.resize((size_t{1} << bits_) + 1);
    GPUJOIN_RETURN_IF_FAILED(source.numbers.allocate(ledger_, uint64_t{table.groups()} * sizeof(uint32_t)));
    table.index().list_parts(bits_, source.numbers.as<uint32_t>(), source.starts.data());
    return {};
}

// For the largest part, as if no two of its groups were the same.
Status GroupMerger::reserve() {
    for (uint32_t part = 0; part < 1u << bits_; part++) {
        if (is_cancelled()) return cancelled_status();
        uint64_t groups = 0;
        std::vector<uint64_t> data(plan_.group_columns.size());
        for (const Source& source : sources_) {
            const std::span numbers(source.numbers.as<uint32_t>() + source.starts[part],
                                    source.starts[part + 1] - source.starts[part]);
            groups += numbers.size();
            source.table->count_data(numbers, data);
        }
        GPUJOIN_RETURN_IF_FAILED(merged_.reserve(groups, data));
    }
    return {};
}

Status GroupMerger::start(const std::vector<std::unique_ptr<GroupTable>>& tables) {
    uint64_t groups = 0;
    for (const auto& table : tables) groups += table->groups();
    bits_ = 0;
    while (bits_ < kMostBits && groups >> bits_ > kGroupsOfPart) bits_++;
    for (const auto& table : tables)
        if (table->groups() > 0) GPUJOIN_RETURN_IF_FAILED(list(*table));
    return reserve();
}

void GroupMerger::merge(const Source& source) {
    std::vector<HostColumn> columns = source.table->columns_to_merge();
    for (HostColumn& column : columns) column.rows = source.numbers.as<uint32_t>();
    const uint32_t end = source.starts[part_ + 1];
    for (uint32_t first = source.starts[part_]; first < end; first += RowBlock::kMostLanes)
        merged_.merge({columns, first, std::min(RowBlock::kMostLanes, end - first)});
}

GroupTable* GroupMerger::next() {
    merged_.clear();
    for (; part_ < 1u << bits_; part_++) {
        for (const Source& source : sources_) {
            if (is_cancelled()) return nullptr;
            merge(source);
        }
        if (merged_.groups() == 0) continue;
        part_++;
        return &merged_;
    }
    return nullptr;
}

}  // namespace gpujoin
