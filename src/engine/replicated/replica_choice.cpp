// See replica_choice.h. Two batches that come at once may choose the same replica; the next ones even it out.
#include "engine/replicated/replica_choice.h"

#include <utility>

namespace gpujoin {

namespace {

class CountedCursor final : public Cursor {
  public:
    CountedCursor(std::unique_ptr<Cursor> cursor, std::atomic<uint32_t>& running)
        : cursor_(std::move(cursor)), running_(running) {
        running_++;
    }
    ~CountedCursor() override { running_--; }

    Status next(const Sink& sink, ResultBatch* result) override { return cursor_->next(sink, result); }
    void skip(uint32_t probe_row) override { cursor_->skip(probe_row); }

  private:
    const std::unique_ptr<Cursor> cursor_;
    std::atomic<uint32_t>& running_;
};

}  // namespace

size_t ReplicaChoice::least_busy() {
    const size_t first = turn_++ % replicas();
    size_t least = first;
    for (size_t i = 1; i < replicas(); i++) {
        const size_t replica = (first + i) % replicas();
        if (running_[replica] < running_[least]) least = replica;
    }
    return least;
}

std::unique_ptr<Cursor> ReplicaChoice::count(size_t replica, std::unique_ptr<Cursor> cursor) {
    return std::make_unique<CountedCursor>(std::move(cursor), running_[replica]);
}

}  // namespace gpujoin
