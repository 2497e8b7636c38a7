// See kept_cursor.h.
#include "engine/kept/kept_cursor.h"

#include "engine/turn.h"

namespace gpujoin {

Status KeptCursor::next(const Sink& sink, ResultBatch* result) {
    do {
        *result = {};
        if (!cursor_) {
            BatchView batch;
            const Status status = reader_->next(&batch);
            found_no_room_ = status.fault == Fault::HostMemory;
            GPUJOIN_RETURN_IF_FAILED(status);
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
