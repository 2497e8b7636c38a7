// See kept_lanes.h.
#include "server/kept_lanes.h"

#include <algorithm>
#include <utility>

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
    std::unique_ptr<KeptLanes> made(new KeptLanes(most.rows, bytes, scan, engine, limits));
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
        lane.cursor = std::make_unique<KeptCursor>(
            fragment, engine_.read_kept(scan_, position_, source, most_rows_, limits_));
    do {
        const uint64_t wanted = std::max(lane.result.bytes_needed, lane_bytes_);
        lane.has_no_room = wanted > lane.memory.bytes() && !lane.memory.resize(wanted);
        if (lane.has_no_room) return {};
        const Sink sink{lane.memory.data(), lane.memory.bytes(), Memory::Host};
        const Status status = lane.cursor->next(sink, &lane.result);
        lane.has_no_room = !status.ok() && lane.cursor->found_no_room();
        if (lane.has_no_room) return {};
        GPUJOIN_RETURN_IF_FAILED(status);
    } while (!lane.result.done && lane.result.rows == 0 && !turn_is_over());
    if (lane.result.done) end(lane);
    return {};
}

void KeptLanes::end(KeptLane& lane) {
    lane.cursor.reset();
    lane.has_no_room = lane.waits = false;
    lane.is_done = true;
}

void KeptLanes::leave_room(KeptLane& lane) const {
    KeptArray(limits_.host_memory).swap(lane.memory);
}

// What they would read others do, who hold rows already, or the first of them.
void KeptLanes::end_without_rows(bool others_read) {
    for (KeptLane& lane : lanes_) {
        if (!lane.has_no_room || lane.cursor->reader().has_begun()) continue;
        if (others_read) {
            end(lane);
            leave_room(lane);
        }
        others_read = true;
    }
}

Status KeptLanes::settle() {
    auto goes_on = [](const KeptLane& lane) { return lane.is_ready() && !lane.has_no_room; };
    auto is_short = [](const KeptLane& lane) { return lane.has_no_room; };
    auto holds_rows = [](const KeptLane& lane) {
        return lane.has_no_room && lane.cursor->reader().has_begun();
    };
    const bool some_go_on = std::ranges::any_of(lanes_, goes_on);
    end_without_rows(some_go_on || std::ranges::any_of(lanes_, holds_rows));
    const auto ended = static_cast<size_t>(std::ranges::count_if(lanes_, &KeptLane::is_done));
    const bool has_freed_room = std::exchange(lanes_ended_, ended) != ended;
    if (some_go_on || has_freed_room || std::ranges::none_of(lanes_, is_short)) {
        for (KeptLane& lane : lanes_) lane.waits = false;
        return {};
    }
    if (std::ranges::count_if(lanes_, &KeptLane::is_ready) == 1) return out_of_host_memory();
    bool is_first = true;
    for (KeptLane& lane : lanes_) {
        if (lane.is_done) continue;
        lane.waits = !std::exchange(is_first, false);
        if (lane.waits) leave_room(lane);
    }
    return {};
}

}  // namespace gpujoin
