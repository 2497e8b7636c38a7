// See replicated_fragment.h.
#include "engine/replicated/replicated_fragment.h"

#include <algorithm>
#include <span>
#include <utility>

#include "engine/guard.h"
#include "engine/turn.h"

namespace gpujoin {

namespace {

// The groups of one replica after the other, each of which may have come before.
class ReplicaFlush final : public Cursor {
  public:
    explicit ReplicaFlush(std::span<const std::unique_ptr<Fragment>> replicas) : replicas_(replicas) {}

    Status start() { return replicas_[flushing_]->flush(&cursor_); }

    Status next(const Sink& sink, ResultBatch* result) override {
        do {
            if (!cursor_) GPUJOIN_RETURN_IF_FAILED(start());
            GPUJOIN_RETURN_IF_FAILED(cursor_->next(sink, result));
            result->complete = false;
            if (!result->done) return {};
            cursor_.reset();
            result->done = ++flushing_ == replicas_.size();
        } while (!result->done && result->rows == 0 && !turn_is_over());
        return {};
    }
    void skip(uint32_t) override {}

  private:
    const std::span<const std::unique_ptr<Fragment>> replicas_;
    std::unique_ptr<Cursor> cursor_;
    size_t flushing_ = 0;
};

}  // namespace

ReplicatedFragment::ReplicatedFragment(std::vector<std::unique_ptr<Fragment>> replicas, size_t stages)
    : replicas_(std::move(replicas)), choice_(replicas_.size()), rows_(replicas_.size()) {
    for (uint32_t stage = 0; stage < stages; stage++) {
        std::vector<Join*> joins;
        for (const auto& replica : replicas_) joins.push_back(&replica->join(stage));
        joins_.push_back(std::make_unique<ReplicatedJoin>(std::move(joins)));
    }
}

Status ReplicatedFragment::run(const BatchView& source, std::unique_ptr<Cursor>* cursor) {
    const size_t replica = source.memory == Memory::Device ? source.replica : choice_.least_busy();
    if (replica >= replicas_.size())
        return failure(Fault::Error, "XX000", "source rows lie on a device that is none of the fragment's");
    return guarded([&]() -> Status {
        GPUJOIN_RETURN_IF_FAILED(replicas_[replica]->run(source, cursor));
        *cursor = choice_.count(replica, std::move(*cursor));
        rows_[replica] += source.rows;
        return {};
    });
}

Status ReplicatedFragment::flush(std::unique_ptr<Cursor>* cursor) {
    return guarded([&]() -> Status {
        auto made = std::make_unique<ReplicaFlush>(replicas_);
        GPUJOIN_RETURN_IF_FAILED(made->start());
        *cursor = std::move(made);
        return {};
    });
}

Status ReplicatedFragment::rewind() {
    for (const auto& replica : replicas_) GPUJOIN_RETURN_IF_FAILED(replica->rewind());
    return {};
}

SinkStats ReplicatedFragment::sink_stats() const {
    SinkStats sum{};
    for (size_t i = 0; i < replicas_.size(); i++) {
        const SinkStats one = replicas_[i]->sink_stats();
        sum.replica[i] = {rows_[i], one.ms};
        for (uint32_t stage = 0; stage < joins_.size(); stage++)
            sum.replica[i].ms += replicas_[i]->join(stage).stats().probe_ms;
        sum.rows += one.rows;
        sum.escaped_rows += one.escaped_rows;
        sum.groups += one.groups;
        sum.left_out += one.left_out;
        sum.ms += one.ms;
        sum.peak_memory += one.peak_memory;
    }
    return sum;
}

}  // namespace gpujoin
