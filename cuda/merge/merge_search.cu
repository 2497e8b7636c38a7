// Sorted search.
#include "cuda/merge/merge_search.h"

#include "cuda/work/launch.cuh"
#include "cuda/work/primitives.h"
#include "cuda/results/slot_rule.cuh"
#include "cuda/work/warp_sum.cuh"

namespace gpujoin::cuda {

namespace {

constexpr uint64_t kSearchSteps = 24;     // what a search costs, in steps of the merge
constexpr uint64_t kSearchEntries = 256;  // of a tile where every entry is searched for by itself

// The key that a probe row is sorted by: of the first bound, else of the equality columns.
template <typename Key>
struct ProbeKeys {
    LookupView lookup;
    const DeviceColumn* probe;
    RequiredColumns required;

    __device__ Key operator()(uint64_t row) const {
        if (!required.present(probe, row)) return 0;
        if (lookup.bound_count > 0) {
            const DeviceColumn& column = probe[lookup.bounds[0].probe_column];
            return static_cast<Key>(lookup.span.rebase(order_key(column.spec, column.value(row))));
        }
        return read_sort_key<Key, false>(lookup.layout, probe, row);
    }
};

// Two sides in the order of their keys.
template <typename Key>
struct SortedKeys {
    const Key* probe;
    uint64_t probe_count;
    const Key* build;
    uint64_t build_count;
    bool cut_after;  // a probe key falls behind the build keys equal to it; else before them
};

// The candidates of a probe row, given where its key falls among the build side's.
template <typename Key>
__device__ Group candidates_at(const LookupView& lookup, const SortedKeys<Key>& keys,
                               const DeviceColumn* probe, uint64_t row, Key key, uint64_t place) {
    auto cut = static_cast<uint32_t>(place);
    uint32_t behind = static_cast<uint32_t>(keys.build_count) - cut;
    if (lookup.bound_count == 0) return {cut, count_before_near(keys.build + cut, behind, key, true)};
    Group group = lookup.bounds[0].below ? Group{cut, behind} : Group{0, cut};
    return narrow(lookup, keys.build, group, probe, row, 1);
}

// What a tile keeps of an entry. An entry is plain if it has no slot, or one with a build row: then where it
// begins says it all.
struct Found {
    uint64_t slots = 0;
    uint32_t count = 0;
    bool is_plain = true;
};

// Writes the candidates of an entry by its row.
template <typename Key>
struct WriteByRow {
    LookupView lookup;
    SortedKeys<Key> keys;
    const DeviceColumn* probe;
    RequiredColumns required;
    const uint32_t* rows;
    uint32_t* begin;
    uint32_t* count;

    __device__ Found begin_entry(uint32_t entry, Key key, uint32_t place) const {
        uint32_t row = rows[entry];
        Group group{0, 0};
        if (required.present(probe, row)) group = candidates_at(lookup, keys, probe, row, key, place);
        begin[row] = group.begin;
        count[row] = group.count;
        return {};
    }
    __device__ void count_entry(uint32_t, uint32_t) const {}
    __device__ void end_tile(uint64_t, uint64_t, bool) const {}
};

// Settles what becomes of an entry, and writes its candidates in sorted order.
template <typename Key>
struct WriteByEntry {
    LookupView lookup;
    SortedKeys<Key> keys;
    const DeviceColumn* probe;
    const uint32_t* rows;  // null where there is at most one bound
    SlotRule rule;
    BuildMarks marks;
    uint32_t* begin;
    uint32_t* count;
    uint64_t* tile_slots;
    uint8_t* has_counts;

    __device__ Found begin_entry(uint32_t entry, Key key, uint32_t place) const {
        Group group{0, 0};
        if (entry < keys.probe_count)
            group = candidates_at(lookup, keys, probe, rows ? rows[entry] : 0, key, place);
        uint64_t slots = settle(rule, marks, &group.begin, group.count);
        begin[entry] = group.begin;
        return {slots, group.count, slots == (group.begin != kNoRow)};
    }
    __device__ void count_entry(uint32_t entry, uint32_t candidates) const { count[entry] = candidates; }
    __device__ void end_tile(uint64_t tile, uint64_t slots, bool counted) const {
        tile_slots[tile] = slots;
        has_counts[tile] = counted;
    }
};

// The tiles of a merge, or of a search where few probe keys meet many build keys; then those of the entries
// that are not searched for.
struct Tiling {
    uint64_t entries;
    uint64_t tuples;  // entries that are searched for
    bool merges;
    uint64_t searched;  // tiles
    uint64_t tiles;
};

Tiling make_tiling(uint64_t entries, uint64_t tuples, uint64_t build_count) {
    auto parts = [](uint64_t count, uint64_t size) { return (count + size - 1) / size; };
    uint64_t steps = tuples + build_count;
    bool merges = steps <= kSearchSteps * tuples;
    uint64_t searched = merges ? parts(steps, kTileSteps) : parts(tuples, kSearchEntries);
    return {entries, tuples, merges, searched, searched + parts(entries - tuples, kTileSteps)};
}

// How many of the first `steps` elements of the merge are probe keys. Ties: a cut before equal keys puts the
// probe's first.
template <typename Key>
__device__ uint64_t probe_steps(const SortedKeys<Key>& keys, uint64_t steps) {
    return keys.cut_after
               ? steps - merge_path(keys.build, keys.build_count, keys.probe, keys.probe_count, steps)
               : merge_path(keys.probe, keys.probe_count, keys.build, keys.build_count, steps);
}

template <typename Key>
__device__ TileBound tile_bound(const Tiling& tiling, const SortedKeys<Key>& keys, uint64_t tile) {
    auto at_most = [](uint64_t value, uint64_t limit) { return value < limit ? value : limit; };
    uint64_t entry = 0, position = keys.build_count;
    if (tile >= tiling.searched) {
        entry = at_most(tiling.tuples + (tile - tiling.searched) * kTileSteps, tiling.entries);
    } else if (tiling.merges) {
        uint64_t step = tile * kTileSteps;
        entry = probe_steps(keys, step);
        position = step - entry;
    } else {
        entry = tile * kSearchEntries;
        position = count_before(keys.build, static_cast<uint32_t>(keys.build_count), keys.probe[entry],
                                keys.cut_after);
    }
    return {static_cast<uint32_t>(entry), static_cast<uint32_t>(position)};
}

template <typename Key>
Status find_bounds(const WorkContext& context, const Tiling& tiling, const SortedKeys<Key>& keys,
                   TileBound* bounds) {
    return for_each(context.handle(), tiling.tiles + 1,
                    [=] __device__(uint64_t tile) { bounds[tile] = tile_bound(tiling, keys, tile); });
}

// Finds where each entry of a tile falls, and has its candidates written.
template <typename Key, typename Write>
struct SearchTile {
    SortedKeys<Key> keys;
    Write write;
    const TileBound* bounds;

    __device__ void operator()(uint64_t tile) const {
        __shared__ Key near_keys[kTileSteps];
        __shared__ uint32_t counts[kTileSteps];
        __shared__ unsigned long long sum;
        TileBound first = bounds[tile];
        TileBound last = bounds[tile + 1];
        uint32_t entries = last.entry - first.entry;
        uint32_t stretch = last.position - first.position;
        bool is_near = stretch <= kTileSteps;
        if (threadIdx.x == 0) sum = 0;
        for (uint32_t i = threadIdx.x; is_near && i < stretch; i += kBlockThreads)
            near_keys[i] = keys.build[first.position + i];
        __syncthreads();
        uint64_t slots = 0;
        bool all_plain = true;
        for (uint32_t i = threadIdx.x; i < entries; i += kBlockThreads) {
            uint32_t entry = first.entry + i;
            Key key = entry < keys.probe_count ? keys.probe[entry] : Key{0};
            uint32_t before = is_near
                                  ? count_before(near_keys, stretch, key, keys.cut_after)
                                  : count_before(keys.build + first.position, stretch, key, keys.cut_after);
            Found found = write.begin_entry(entry, key, first.position + before);
            counts[i] = found.count;
            slots += found.slots;
            all_plain &= found.is_plain;
        }
        slots = inclusive_warp_sum(slots);
        if (threadIdx.x % Warp::kThreads == Warp::kThreads - 1)
            atomicAdd(&sum, static_cast<unsigned long long>(slots));
        bool counted = __syncthreads_or(!all_plain);
        for (uint32_t i = threadIdx.x; counted && i < entries; i += kBlockThreads)
            write.count_entry(first.entry + i, counts[i]);
        if (threadIdx.x == 0) write.end_tile(tile, sum, counted);
    }
};

template <typename Key, typename Write>
Status search_tiles(const WorkContext& context, const Tiling& tiling, const SortedKeys<Key>& keys,
                    const Write& write, DeviceArray<TileBound>* bounds) {
    GPUJOIN_RETURN_IF_FAILED(bounds->allocate(context.account, tiling.tiles + 1, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(find_bounds(context, tiling, keys, bounds->data()));
    return for_each_block(context.handle(), tiling.tiles,
                          SearchTile<Key, Write>{keys, write, bounds->data()});
}

template <typename Key>
Status sort_probe(const WorkContext& context, const ProbeKeys<Key>& key_of, uint64_t rows,
                  DeviceArray<Key>* keys, DeviceArray<uint32_t>* order) {
    GPUJOIN_RETURN_IF_FAILED(keys->allocate(context.account, rows, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(order->allocate(context.account, rows, context.handle()));
    Key* to_keys = keys->data();
    uint32_t* to_rows = order->data();
    GPUJOIN_RETURN_IF_FAILED(for_each(context.handle(), rows, [=] __device__(uint64_t row) {
        to_keys[row] = key_of(row);
        to_rows[row] = static_cast<uint32_t>(row);
    }));
    return sort_pairs(context.account, context.handle(), keys, order, rows, key_of.lookup.merge_bits);
}

template <typename Key>
Status find_by_merge(const WorkContext& context, const LookupView& lookup, const Key* build_keys,
                     const DeviceColumn* probe, RequiredColumns required, uint64_t rows,
                     Candidates* candidates) {
    DeviceArray<Key> keys;
    DeviceArray<uint32_t> order;
    GPUJOIN_RETURN_IF_FAILED(
        sort_probe(context, ProbeKeys<Key>{lookup, probe, required}, rows, &keys, &order));
    SortedKeys<Key> sorted{keys.data(), rows, build_keys, lookup.positions, lookup.merge_cut_after};
    WriteByRow<Key> write{
        lookup, sorted, probe, required, order.data(), candidates->begin.data(), candidates->count.data()};
    DeviceArray<TileBound> bounds;
    return search_tiles(context, make_tiling(rows, rows, lookup.positions), sorted, write, &bounds);
}

template <typename Key>
Status find_sorted(const WorkContext& context, const ProbeWork& work, const Key* build_keys,
                   const Key* probe_keys, const SortedSide& probe, SortedCandidates* candidates) {
    const LookupView& lookup = work.lookup;
    SortedKeys<Key> sorted{probe_keys, probe.tuples(), build_keys, lookup.positions, lookup.merge_cut_after};
    Tiling tiling = make_tiling(probe.entries(), probe.tuples(), lookup.positions);
    Candidates& found = candidates->by_entry;
    GPUJOIN_RETURN_IF_FAILED(found.begin.allocate(context.account, probe.entries(), context.handle()));
    GPUJOIN_RETURN_IF_FAILED(found.count.allocate(context.account, probe.entries(), context.handle()));
    GPUJOIN_RETURN_IF_FAILED(candidates->slots.allocate(context.account, tiling.tiles + 1, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(
        candidates->has_counts.allocate(context.account, tiling.tiles, context.handle()));
    uint64_t* slots = candidates->slots.data();
    GPUJOIN_RETURN_IF_FAILED(fill_bytes(context.handle(), slots + tiling.tiles, 0, 1));
    WriteByEntry<Key> write{lookup,
                            sorted,
                            work.probe,
                            probe.row_numbers(),
                            work.rule,
                            work.marks,
                            found.begin.data(),
                            found.count.data(),
                            slots,
                            candidates->has_counts.data()};
    return search_tiles(context, tiling, sorted, write, &candidates->bounds);
}

}  // namespace

Status find_by_merge(const WorkContext& context, const LookupView& lookup, const DeviceColumn* probe,
                     RequiredColumns required, uint64_t rows, Candidates* candidates) {
    return lookup.merge_bits <= 32
               ? find_by_merge(context, lookup, lookup.narrow_keys, probe, required, rows, candidates)
               : find_by_merge(context, lookup, lookup.order_keys, probe, required, rows, candidates);
}

Status find_sorted(const WorkContext& context, const ProbeWork& work, const SortedSide& probe,
                   SortedCandidates* candidates) {
    return probe.key_bits() <= 32
               ? find_sorted(context, work, work.lookup.narrow_keys, probe.narrow_keys(), probe, candidates)
               : find_sorted(context, work, work.lookup.order_keys, probe.wide_keys(), probe, candidates);
}

}  // namespace gpujoin::cuda
