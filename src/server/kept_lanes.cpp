// See kept_lanes.h.
#include "server/kept_lanes.h"

#include <algorithm>

#include "engine/kept/kept_cursor.h"
#include "engine/turn.h"
#include "server/resources.h"

namespace gpujoin {

namespace {

constexpr uint64_t kLaneBytes = 64u << 10;  // at first
constexpr uint64_t kRowsBytes = 1u << 20;   // where rows come out, and a join has much memory
constexpr uint64_t kMuch = 256u << 20;

}  // namespace

Status KeptLanes::make(const KeptMeasure& most, const KeptScan& scan, Engine& engine, const Limits& limits,
                       bool gives_rows, std::unique_ptr<KeptLanes>* lanes) {
    const bool has_much = limits.host_memory->limit() >= kMuch;
    const uint64_t bytes = gives_rows && has_much ? kRowsBytes : kLaneBytes;
    std::unique_ptr<KeptLanes> made(new KeptLanes(most.rows, scan, engine, limits));
    while (made->lanes_.size() < most.readers) {
        made->lanes_.emplace_back(limits.host_memory);
        if (made->lanes_.back().memory.resize(bytes)) continue;
        made->lanes_.pop_back();
        break;
    }
    if (made->lanes_.empty()) return out_of_host_memory();
    *lanes = std::move(made);
    return {};
}

bool KeptLanes::are_done() const {
    return std::ranges::all_of(lanes_, [](const KeptLane& lane) { return lane.is_done && !lane.has_rows(); });
}

Status KeptLanes::execute(KeptLane& lane, Fragment& fragment, std::span<const ColumnSpec> source) {
    if (!lane.cursor)
        lane.cursor =
            make_kept_cursor(fragment, engine_.read_kept(scan_, position_, source, most_rows_, limits_));
    do {
        if (lane.result.bytes_needed > lane.memory.bytes() && !lane.memory.resize(lane.result.bytes_needed))
            return out_of_host_memory();
        const Sink sink{lane.memory.data(), lane.memory.bytes(), Memory::Host};
        GPUJOIN_RETURN_IF_FAILED(lane.cursor->next(sink, &lane.result));
    } while (!lane.result.done && lane.result.rows == 0 && !turn_is_over());
    if (lane.result.done) {
        lane.cursor.reset();
        lane.is_done = true;
    }
    return {};
}

}  // namespace gpujoin
