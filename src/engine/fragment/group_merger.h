// GroupMerger: makes complete groups of those of several tables, which may have the same ones. The groups are
// merged part by part, by the highest bits of their keys' hashes, so that each part's table is small
// (partitioned aggregation: V. Leis et al., Morsel-Driven Parallelism, SIGMOD 2014, 4.4).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/fragment/group_table.h"

namespace gpujoin {

class GroupMerger {
  public:
    // The plan outlives it. cancel: nullptr, or is looked at between tables.
    GroupMerger(const SinkPlan& plan, Ledger* ledger, const std::atomic<bool>* cancel);

    // Takes the tables, which must stay as they are, and all memory that merging takes: what comes after this
    // does not fail. Fails with Fault::HostMemory, and then nothing has happened; or where it is cancelled.
    // Only where sums of floats stay in range.
    Status start(const std::vector<std::unique_ptr<GroupTable>>& tables);

    // Whether no sum of floats can leave the range of floats when the groups of the tables are added to each
    // other.
    static bool stays_in_range(const std::vector<std::unique_ptr<GroupTable>>& tables);

    // The complete groups of the next part, until the next call; nullptr: there are no more, or it is
    // cancelled.
    GroupTable* next();

  private:
    struct Source {
        const GroupTable* table;
        cpu::HostArray numbers;        // of its groups, part by part
        std::vector<uint32_t> starts;  // of the parts
    };

    bool is_cancelled() const { return cancel_ && cancel_->load(std::memory_order_relaxed); }
    Status list(const GroupTable& table);
    Status reserve();
    void merge(const Source& source);

    const SinkPlan plan_;  // of groups as rows
    const GroupKeyLayout layout_;
    Ledger* const ledger_;
    const std::atomic<bool>* const cancel_;
    std::vector<Source> sources_;
    GroupTable merged_;
    uint32_t bits_ = 0;
    uint32_t part_ = 0;
};

}  // namespace gpujoin
