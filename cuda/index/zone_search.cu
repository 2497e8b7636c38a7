// Searching the tree of zones.
#include "cuda/index/zone_search.h"

#include "cuda/work/launch.cuh"
#include "engine/search.h"

namespace gpujoin::cuda {

namespace {

constexpr uint64_t kRowsAtOnce = 256 << 10;  // in a step

// Whether all terms may hold below a node.
__device__ bool may_hold(const ZoneSearch& search, uint64_t row, uint64_t node) {
    for (uint32_t i = 0; i < search.packed.count; i++) {
        if (!search.packed.terms[i].may_hold(search.probe_keys[i * search.rows + row], node)) return false;
    }
    return true;
}

// Calls found(zones, group) for groups of 32 zones, in order: bit i of zones for zone 32 * group + i. Starts
// at the lowest level on which one group spans all candidates.
template <typename Found>
__device__ void find_zones(const Warp& warp, const ZoneSearch& search, uint64_t row, const Found& found) {
    if (search.count[row] == 0) return;
    uint64_t first = search.begin[row] / kZone;
    uint64_t last = (uint64_t{search.begin[row]} + search.count[row] - 1) / kZone;
    auto test = [&](uint32_t level, uint64_t group) {
        return warp.ballot([&](uint32_t child) {
            uint64_t node = (group << kZoneFanoutBits) + child;
            uint32_t shift = level * kZoneFanoutBits;
            return node >= first >> shift && node <= last >> shift &&
                   may_hold(search, row, search.packed.level_first[level] + node);
        });
    };
    uint32_t top = 0;
    while (first >> (top + 1) * kZoneFanoutBits != last >> (top + 1) * kZoneFanoutBits) top++;
    uint32_t level = top;
    uint64_t group = first >> (top + 1) * kZoneFanoutBits;
    uint32_t waiting[kZoneLevels];  // children still to be visited, by level
    waiting[top] = test(top, group);
    while (true) {
        if (level == 0 && waiting[0]) found(waiting[0], group);
        if (level == 0 || waiting[level] == 0) {
            if (level == top) return;
            level++;
            group >>= kZoneFanoutBits;
            continue;
        }
        auto child = static_cast<uint32_t>(__ffs(static_cast<int>(waiting[level])) - 1);
        waiting[level] &= waiting[level] - 1;
        level--;
        group = (group << kZoneFanoutBits) + child;
        waiting[level] = test(level, group);
    }
}

// The rows that own a stretch of units.
struct OwnerRange {
    uint64_t first;
    uint64_t last;
};

Status find_owners(const WorkContext& context, const uint64_t* starts, uint64_t rows, uint64_t first,
                   uint64_t units, OwnerRange* owners) {
    DeviceArray<OwnerRange> result;
    GPUJOIN_RETURN_IF_FAILED(result.allocate(context.account, 1, context.handle()));
    OwnerRange* to = result.data();
    GPUJOIN_RETURN_IF_FAILED(for_each(context.handle(), 1, [=] __device__(uint64_t) {
        *to = {find_owner(starts, rows, first), find_owner(starts, rows, first + units - 1)};
    }));
    return read_back(context, to, owners);
}

}  // namespace

Status count_zones(const WorkContext& context, const ZoneSearch& search, uint64_t least, uint64_t* counts) {
    for (uint64_t first = 0; first < search.rows; first += kRowsAtOnce) {
        if (first > 0) GPUJOIN_RETURN_IF_FAILED(end_step(context));
        uint64_t rows = search.rows - first < kRowsAtOnce ? search.rows - first : kRowsAtOnce;
        GPUJOIN_RETURN_IF_FAILED(
            for_each_warp(context.handle(), rows, [=] __device__(const Warp& warp, uint64_t i) {
                uint64_t units = 0;
                find_zones(warp, search, first + i,
                           [&](uint32_t zones, uint64_t) { units += __popc(zones); });
                warp.each([&](uint32_t thread) {
                    if (thread == 0) counts[first + i] = units > least ? units : least;
                });
            }));
    }
    return {};
}

Status list_zones(const WorkContext& context, const ZoneSearch& search, const uint64_t* starts,
                  uint64_t first, uint64_t units, const ZoneUnits& list) {
    if (units == 0) return {};
    OwnerRange rows;
    GPUJOIN_RETURN_IF_FAILED(find_owners(context, starts, search.rows, first, units, &rows));
    return for_each_warp(
        context.handle(), rows.last - rows.first + 1, [=] __device__(const Warp& warp, uint64_t i) {
            uint64_t row = rows.first + i;
            uint64_t next = starts[row];
            auto write = [&](uint64_t unit, uint32_t position) {
                if (unit < first || unit - first >= units) return;
                list.owners[unit - first] = static_cast<uint32_t>(row);
                list.positions[unit - first] = position;
            };
            find_zones(warp, search, row, [&](uint32_t zones, uint64_t group) {
                warp.each([&](uint32_t thread) {
                    if (!(zones >> thread & 1)) return;
                    auto start = static_cast<uint32_t>(((group << kZoneFanoutBits) + thread) * kZone);
                    uint32_t position = start > search.begin[row] ? start : search.begin[row];
                    write(next + __popc(zones & ((1u << thread) - 1)), position);
                });
                next += __popc(zones);
            });
            warp.each([&](uint32_t thread) {
                if (thread == 0 && next == starts[row] && next != starts[row + 1]) write(next, kNoRow);
            });
        });
}

}  // namespace gpujoin::cuda
