// GroupTables: the tables of a fragment's groups. Each batch that runs has one to itself, which the next ones
// find as it left it: batches run on streams of their own, which so need not agree on when a table grows, or
// is given out and emptied.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/device.h"
#include "cuda/fragment/group_table.h"
#include "engine/fragment/aggregator.h"

namespace gpujoin::cuda {

class GroupTables {
  public:
    // All but the limits outlive it.
    GroupTables(Device* device, const SinkPlan& plan, const Limits& limits, SinkCounters* counters)
        : account_(&device->pool(), limits.device_memory), sink_(plan), counters_(*counters) {}

    Status open(const WorkContext& context) { return sink_.upload(context); }

    // What was taken goes back to the others.
    GroupTable* take() {
        std::lock_guard lock(mutex_);
        if (free_.empty()) {
            free_.reserve(all_.size() + 1);  // so that giving back does not fail
            return all_.emplace_back(std::make_unique<GroupTable>(sink_)).get();
        }
        GroupTable* table = free_.back();
        free_.pop_back();
        return table;
    }
    void give_back(GroupTable* table) {
        std::lock_guard lock(mutex_);
        free_.push_back(table);
    }

    // Groups of a table go to the client, which will get them again when there are more of them.
    void note_given_out() { gave_out_ = true; }
    bool gave_out() const { return gave_out_; }
    // While no batch runs: merges all groups into one table, as far as there is memory.
    Status merge(const WorkContext& context) {
        GroupTable* into = next_filled();
        if (!into) return {};
        for (const auto& table : all_)
            if (table->groups() > into->groups()) into = table.get();
        for (const auto& table : all_) {
            if (table.get() == into || table->groups() == 0) continue;
            const Status status = into->merge(context, table.get());
            if (status.fault == Fault::DeviceMemory) return {};
            GPUJOIN_RETURN_IF_FAILED(status);
        }
        return {};
    }

    // While no batch runs: whether one table has all groups that are left.
    bool is_one() const {
        return std::count_if(all_.begin(), all_.end(),
                             [](const auto& table) { return table->groups() > 0; }) <= 1;
    }

    // While no batch runs: the next table that has groups, or nullptr.
    GroupTable* next_filled() const {
        auto has_groups = [](const auto& table) { return table->groups() > 0; };
        auto found = std::find_if(all_.begin(), all_.end(), has_groups);
        return found == all_.end() ? nullptr : found->get();
    }
    void clear() {
        for (const auto& table : all_) table->forget();
        gave_out_ = false;
    }

    const DeviceSink& sink() const { return sink_; }
    SinkCounters& counters() { return counters_; }
    MemoryAccount& account() { return account_; }
    uint64_t peak_memory() const { return account_.peak(); }

  private:
    MemoryAccount account_;
    DeviceSink sink_;
    SinkCounters& counters_;
    std::atomic<bool> gave_out_{false};
    std::mutex mutex_;  // of both lists
    std::vector<std::unique_ptr<GroupTable>> all_;
    std::vector<GroupTable*> free_;  // the one that was used last at the end
};

}  // namespace gpujoin::cuda
