// Partitioning: partitions are counted, which tells where each starts, and tuples are scattered into them.
#include "cuda/radix/radix_partition.h"

#include <algorithm>
#include <bit>

#include "cuda/work/kernel.h"
#include "cuda/work/launch.cuh"
#include "cuda/hash/lookup.cuh"
#include "cuda/work/primitives.h"
#include "cuda/radix/radix_count.cuh"
#include "cuda/radix/radix_scatter.cuh"
#include "engine/search.h"

namespace gpujoin::cuda {

namespace {

__device__ uint32_t mix_key(uint32_t key) {
    return mix32(key);
}
__device__ uint64_t mix_key(uint64_t key) {
    return mix(key);
}

// The tuples that rows become, whatever their keys are made of and whether or not all have one.
template <typename Key, typename Payload>
struct RowSource {
    RadixInput input;
    const Payload* values;  // null: payloads are row numbers

    __device__ bool present(uint64_t row) const {
        uint64_t place;
        return input.required.present(input.columns, row) &&
               (input.build || !input.layout.by_place ||
                find_place<false>(input.layout, input.columns, row, &place));
    }
    __device__ Key key(uint64_t row) const {
        return mix_key(input.build ? read_key<Key, true>(input.layout, input.columns, row)
                                   : read_key<Key, false>(input.layout, input.columns, row));
    }
    __device__ Payload payload(uint64_t row) const {
        return values ? values[row] : static_cast<Payload>(row);
    }
};

// The same where one column without NULLs is the key as it stands: without branches threads read several rows
// at once, which takes half the time.
template <typename Key, typename Payload>
struct PlainSource {
    const Key* keys;
    const Payload* values;

    __device__ bool present(uint64_t) const { return true; }
    __device__ Key key(uint64_t row) const { return mix_key(keys[row]); }
    __device__ Payload payload(uint64_t row) const { return values[row]; }
};
template <typename Key>
struct PlainNumberedSource {
    const Key* keys;

    __device__ bool present(uint64_t) const { return true; }
    __device__ Key key(uint64_t row) const { return mix_key(keys[row]); }
    __device__ uint32_t payload(uint64_t row) const { return static_cast<uint32_t>(row); }
};

// The same where the key is the place of an integer of 8 bytes.
template <typename Payload>
struct PlacedSource {
    const uint64_t* values;
    uint64_t first;
    uint64_t span;
    const Payload* payloads;  // null: row numbers

    __device__ bool present(uint64_t row) const { return values[row] - first <= span; }
    __device__ uint32_t key(uint64_t row) const {
        return mix_key(static_cast<uint32_t>(values[row] - first));
    }
    __device__ Payload payload(uint64_t row) const {
        return payloads ? payloads[row] : static_cast<Payload>(row);
    }
};

// The tuples that an earlier pass has grouped.
template <typename Key, typename Payload>
struct TupleSource {
    RadixTuples<Key, Payload> tuples;

    __device__ bool present(uint64_t) const { return true; }
    __device__ Key key(uint64_t i) const { return tuples.get(i).key; }
    __device__ Payload payload(uint64_t i) const { return tuples.get(i).payload; }
};

// Tiles of a first pass: one behind the other.
struct RowTiles {
    uint32_t rows;
    uint32_t size;

    __device__ ScatterTile tile(uint32_t block) const {
        uint64_t begin = uint64_t{block} * size;
        return {static_cast<uint32_t>(begin), static_cast<uint32_t>(min(begin + size, uint64_t{rows})), 0};
    }
};

// Tiles of a second pass, each within one group of the first.
struct ListedTiles {
    const ScatterTile* tiles;

    __device__ ScatterTile tile(uint32_t block) const { return tiles[block]; }
};

// How the bits of partition numbers are shared out: the first pass groups by the upper ones.
struct Passes {
    uint32_t first;   // bits
    uint32_t second;  // 0: one pass is enough

    explicit Passes(uint32_t bits)
        : first(bits <= kDigitBits ? bits : (bits + 1) / 2), second(bits - first) {}
    uint32_t groups() const { return 1u << first; }
    ScatterDigit first_digit() const { return {second, 1u << first}; }
    ScatterDigit second_digit() const { return {0, 1u << second}; }
};

template <typename Key, typename Payload, typename Source, typename Tiles>
Status scatter(const WorkContext& context, const Source& source, const Tiles& tiles, uint64_t blocks,
               ScatterDigit digit, uint32_t* cursors, const RadixTuples<Key, Payload>& to) {
    GPUJOIN_RETURN_IF_FAILED(end_step(context));
    if (blocks == 0) return {};
    if (fault_due(FaultPoint::Launch)) return cuda_status(cudaErrorLaunchFailure, "kernel launch");
    auto kernel = scatter_tuples<Key, Payload, Source, Tiles>;
    constexpr size_t kShared = sizeof(ScatterMemory<Key, Payload>);
    GPUJOIN_RETURN_IF_FAILED(allow_shared_memory(kernel));
    kernel<<<static_cast<uint32_t>(blocks), kScatterThreads, kShared, context.handle()>>>(source, tiles,
                                                                                          digit, cursors, to);
    GPUJOIN_CHECK_CUDA(cudaGetLastError());
    return {};
}

// Lists the tiles of a second pass; those beyond the last are empty. tile_starts: by group, and the end.
Status list_tiles(const WorkContext& context, const uint32_t* starts, const Passes& passes, uint32_t size,
                  uint64_t* tile_starts, uint64_t count, ScatterTile* tiles) {
    uint64_t groups = passes.groups();
    uint32_t bits = passes.second;
    GPUJOIN_RETURN_IF_FAILED(for_each(context.handle(), groups + 1, [=] __device__(uint64_t group) {
        uint64_t rows = group < groups ? starts[(group + 1) << bits] - starts[group << bits] : 0;
        tile_starts[group] = (rows + size - 1) / size;
    }));
    GPUJOIN_RETURN_IF_FAILED(exclusive_sum(context.account, context.handle(), tile_starts, groups + 1));
    return for_each(context.handle(), count, [=] __device__(uint64_t i) {
        ScatterTile tile{0, 0, 0};
        if (i < tile_starts[groups]) {
            uint64_t group = find_owner(tile_starts, groups, i);
            tile.begin = starts[group << bits] + static_cast<uint32_t>(i - tile_starts[group]) * size;
            uint32_t end = starts[(group + 1) << bits];
            tile.end = end - tile.begin < size ? end : tile.begin + size;
            tile.partition = static_cast<uint32_t>(group << bits);
        }
        tiles[i] = tile;
    });
}

// Where the tuples of a pass go next: by digit of the upper bits, with `lower_bits` bits below.
Status make_cursors(const WorkContext& context, const uint32_t* starts, uint32_t digits, uint32_t lower_bits,
                    DeviceArray<uint32_t>* cursors) {
    GPUJOIN_RETURN_IF_FAILED(cursors->allocate(context.account, digits, context.handle()));
    uint32_t* to = cursors->data();
    return for_each(context.handle(), digits,
                    [=] __device__(uint64_t digit) { to[digit] = starts[digit << lower_bits]; });
}

template <typename Key, typename Payload>
Status scatter_groups(const WorkContext& context, const RadixTuples<Key, Payload>& from, uint64_t rows,
                      const uint32_t* starts, const Passes& passes, const RadixTuples<Key, Payload>& to) {
    constexpr uint32_t kTile = ScatterMemory<Key, Payload>::kTile;
    uint64_t count = rows / kTile + passes.groups();
    DeviceArray<uint64_t> tile_starts;
    DeviceArray<ScatterTile> tiles;
    DeviceArray<uint32_t> cursors;
    GPUJOIN_RETURN_IF_FAILED(
        tile_starts.allocate(context.account, uint64_t{passes.groups()} + 1, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(tiles.allocate(context.account, count, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(
        list_tiles(context, starts, passes, kTile, tile_starts.data(), count, tiles.data()));
    GPUJOIN_RETURN_IF_FAILED(make_cursors(context, starts, passes.groups() << passes.second, 0, &cursors));
    return scatter(context, TupleSource<Key, Payload>{from}, ListedTiles{tiles.data()}, count,
                   passes.second_digit(), cursors.data(), to);
}

// Partitions that are counted at a time: as many as shared memory has room for.
Status choose_slice(uint32_t partitions, uint32_t* slice) {
    int device = 0, bytes = 0;
    GPUJOIN_CHECK_CUDA(cudaGetDevice(&device));
    GPUJOIN_CHECK_CUDA(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    *slice = std::min(partitions, std::bit_floor(static_cast<uint32_t>(bytes) / 4));
    return {};
}

// Memory for tuples, and the view of it.
template <typename Key, typename Payload>
Status allocate_tuples(const WorkContext& context, uint64_t rows, DeviceArray<uint32_t>* memory,
                       RadixTuples<Key, Payload>* tuples) {
    uint64_t words = rows * RadixTuples<Key, Payload>::kBytes / sizeof(uint32_t);
    GPUJOIN_RETURN_IF_FAILED(memory->allocate(context.account, words, context.handle()));
    *tuples = {memory->data(), rows};
    return {};
}

}  // namespace

template <typename Source>
Status RadixSide::find_starts(const WorkContext& context, const Source& source, uint32_t bits) {
    uint32_t partitions = 1u << bits, slice = 0, resident = 0;
    GPUJOIN_RETURN_IF_FAILED(starts_.allocate(context.account, uint64_t{partitions} + 1, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(fill_bytes(context.handle(), starts_.data(), 0, starts_.size()));
    GPUJOIN_RETURN_IF_FAILED(choose_slice(partitions, &slice));
    auto kernel = count_partitions<Source>;
    size_t shared = slice * sizeof(uint32_t);
    GPUJOIN_RETURN_IF_FAILED(find_resident_blocks(kernel, kCountThreads, shared, &resident));
    if (fault_due(FaultPoint::Launch)) return cuda_status(cudaErrorLaunchFailure, "kernel launch");
    for (uint32_t first = 0; first < partitions; first += slice) {
        kernel<<<resident, kCountThreads, shared, context.handle()>>>(
            source, rows_, partitions - 1, PartitionSlice{first, slice}, starts_.data());
        GPUJOIN_CHECK_CUDA(cudaGetLastError());
    }
    return exclusive_sum(context.account, context.handle(), starts_.data(), starts_.size());
}

template <typename Key, typename Payload, typename Source>
Status RadixSide::partition_from(const WorkContext& context, const Source& source, uint32_t bits) {
    using Memory = ScatterMemory<Key, Payload>;
    static_assert(kDigits <= kScatterThreads);
    Passes passes(bits);
    RadixTuples<Key, Payload> partitioned, grouped;
    DeviceArray<uint32_t> grouped_tuples, cursors;
    GPUJOIN_RETURN_IF_FAILED(find_starts(context, source, bits));
    GPUJOIN_RETURN_IF_FAILED(allocate_tuples(context, rows_, &tuples_, &partitioned));
    grouped = partitioned;
    if (passes.second > 0)
        GPUJOIN_RETURN_IF_FAILED(allocate_tuples(context, rows_, &grouped_tuples, &grouped));
    GPUJOIN_RETURN_IF_FAILED(make_cursors(context, starts_.data(), passes.groups(), passes.second, &cursors));
    RowTiles tiles{rows_, Memory::kTile};
    uint64_t blocks = (uint64_t{rows_} + Memory::kTile - 1) / Memory::kTile;
    GPUJOIN_RETURN_IF_FAILED(
        scatter(context, source, tiles, blocks, passes.first_digit(), cursors.data(), grouped));
    if (passes.second == 0) return {};
    return scatter_groups(context, grouped, rows_, starts_.data(), passes, partitioned);
}

template <typename Key, typename Payload>
Status RadixSide::partition_as(const WorkContext& context, const RadixInput& input, uint32_t bits) {
    auto* values = reinterpret_cast<const Payload*>(payload_.values);
    if (!input.plain_keys || input.required.count > 0)
        return partition_from<Key, Payload>(context, RowSource<Key, Payload>{input, values}, bits);
    if constexpr (sizeof(Key) == sizeof(uint32_t)) {
        if (input.layout.by_place) {
            auto* integers = reinterpret_cast<const uint64_t*>(input.plain_keys);
            PlacedSource<Payload> source{integers, input.plain_first, input.layout.places.last, values};
            return partition_from<Key, Payload>(context, source, bits);
        }
    }
    auto* plain_keys = reinterpret_cast<const Key*>(input.plain_keys);
    if constexpr (sizeof(Payload) == sizeof(uint32_t)) {
        if (!values) return partition_from<Key, Payload>(context, PlainNumberedSource<Key>{plain_keys}, bits);
    }
    return partition_from<Key, Payload>(context, PlainSource<Key, Payload>{plain_keys, values}, bits);
}

Status RadixSide::partition(const WorkContext& context, const RadixInput& input, const PayloadSource& payload,
                            uint32_t bits) {
    payload_ = payload;
    rows_ = static_cast<uint32_t>(input.rows);
    bool wide = payload.bytes == sizeof(uint64_t);
    if (input.layout.bytes == sizeof(uint32_t))
        return wide ? partition_as<uint32_t, uint64_t>(context, input, bits)
                    : partition_as<uint32_t, uint32_t>(context, input, bits);
    return wide ? partition_as<uint64_t, uint64_t>(context, input, bits)
                : partition_as<uint64_t, uint32_t>(context, input, bits);
}

}  // namespace gpujoin::cuda
