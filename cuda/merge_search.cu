// Sorted search.
#include "cuda/merge_search.h"

#include "cuda/launch.cuh"
#include "cuda/primitives.h"

namespace gpujoin {

namespace {

constexpr uint64_t kTileSteps = 1024;  // of the merge, found by one search of the whole path
constexpr uint64_t kThreadSteps = 16;  // walked by one thread
constexpr uint64_t kSearchSteps = 24;  // what a search costs, in steps of the merge

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
            return static_cast<Key>(order_key(column.spec, column.value(row)));
        }
        return read_sort_key<Key, false>(lookup.layout, probe, row);
    }
};

template <typename Key>
struct SortedProbe {
    const Key* keys;
    const uint32_t* rows;
    uint64_t count;
};

// Writes the candidates of a probe row, given where its key falls among the build side's.
template <typename Key>
struct WriteCandidates {
    LookupView lookup;
    const Key* build_keys;
    const DeviceColumn* probe;
    RequiredColumns required;
    bool cut_after;  // equal build keys lie before the place; else behind it
    uint32_t* begin;
    uint32_t* count;

    __device__ void operator()(uint32_t row, Key key, uint64_t place) const {
        auto positions = static_cast<uint32_t>(lookup.positions);
        auto cut = static_cast<uint32_t>(place);
        Group group{cut, positions - cut};
        if (!required.present(probe, row)) {
            group = {0, 0};
        } else if (lookup.bound_count > 0) {
            if (!lookup.bounds[0].below) group = {0, cut};
            group = narrow(lookup, build_keys, group, probe, row, 1);
        } else {
            group.count = count_before_near(build_keys + cut, group.count, key, true);
        }
        begin[row] = group.begin;
        count[row] = group.count;
    }
};

// How many of the first `steps` elements of the merge are probe keys. Ties: a cut before equal keys puts the
// probe's first.
template <typename Key>
__device__ uint64_t probe_steps(const Key* probe, uint64_t probe_count, const Key* build,
                                uint64_t build_count, bool cut_after, uint64_t steps) {
    return cut_after ? steps - merge_path(build, build_count, probe, probe_count, steps)
                     : merge_path(probe, probe_count, build, build_count, steps);
}

template <typename Key>
Status split_tiles(const WorkContext& context, const SortedProbe<Key>& sorted,
                   const WriteCandidates<Key>& write, uint64_t tiles, uint64_t* splits) {
    uint64_t steps = sorted.count + write.lookup.positions;
    return for_each(context.handle(), tiles + 1, [=] __device__(uint64_t tile) {
        uint64_t step = tile * kTileSteps < steps ? tile * kTileSteps : steps;
        splits[tile] = probe_steps(sorted.keys, sorted.count, write.build_keys, write.lookup.positions,
                                   write.cut_after, step);
    });
}

// Each thread walks a few steps of the path.
template <typename Key>
Status merge_tiles(const WorkContext& context, const SortedProbe<Key>& sorted,
                   const WriteCandidates<Key>& write, const uint64_t* splits) {
    uint64_t steps = sorted.count + write.lookup.positions;
    uint64_t threads = (steps + kThreadSteps - 1) / kThreadSteps;
    return for_each(context.handle(), threads, [=] __device__(uint64_t thread) {
        const Key* probe = sorted.keys;
        const Key* build = write.build_keys;
        uint64_t step = thread * kThreadSteps;
        uint64_t end = step + kThreadSteps < steps ? step + kThreadSteps : steps;
        uint64_t tile = step / kTileSteps;
        uint64_t tile_start = tile * kTileSteps;
        uint64_t tile_end = tile_start + kTileSteps < steps ? tile_start + kTileSteps : steps;
        uint64_t i = splits[tile];
        uint64_t j = tile_start - i;
        uint64_t probe_end = splits[tile + 1];
        uint64_t build_end = tile_end - probe_end;
        uint64_t before = probe_steps(probe + i, probe_end - i, build + j, build_end - j, write.cut_after,
                                      step - tile_start);
        i += before;
        j += step - tile_start - before;
        for (; step < end; step++) {
            bool from_probe =
                j == build_end ||
                (i < probe_end && (write.cut_after ? probe[i] < build[j] : !(build[j] < probe[i])));
            if (from_probe) {
                write(sorted.rows[i], probe[i], j);
                i++;
            } else {
                j++;
            }
        }
    });
}

// Where few probe rows meet many build rows each is searched; those next to each other find the same way.
template <typename Key>
Status search_sorted(const WorkContext& context, const SortedProbe<Key>& sorted,
                     const WriteCandidates<Key>& write) {
    return for_each(context.handle(), sorted.count, [=] __device__(uint64_t i) {
        Key key = sorted.keys[i];
        write(sorted.rows[i], key,
              count_before(write.build_keys, static_cast<uint32_t>(write.lookup.positions), key,
                           write.cut_after));
    });
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
    return sort_pairs(context.account, context.handle(), keys, order, rows, 8 * sizeof(Key));
}

template <typename Key>
Status find_by_merge(const WorkContext& context, const LookupView& lookup, const Key* build_keys,
                     const DeviceColumn* probe, RequiredColumns required, uint64_t rows,
                     Candidates* candidates) {
    DeviceArray<Key> keys;
    DeviceArray<uint32_t> order;
    GPUJOIN_RETURN_IF_FAILED(
        sort_probe(context, ProbeKeys<Key>{lookup, probe, required}, rows, &keys, &order));
    SortedProbe<Key> sorted{keys.data(), order.data(), rows};
    WriteCandidates<Key> write{lookup,
                               build_keys,
                               probe,
                               required,
                               lookup.merge_cut_after,
                               candidates->begin.data(),
                               candidates->count.data()};
    uint64_t steps = rows + lookup.positions;
    if (steps > kSearchSteps * rows) return search_sorted(context, sorted, write);
    uint64_t tiles = (steps + kTileSteps - 1) / kTileSteps;
    DeviceArray<uint64_t> splits;
    GPUJOIN_RETURN_IF_FAILED(splits.allocate(context.account, tiles + 1, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(split_tiles(context, sorted, write, tiles, splits.data()));
    return merge_tiles(context, sorted, write, splits.data());
}

}  // namespace

Status find_by_merge(const WorkContext& context, const LookupView& lookup, const DeviceColumn* probe,
                     RequiredColumns required, uint64_t rows, Candidates* candidates) {
    return lookup.narrow_keys
               ? find_by_merge(context, lookup, lookup.narrow_keys, probe, required, rows, candidates)
               : find_by_merge(context, lookup, lookup.order_keys, probe, required, rows, candidates);
}

}  // namespace gpujoin
