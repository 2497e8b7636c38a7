// See kept_build.h.
#include "server/kept_build.h"

#include "engine/turn.h"

namespace gpujoin {

KeptBuild::KeptBuild(const KeptScan& scan, std::span<const ColumnSpec> columns, uint64_t most_lanes,
                     Ledger* ledger) {
    const uint64_t count = std::min(most_lanes, scan.rows() / kTargetBatchRows + 1);
    for (uint64_t i = 0; i < count; i++) {
        Lane& lane = lanes_.emplace_back();
        lane.reader = std::make_unique<KeptRows>(scan, position_, columns, kTargetBatchRows, ledger);
        lane.is_first = i == 0;
    }
}

Status KeptBuild::execute(Lane& lane, Join& join, std::atomic<uint64_t>& next_row) {
    do {
        if (!lane.first_row) {
            const bool needs_room = !lane.reader->has_begun();
            const Status status = lane.reader->next(&lane.batch);
            // The others go on without this one.
            const bool has_no_room =
                status.fault == Fault::HostMemory && needs_room && !lane.reader->has_begun();
            lane.is_done = status.ok() ? lane.batch.rows == 0 : has_no_room && !lane.is_first;
            if (lane.is_done) return {};
            GPUJOIN_RETURN_IF_FAILED(status);
            lane.first_row = next_row.fetch_add(lane.batch.rows);
        }
        GPUJOIN_RETURN_IF_FAILED(join.append(lane.batch, *lane.first_row));
        lane.rows_appended += lane.batch.rows;
        lane.first_row.reset();
    } while (!turn_is_over());
    return {};
}

uint64_t KeptBuild::rows_appended() const {
    uint64_t rows = 0;
    for (const Lane& lane : lanes_) rows += lane.rows_appended;
    return rows;
}

}  // namespace gpujoin
