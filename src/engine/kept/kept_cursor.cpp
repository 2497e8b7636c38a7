// See kept_cursor.h.
#include "engine/kept/kept_cursor.h"

#include "engine/turn.h"

namespace gpujoin {

namespace {

class KeptCursor final : public Cursor {
  public:
    KeptCursor(Fragment& fragment, const KeptScan& scan, KeptPosition& position,
               std::span<const ColumnSpec> source, uint32_t most_rows, Ledger* ledger)
        : fragment_(fragment), rows_(scan, position, source, most_rows, ledger) {}

    Status next(const Sink& sink, ResultBatch* result) override {
        do {
            *result = {};
            if (!cursor_) {
                BatchView batch;
                GPUJOIN_RETURN_IF_FAILED(rows_.next(&batch));
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
    KeptRows rows_;
    std::unique_ptr<Cursor> cursor_;  // of the batch; destroyed before it
};

}  // namespace

std::unique_ptr<Cursor> make_kept_cursor(Fragment& fragment, const KeptScan& scan, KeptPosition& position,
                                         std::span<const ColumnSpec> source, uint32_t most_rows,
                                         Ledger* ledger) {
    return std::make_unique<KeptCursor>(fragment, scan, position, source, most_rows, ledger);
}

}  // namespace gpujoin
