// Hash, sort-merge and nested-loop join with three-phase output.
#include "legacy_join.cuh"

#include <bit>

#include "legacy_sort.cuh"

namespace gpujoin::bench::legacy {

namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kTile = 1024;          // build rows on the chip
constexpr uint64_t kPartitionRows = 256;  // build rows a partition of the hash join, on average

struct Relation {
    const Tuple* tuples;
    uint64_t rows;
};

// Compares this thread's probe row, if it has one, with build rows [first, last), tile by tile. Reached by
// the whole block.
template <typename Matches, typename Emit>
__device__ void join_tiles(const Tuple* build, uint64_t first, uint64_t last, bool has_row, Tuple probe,
                           const Matches& matches, const Emit& emit) {
    __shared__ Tuple tile[kTile];
    for (uint64_t start = first; start < last; start += kTile) {
        const uint32_t rows = static_cast<uint32_t>(min(uint64_t{kTile}, last - start));
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < rows; i += kThreads) tile[i] = build[start + i];
        __syncthreads();
        if (!has_row) continue;
        for (uint32_t i = 0; i < rows; i++)
            if (matches(probe.x, tile[i].x)) emit(probe.y, tile[i].y);
    }
}

// probe key <= build key <= probe key + band; equality when band is 0.
struct Band {
    uint32_t width;
    __device__ bool operator()(uint32_t probe, uint32_t build) const { return build - probe <= width; }
};

// A block for each run of kThreads probe rows.
struct NestedLoop {
    Relation probe;
    Relation build;
    Band band;
    template <typename Emit>
    __device__ void operator()(const Emit& emit) const {
        uint64_t row = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
        bool has_row = row < probe.rows;
        join_tiles(build.tuples, 0, build.rows, has_row, has_row ? probe.tuples[row] : Tuple{}, band, emit);
    }
};

// A block for each pair of partitions.
struct Partitions {
    Relation probe;
    Relation build;
    const uint32_t* probe_starts;  // [partitions + 1]
    const uint32_t* build_starts;
    template <typename Emit>
    __device__ void operator()(const Emit& emit) const {
        const uint32_t last = probe_starts[blockIdx.x + 1];
        for (uint32_t start = probe_starts[blockIdx.x]; start < last; start += kThreads) {
            uint32_t row = start + threadIdx.x;
            join_tiles(build.tuples, build_starts[blockIdx.x], build_starts[blockIdx.x + 1], row < last,
                       row < last ? probe.tuples[row] : Tuple{}, Band{0}, emit);
        }
    }
};

__device__ uint64_t lower_bound(const Relation& sorted, uint64_t key) {
    uint64_t low = 0, high = sorted.rows;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (sorted.tuples[middle].x < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// A thread for each probe row; both sides are sorted.
struct Merge {
    Relation probe;
    Relation build;
    uint32_t band;
    template <typename Emit>
    __device__ void operator()(const Emit& emit) const {
        uint64_t row = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
        if (row >= probe.rows) return;
        Tuple tuple = probe.tuples[row];
        const uint64_t last = lower_bound(build, uint64_t{tuple.x} + band + 1);
        for (uint64_t match = lower_bound(build, tuple.x); match < last; match++)
            emit(tuple.y, build.tuples[match].y);
    }
};

template <typename Matcher>
__global__ void count_matches(Matcher matcher, uint64_t* counts) {
    uint64_t count = 0;
    matcher([&](uint32_t, uint32_t) { count++; });
    counts[uint64_t{blockIdx.x} * kThreads + threadIdx.x] = count;
}

template <typename Matcher>
__global__ void write_matches(Matcher matcher, const uint64_t* offsets, uint32_t* probe, uint32_t* build) {
    uint64_t next = offsets[uint64_t{blockIdx.x} * kThreads + threadIdx.x];
    matcher([&](uint32_t probe_row, uint32_t build_row) {
        probe[next] = probe_row;
        build[next++] = build_row;
    });
}

template <typename Matcher>
Pairs three_phases(const Matcher& matcher, uint32_t blocks) {
    const uint64_t threads = uint64_t{blocks} * kThreads;
    DeviceArray<uint64_t> offsets(threads + 1);
    cuda_check(cudaMemsetAsync(offsets.data() + threads, 0, sizeof(uint64_t), nullptr));
    count_matches<<<blocks, kThreads>>>(matcher, offsets.data());
    cuda_check(cudaGetLastError());
    exclusive_scan(offsets.data(), threads + 1);
    const uint64_t rows = offsets.read(threads);
    Pairs pairs{DeviceArray<uint32_t>(rows), DeviceArray<uint32_t>(rows)};
    write_matches<<<blocks, kThreads>>>(matcher, offsets.data(), pairs.probe.data(), pairs.build.data());
    cuda_check(cudaGetLastError());
    return pairs;
}

__global__ void pack(const uint32_t* keys, uint64_t rows, Tuple* tuples) {
    uint64_t row = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (row < rows) tuples[row] = {keys[row], static_cast<uint32_t>(row)};
}

DeviceArray<Tuple> make_tuples(const Columns& columns) {
    DeviceArray<Tuple> tuples(columns.rows);
    const uint32_t* keys = reinterpret_cast<const uint32_t*>(columns.views[0].values);
    pack<<<block_count(columns.rows, kThreads), kThreads>>>(keys, columns.rows, tuples.data());
    return tuples;
}

__device__ uint32_t hash(uint32_t key) {
    key = (key ^ (key >> 16)) * 0x7feb352d;
    key = (key ^ (key >> 15)) * 0x846ca68b;
    return key ^ (key >> 16);
}

struct HashBits {
    uint32_t shift;
    uint32_t mask;
    __device__ uint32_t operator()(uint32_t key) const { return hash(key) >> shift & mask; }
};

// Where each partition of tuples in order of the low bits of their hash starts.
__global__ void find_starts(Relation relation, uint32_t partitions, uint32_t* starts) {
    uint32_t partition = blockIdx.x * blockDim.x + threadIdx.x;
    if (partition > partitions) return;
    uint64_t low = 0, high = relation.rows;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if ((hash(relation.tuples[middle].x) & (partitions - 1)) < partition)
            low = middle + 1;
        else
            high = middle;
    }
    starts[partition] = static_cast<uint32_t>(low);
}

struct Partitioned {
    DeviceArray<Tuple> tuples;
    DeviceArray<uint32_t> starts;
};

// Splits by `bits` bits of the hash, low bits first, in passes of at most log2(kFanout) bits.
Partitioned partition(const Columns& columns, uint32_t bits) {
    constexpr uint32_t kBitsPerPass = std::countr_zero(kFanout);
    DeviceArray<Tuple> tuples = make_tuples(columns), target(columns.rows);
    for (uint32_t shift = 0; shift < bits; shift += kBitsPerPass) {
        uint32_t pass_bits = std::min(kBitsPerPass, bits - shift);
        split(tuples.data(), columns.rows, HashBits{shift, (1u << pass_bits) - 1}, target.data());
        std::swap(tuples, target);
    }
    const uint32_t partitions = 1u << bits;
    DeviceArray<uint32_t> starts(partitions + 1);
    find_starts<<<block_count(partitions + 1, kThreads), kThreads>>>({tuples.data(), columns.rows},
                                                                     partitions, starts.data());
    return {std::move(tuples), std::move(starts)};
}

Pairs hash_join(const Inputs& inputs) {
    const uint64_t partitions = std::bit_ceil(std::max<uint64_t>(1, inputs.build.rows / kPartitionRows));
    const uint32_t bits = static_cast<uint32_t>(std::countr_zero(partitions));
    Partitioned build = partition(inputs.build, bits), probe = partition(inputs.probe, bits);
    Partitions matcher{{probe.tuples.data(), inputs.probe.rows},
                       {build.tuples.data(), inputs.build.rows},
                       probe.starts.data(),
                       build.starts.data()};
    return three_phases(matcher, 1u << bits);
}

Pairs sort_merge_join(const Inputs& inputs, uint32_t band) {
    DeviceArray<Tuple> build = make_tuples(inputs.build), probe = make_tuples(inputs.probe);
    DeviceArray<Tuple> scratch(std::max(inputs.build.rows, inputs.probe.rows));
    quick_sort(build.data(), scratch.data(), inputs.build.rows);
    quick_sort(probe.data(), scratch.data(), inputs.probe.rows);
    Merge matcher{{probe.data(), inputs.probe.rows}, {build.data(), inputs.build.rows}, band};
    return three_phases(matcher, block_count(inputs.probe.rows, kThreads));
}

Pairs nested_loop_join(const Inputs& inputs, uint32_t band) {
    DeviceArray<Tuple> build = make_tuples(inputs.build), probe = make_tuples(inputs.probe);
    NestedLoop matcher{{probe.data(), inputs.probe.rows}, {build.data(), inputs.build.rows}, Band{band}};
    return three_phases(matcher, block_count(inputs.probe.rows, kThreads));
}

}  // namespace

bool supports(const Workload& workload, Algorithm algorithm) {
    if (workload.format != Format::Int4 || workload.id_width != 4) return false;
    constexpr uint64_t kMaxSorted = 1u << 24, kMaxCompared = 1u << 21;
    const uint64_t rows = std::max(workload.probe.rows, workload.build.rows);
    switch (algorithm) {
        case Algorithm::Hash:
            return !workload.is_band;
        case Algorithm::SortMerge:
            return rows <= kMaxSorted;
        case Algorithm::NestedLoop:
            return rows <= kMaxCompared;
        default:
            return false;
    }
}

Pairs join(const Workload& workload, Algorithm algorithm, const Inputs& inputs) {
    const uint32_t band = workload.is_band ? static_cast<uint32_t>(workload.band) : 0;
    if (algorithm == Algorithm::Hash) return hash_join(inputs);
    if (algorithm == Algorithm::SortMerge) return sort_merge_join(inputs, band);
    return nested_loop_join(inputs, band);
}

}  // namespace gpujoin::bench::legacy
