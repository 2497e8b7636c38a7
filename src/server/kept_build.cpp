// See kept_build.h.
#include "server/kept_build.h"

#include "engine/turn.h"

namespace gpujoin {

KeptBuild::KeptBuild(const KeptScan& scan, std::span<const ColumnSpec> columns, Engine& engine,
                     const Limits& limits, uint64_t most_lanes) {
    const KeptMeasure most = engine.kept_build_measure(limits);
    const uint64_t count = std::min({most_lanes, most.readers, scan.rows() / most.rows + 1});
    for (uint64_t i = 0; i < count; i++) {
        Lane& lane = lanes_.emplace_back();
        lane.reader = engine.read_kept_build(scan, position_, columns, most.rows, limits);
        lane.is_first = i == 0;
    }
}

// Rows that are read again have their numbers already. What a reader holds is given back when its lane is
// done, and on a worker, since that may take a while.
Status KeptBuild::take_batch(Lane& lane, std::atomic<uint64_t>& next_row) {
    const bool needs_room = !lane.reader->has_begun();
    const Status status = lane.reader->next(&lane.batch);
    // The others go on without this one.
    const bool has_no_room = status.fault == Fault::HostMemory && needs_room && !lane.reader->has_begun();
    lane.is_done = status.ok() ? lane.batch.rows == 0 : has_no_room && !lane.is_first;
    if (lane.is_done) lane.reader.reset();
    if (lane.numbered > 0 && status.ok() && (lane.is_done || lane.batch.rows > lane.numbered))
        return failure(Fault::Error, "XX000", "kept rows that were read again are others");
    if (lane.is_done) return {};
    GPUJOIN_RETURN_IF_FAILED(status);
    if (lane.numbered > 0) return {};
    lane.numbered = lane.batch.rows;
    lane.first_row = next_row.fetch_add(lane.numbered);
    return {};
}

Status KeptBuild::execute(Lane& lane, Join& join, std::atomic<uint64_t>& next_row) {
    do {
        if (lane.batch.rows == 0) GPUJOIN_RETURN_IF_FAILED(take_batch(lane, next_row));
        if (lane.is_done) return {};
        const uint64_t rows = lane.batch.rows;
        GPUJOIN_RETURN_IF_FAILED(join.append(lane.batch, lane.first_row));
        lane.first_row += rows;
        lane.numbered -= rows;
        lane.rows_appended += rows;
        lane.batch = {};
    } while (!turn_is_over());
    return {};
}

void KeptBuild::leave_device() {
    for (Lane& lane : lanes_) {
        if (lane.is_done) continue;
        const bool again = lane.batch.rows > 0 && lane.batch.memory == Memory::Device;
        lane.reader->leave_device(again);
        if (again) lane.batch = {};
    }
}

uint64_t KeptBuild::rows_appended() const {
    uint64_t rows = 0;
    for (const Lane& lane : lanes_) rows += lane.rows_appended;
    return rows;
}

}  // namespace gpujoin
