// The scan of the build side: rows that have, or have not, found a match.
#include <algorithm>

#include "engine/cpu/results/queue_cursor.h"

namespace gpujoin::cpu {

namespace {

class ScanCursor final : public QueueCursor {
  public:
    ScanCursor(SealedJoin& join, bool matched)
        : QueueCursor(join, ResultWriter(output_columns(join, nullptr, BuildNumbers::OfRows), false,
                                         join.named_build_rows(), nullptr)),
          matched_(matched),
          rows_(join.context.build.rows()) {}

    using QueueCursor::open;
    void skip(uint32_t) override {}

  private:
    Status produce() override {
        uint64_t end = std::min<uint64_t>(rows_, row_ + PairQueue::kMostPushed);
        for (; row_ < end; row_++) {
            uint32_t row = static_cast<uint32_t>(row_);
            scratch_->queue.push_if(join_.matched.get(row) == matched_, kNoRow, row);
        }
        return {};
    }
    bool exhausted() const override { return row_ == rows_; }

    const bool matched_;
    const uint64_t rows_;
    uint64_t row_ = 0;
};

}  // namespace

Status make_scan_cursor(SealedJoin& join, bool matched, std::unique_ptr<Cursor>* cursor) {
    auto made = std::make_unique<ScanCursor>(join, matched);
    GPUJOIN_RETURN_IF_FAILED(made->open());
    *cursor = std::move(made);
    return {};
}

}  // namespace gpujoin::cpu
