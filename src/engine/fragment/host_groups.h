// HostGroups: the aggregator of rows in host memory. Each batch that runs has a table of its own, which the
// next ones find as it left it.
#pragma once

#include <mutex>
#include <vector>

#include "engine/fragment/group_table.h"
#include "engine/ledger.h"

namespace gpujoin {

class HostGroups final : public Aggregator {
  public:
    // The plan and the counters outlive it.
    HostGroups(const SinkPlan& plan, const Limits& limits, SinkCounters* counters);

    Status flush(std::unique_ptr<Cursor>* cursor) override;
    void clear() override;
    uint64_t peak_memory() const override { return ledger_.peak(); }

    std::unique_ptr<RowConsumer> make_consumer();

    const SinkPlan& plan() const { return plan_; }
    SinkCounters& counters() { return counters_; }
    bool is_cancelled() const { return cancel_ && cancel_->load(std::memory_order_relaxed); }
    // What was taken goes back to the others.
    Status take_table(GroupTable** table);
    // A table is set aside until all are flushed, and the batch goes on with another one: where complete
    // groups are asked for, and while others can have as much memory.
    bool may_set_aside() const { return ledger_.used() < most_set_aside_; }
    Status take_another_table(GroupTable** table);
    // Groups of a table go to the client, which will get them again when there are more of them.
    void note_given_out() { gave_out_ = true; }
    bool gave_out() const { return gave_out_; }
    Ledger* ledger() { return &ledger_; }
    const std::atomic<bool>* cancel() const { return cancel_; }
    void give_back(GroupTable* table);
    const std::vector<std::unique_ptr<GroupTable>>& tables() const { return tables_; }

  private:
    void add_table(GroupTable** table);

    const SinkPlan& plan_;
    const GroupKeyLayout layout_;
    std::atomic<bool> gave_out_{false};
    const std::atomic<bool>* const cancel_;
    const uint64_t most_set_aside_;  // bytes
    Ledger ledger_;
    SinkCounters& counters_;
    std::mutex mutex_;  // of both lists
    std::vector<std::unique_ptr<GroupTable>> tables_;
    std::vector<GroupTable*> free_;  // the one that was used last at the end
};

}  // namespace gpujoin
