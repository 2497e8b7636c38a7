// Giving out what is left in the tables of a fragment's groups.
#include "cuda/fragment/device_groups.h"

#include "cuda/fragment/group_consumer.h"
#include "engine/counters.h"
#include "engine/guard.h"

namespace gpujoin::cuda {

namespace {

// What is left, table by table, each of which is empty after that.
class FlushCursor final : public Cursor {
  public:
    FlushCursor(Device* device, GroupTables* tables, const std::atomic<bool>* cancel)
        : tables_(*tables),
          work_(device, &tables->account(), cancel),
          cancel_(cancel),
          writer_(tables->sink().plan()) {}
    ~FlushCursor() override { (void)work_.use(); }

    Status start() {
        GPUJOIN_RETURN_IF_FAILED(work_.begin());
        const SinkPlan& plan = tables_.sink().plan();
        // Sums of floats are rounded when a group is given out, which had better be once.
        if ((plan.completes_groups || sums_floats(plan)) && !tables_.gave_out()) {
            AddTime timer(&tables_.counters().ns);
            GPUJOIN_RETURN_IF_FAILED(tables_.merge(work_.context()));
            is_complete_ = plan.completes_groups && tables_.is_one();
        }
        if (cuts_groups(plan, is_complete_, tables_.counters().escaped_rows))
            keys_ = std::make_unique<TopKeys>(plan.top.count, &bound_);
        return seek();
    }
    Status next(const Sink& sink, ResultBatch* result) override {
        return guarded([&] { return write(sink, result); });
    }
    void skip(uint32_t) override {}

  private:
    Status write(const Sink& sink, ResultBatch* result);
    // Goes on to a table with groups.
    Status seek() {
        table_ = tables_.next_filled();
        if (!table_) return {};
        return keys_ ? writer_.start_top(work_.context(), table_, tables_.sink().plan().top, *keys_)
                     : writer_.start(work_.context(), table_);
    }

    GroupTables& tables_;
    BatchWork work_;
    const std::atomic<bool>* const cancel_;
    GroupWriter writer_;
    bool is_complete_ = false;
    TopBound bound_;
    std::unique_ptr<TopKeys> keys_;  // nullptr: all groups are given out
    GroupTable* table_ = nullptr;
};

Status FlushCursor::write(const Sink& sink, ResultBatch* result) {
    *result = {};
    GPUJOIN_RETURN_IF_FAILED(work_.use());
    if (cancel_ && cancel_->load(std::memory_order_relaxed)) return cancelled_status();
    result->complete = is_complete_;
    if (table_) {
        AddTime timer(&tables_.counters().ns);
        bool done = false;
        GPUJOIN_RETURN_IF_FAILED(
            writer_.write(work_.context(), table_, sink, &tables_.counters(), result, &done));
        if (done) GPUJOIN_RETURN_IF_FAILED(seek());
    }
    result->done = !table_;
    return {};
}

}  // namespace

DeviceGroups::DeviceGroups(Device* device, const SinkPlan& plan, const Limits& limits, SinkCounters* counters)
    : device_(device), cancel_(limits.cancel), tables_(device, plan, limits, counters) {}

Status DeviceGroups::open() {
    BatchWork work(device_, &tables_.account(), cancel_);
    GPUJOIN_RETURN_IF_FAILED(work.begin());
    return tables_.open(work.context());
}

std::unique_ptr<RowConsumer> DeviceGroups::make_consumer(BatchWork* work) {
    return std::make_unique<GroupConsumer>(&tables_, work);
}

Status DeviceGroups::flush(std::unique_ptr<Cursor>* cursor) {
    return guarded([&]() -> Status {
        auto made = std::make_unique<FlushCursor>(device_, &tables_, cancel_);
        GPUJOIN_RETURN_IF_FAILED(made->start());
        *cursor = std::move(made);
        return {};
    });
}

}  // namespace gpujoin::cuda
