// See kept_cursor.h.
#include "engine/kept/kept_cursor.h"

#include <utility>

#include "engine/turn.h"

namespace gpujoin {

namespace {

class KeptCursor final : public Cursor {
  public:
    KeptCursor(Fragment& fragment, std::unique_ptr<KeptReader> reader)
        : fragment_(fragment), reader_(std::move(reader)) {}

    Status next(const Sink& sink, ResultBatch* result) override {
        do {
            *result = {};
            if (!cursor_) {
                BatchView batch;
                GPUJOIN_RETURN_IF_FAILED(reader_->next(&batch));
                result->done = batch.rows == 0;
                if (result->done) return {};
                GPUJOIN_RETURN_IF_FAILED(fragment_.run(batch, &cursor_));
            }
            GPUJOIN_RETURN_IF_FAILED(cursor_->next(sink, result));
            if (result->done) cursor_.reset();
            result->done = false;
        } while (!cursor_ && result->rows == 0 && !turn_is_over());
        return {};
    }

    void skip(uint32_t) override {}

  private:
    Fragment& fragment_;
    const std::unique_ptr<KeptReader> reader_;
    std::unique_ptr<Cursor> cursor_;  // of the batch; destroyed before it
};

}  // namespace

std::unique_ptr<Cursor> make_kept_cursor(Fragment& fragment, std::unique_ptr<KeptReader> reader) {
    return std::make_unique<KeptCursor>(fragment, std::move(reader));
}

std::unique_ptr<KeptReader> Engine::read_kept(const KeptScan& scan, KeptPosition& position,
                                              std::span<const ColumnSpec> source, uint32_t most_rows,
                                              const Limits& limits) {
    return std::make_unique<KeptRows>(scan, position, source, most_rows, limits.host_memory);
}

std::unique_ptr<KeptBuildReader> Engine::read_kept_build(const KeptScan& scan, KeptPosition& position,
                                                         std::span<const ColumnSpec> build,
                                                         uint32_t most_rows, const Limits& limits) {
    return std::make_unique<KeptRows>(scan, position, build, most_rows, limits.host_memory);
}

}  // namespace gpujoin
