// The join of partitioned sides: the list of items, and the kernel that works through it.
#include "cuda/radix/radix_join.h"

#include <algorithm>

#include "cuda/work/kernel.h"
#include "cuda/work/launch.cuh"
#include "cuda/work/primitives.h"
#include "cuda/radix/radix_table.cuh"
#include "cuda/work/warp_bits.cuh"
#include "engine/search.h"

namespace gpujoin::cuda {

namespace {

constexpr uint32_t kProbePiece = 64 << 10;  // probe tuples of an item
constexpr uint32_t kSlice = 64 << 10;       // items that are listed at a time
constexpr uint32_t kRoundTuples = 4;        // probe tuples a thread takes at a time
constexpr uint32_t kMaxBlocks = 4096;
// Blocks that a multiprocessor shall hold, if its shared memory allows; Turing's have room for 1024 threads
// only.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr uint32_t kRadixBlocks = 2;
#else
constexpr uint32_t kRadixBlocks = 3;
#endif

template <typename Key, typename Build, typename Probe>
struct JoinView {
    RadixTuples<Key, Build> build;
    RadixTuples<Key, Probe> probe;
    uint32_t shift;  // bits of the keys that number the partition
    const RadixItem* items;
    uint32_t count;
    RadixItem* leftovers;
    RadixProgress* progress;
    Build* build_out;
    Probe* probe_out;
    uint64_t capacity;
};

// What a block knows together.
template <typename Key, typename Build>
struct BlockMemory {
    RadixTable<Key, Build> table;
    uint32_t sums[2][kRoundTuples * kRadixWarps];  // results by warp, of this round and the last
    uint64_t reserved[2];
    uint32_t total[2];
    uint32_t cut_rows;   // where a round does not fit: its results before the cut
    uint32_t cut_tuple;  // and the probe tuple behind it
    RadixItem item;
    bool stop;
};

// A round: kRoundTuples probe tuples a thread, and where the results of each go.
template <typename Probe>
struct Round {
    Probe payload[kRoundTuples];
    RadixGroup group[kRoundTuples];
    uint32_t offset[kRoundTuples];  // of the first result, from the round's first
};

// Takes the next item; false when there is none, or no room for results.
template <typename View, typename Memory>
__device__ bool take_item(const View& view, Memory& memory) {
    __syncthreads();
    if (threadIdx.x == 0) {
        auto reserved = *static_cast<volatile unsigned long long*>(&view.progress->reserved);
        memory.stop = reserved >= view.capacity;
        if (!memory.stop) {
            uint32_t item = atomicAdd(&view.progress->next, 1u);
            memory.stop = item >= view.count;
            if (!memory.stop) memory.item = view.items[item];
        }
        memory.cut_rows = memory.cut_tuple = ~0u;
    }
    __syncthreads();
    return !memory.stop;
}

// Looks up the round's tuples, sums their results and reserves room for them.
template <typename View, typename Memory, typename Probe>
__device__ void start_round(const View& view, Memory& memory, uint32_t base, uint32_t end, uint32_t parity,
                            Round<Probe>* round) {
    uint32_t lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    const uint64_t from = uint64_t{base} + threadIdx.x;
#pragma unroll
    for (uint32_t j = 0; j < kRoundTuples; j++) {
        round->group[j] = {0, 0};
        if (from + j * kRadixThreads >= end) continue;
        auto tuple = view.probe.get(from + j * kRadixThreads);
        round->payload[j] = tuple.payload;
        round->group[j] = memory.table.find(tuple.key >> view.shift);
    }
#pragma unroll
    for (uint32_t j = 0; j < kRoundTuples; j++) {
        uint32_t inclusive = inclusive_warp_sum_of_few(round->group[j].count);
        round->offset[j] = inclusive - round->group[j].count;
        if (lane == 31) memory.sums[parity][j * kRadixWarps + warp] = inclusive;
    }
    __syncthreads();
    if (warp == 0) {
        uint32_t before = 0;
        for (uint32_t i = lane; i < kRoundTuples * kRadixWarps; i += 32) {
            uint32_t sum = memory.sums[parity][i];
            uint32_t inclusive = inclusive_warp_sum(sum);
            memory.sums[parity][i] = before + inclusive - sum;
            before += __shfl_sync(kAllLanes, inclusive, 31);
        }
        if (lane == 0) {
            memory.total[parity] = before;
            memory.reserved[parity] =
                before ? atomicAdd(&view.progress->reserved, static_cast<unsigned long long>(before)) : 0;
        }
    }
    __syncthreads();
#pragma unroll
    for (uint32_t j = 0; j < kRoundTuples; j++)
        round->offset[j] += memory.sums[parity][j * kRadixWarps + warp];
}

// The results of a probe tuple, as a warp's lanes hold them: result i, from the round's first, has the build
// payload at `begin` + i.
template <typename Probe>
struct ResultRun {
    static constexpr uint32_t kNowhere = 1u << 31;  // behind the results of any round

    uint32_t offset;  // of the first, from the round's first, or kNowhere
    uint32_t begin;   // wraps around
    Probe payload;
};

// Moves the tuples that have results to the first lanes, in their order.
template <typename Probe>
__device__ ResultRun<Probe> gather_runs(RadixGroup group, uint32_t offset, Probe payload) {
    uint32_t lane = threadIdx.x & 31;
    uint32_t present = __ballot_sync(kAllLanes, group.count > 0);
    ResultRun<Probe> run{offset, group.begin - offset, payload};
    if (present == kAllLanes) return run;
    auto from = static_cast<int>(nth_set_bit(present, lane));
    run.offset = __shfl_sync(kAllLanes, run.offset, from);
    run.begin = __shfl_sync(kAllLanes, run.begin, from);
    run.payload = __shfl_sync(kAllLanes, run.payload, from);
    if (lane >= __popc(present)) run.offset = ResultRun<Probe>::kNowhere;
    return run;
}

// A warp writes the results of its 32 probe tuples, a window of 32 results at a time, wherever they come
// from. Which tuple a result comes from is counted: bits mark where in the window the results of another one
// start. Where there are many, windows begin at memory sectors, which are then written whole.
template <typename Key, typename Build, typename Probe>
__device__ void expand(const JoinView<Key, Build, Probe>& view, const RadixTable<Key, Build>& table,
                       uint64_t first, RadixGroup group, uint32_t offset, Probe payload) {
    constexpr uint32_t kSectorResults = 32 / sizeof(uint32_t);
    const uint32_t lane = threadIdx.x & 31, up_to_lane = kAllLanes >> (31 - lane);
    const uint32_t start = __shfl_sync(kAllLanes, offset, 0);
    const uint32_t results = __shfl_sync(kAllLanes, offset + group.count, 31) - start;
    const uint32_t skew = results > 64 ? (first + start) % kSectorResults : 0;
    const ResultRun<Probe> own = gather_runs(group, offset, payload);
    Build* build_to = view.build_out + (first + start - skew + lane);
    Probe* probe_to = view.probe_out + (first + start - skew + lane);
    uint32_t seen = 0;  // tuples whose results start before the window
    for (uint32_t done = 0; done < results + skew; done += 32, build_to += 32, probe_to += 32) {
        uint32_t window = start - skew + done;
        uint32_t starts = warp_or(own.offset - window < 32 ? 1u << (own.offset - window) : 0);
        auto owner = static_cast<int>(seen + __popc(starts & up_to_lane)) - 1;
        seen += __popc(starts);
        uint32_t begin = __shfl_sync(kAllLanes, own.begin, owner);
        Probe probe = __shfl_sync(kAllLanes, own.payload, owner);
        uint32_t result = window + lane;
        if (result - start >= results) continue;
        *build_to = table.payloads[begin + result];
        *probe_to = probe;
    }
}

template <typename View, typename Table, typename Probe>
__device__ void write_round(const View& view, const Table& table, uint64_t first, const Round<Probe>& round) {
#pragma unroll
    for (uint32_t j = 0; j < kRoundTuples; j++) {
        RadixGroup group = round.group[j];
        if (__any_sync(kAllLanes, group.count > 1)) {
            expand(view, table, first, group, round.offset[j], round.payload[j]);
        } else if (group.count) {
            view.build_out[first + round.offset[j]] = table.payloads[group.begin];
            view.probe_out[first + round.offset[j]] = round.payload[j];
        }
    }
}

// Writes the probe tuples of a round that fit into the room that is left, and leaves the others for later.
template <typename View, typename Memory, typename Probe>
__device__ void cut_round(const View& view, Memory& memory, uint32_t base, uint32_t parity,
                          Round<Probe>* round) {
    uint64_t first = memory.reserved[parity];
    uint64_t room = first < view.capacity ? view.capacity - first : 0;
#pragma unroll
    for (uint32_t j = 0; j < kRoundTuples; j++) {
        uint32_t count = round->group[j].count;
        if (count == 0 || uint64_t{round->offset[j]} + count <= room) continue;
        atomicMin(&memory.cut_rows, round->offset[j]);
        atomicMin(&memory.cut_tuple, base + j * kRadixThreads + threadIdx.x);
        round->group[j].count = 0;
    }
    __syncthreads();
#pragma unroll
    for (uint32_t j = 0; j < kRoundTuples; j++)
        round->offset[j] = min(round->offset[j], memory.cut_rows);  // of tuples without results
    write_round(view, memory.table, first, *round);
    if (threadIdx.x > 0) return;
    if (room > 0) view.progress->written = first + memory.cut_rows;
    RadixItem left = memory.item;
    left.probe_begin = memory.cut_tuple;
    view.leftovers[atomicAdd(&view.progress->leftovers, 1u)] = left;
}

template <typename Key, typename Build, typename Probe>
__global__ void __launch_bounds__(kRadixThreads, kRadixBlocks)
    join_items(const __grid_constant__ JoinView<Key, Build, Probe> view) {
    extern __shared__ uint4 shared_words[];  // of the size that the launch asks for
    auto& memory = *reinterpret_cast<BlockMemory<Key, Build>*>(shared_words);
    while (take_item(view, memory)) {
        const RadixItem& item = memory.item;
        memory.table.build(view.build, item.build_begin, item.build_rows, view.shift);
        uint32_t parity = 0;
        for (uint32_t done = 0; done < item.probe_end - item.probe_begin;
             done += kRoundTuples * kRadixThreads, parity ^= 1) {
            uint32_t base = item.probe_begin + done;
            Round<Probe> round;
            start_round(view, memory, base, item.probe_end, parity, &round);
            uint64_t first = memory.reserved[parity];
            if (first + memory.total[parity] > view.capacity)
                return cut_round(view, memory, base, parity, &round);
            write_round(view, memory.table, first, round);
        }
    }
}

template <typename Key, typename Build, typename Probe>
Status launch_join(const WorkContext& context, const JoinView<Key, Build, Probe>& view) {
    if (fault_due(FaultPoint::Launch)) return cuda_status(cudaErrorLaunchFailure, "kernel launch");
    auto kernel = join_items<Key, Build, Probe>;
    constexpr size_t kShared = sizeof(BlockMemory<Key, Build>);
    uint32_t resident = 0;
    GPUJOIN_RETURN_IF_FAILED(find_resident_blocks(kernel, kRadixThreads, kShared, &resident));
    kernel<<<std::min({view.count, resident, kMaxBlocks}), kRadixThreads, kShared, context.handle()>>>(view);
    GPUJOIN_CHECK_CUDA(cudaGetLastError());
    return {};
}

// The items of a partition: every chunk of its build tuples with every piece of its probe tuples.
struct PartitionWork {
    const uint32_t* build_starts;
    const uint32_t* probe_starts;
    uint32_t chunk;

    __device__ static uint64_t parts(const uint32_t* starts, uint64_t partition, uint32_t size) {
        return (uint64_t{starts[partition + 1]} - starts[partition] + size - 1) / size;
    }
    __device__ uint64_t pieces(uint64_t partition) const {
        return parts(probe_starts, partition, kProbePiece);
    }
    __device__ uint64_t items(uint64_t partition) const {
        return parts(build_starts, partition, chunk) * pieces(partition);
    }
    __device__ RadixItem item(uint64_t partition, uint64_t number) const {
        uint64_t build = build_starts[partition] + number / pieces(partition) * chunk;
        uint64_t probe = probe_starts[partition] + number % pieces(partition) * kProbePiece;
        uint64_t build_end = min(build + chunk, uint64_t{build_starts[partition + 1]});
        uint64_t probe_end = min(probe + kProbePiece, uint64_t{probe_starts[partition + 1]});
        return {static_cast<uint32_t>(build), static_cast<uint32_t>(build_end - build),
                static_cast<uint32_t>(probe), static_cast<uint32_t>(probe_end)};
    }
};

PartitionWork partition_work(const RadixSide& build, const RadixSide& probe, uint32_t key_bytes) {
    uint32_t chunk =
        key_bytes == sizeof(uint32_t) ? RadixShape<uint32_t>::kChunk : RadixShape<uint64_t>::kChunk;
    return {build.starts(), probe.starts(), chunk};
}

Status count_items(const WorkContext& context, const PartitionWork& work, uint32_t partitions,
                   uint64_t* counts) {
    return for_each(context.handle(), uint64_t{partitions} + 1, [=] __device__(uint64_t partition) {
        counts[partition] = partition < partitions ? work.items(partition) : 0;
    });
}

// Items [first, first + count). starts: the number of each partition's first.
Status list_items(const WorkContext& context, const PartitionWork& work, const uint64_t* starts,
                  uint64_t partitions, uint64_t first, uint32_t count, RadixItem* items) {
    return for_each(context.handle(), count, [=] __device__(uint64_t i) {
        uint64_t partition = find_owner(starts, partitions, first + i);
        items[i] = work.item(partition, first + i - starts[partition]);
    });
}

// Calls function(key, build payload, probe payload) with values of the types that the sides have.
template <typename Function>
Status with_types(uint32_t key_bytes, uint32_t build_bytes, uint32_t probe_bytes, const Function& function) {
    auto with_key = [&](auto key) {
        return with_payload_types(build_bytes, probe_bytes,
                                  [&](auto build, auto probe) { return function(key, build, probe); });
    };
    return key_bytes == sizeof(uint32_t) ? with_key(uint32_t{}) : with_key(uint64_t{});
}

}  // namespace

uint32_t radix_partition_rows(uint32_t key_bytes) {
    return 16384 / key_bytes;
}

uint64_t radix_shared_bytes() {
    return std::max(sizeof(BlockMemory<uint32_t, uint64_t>), sizeof(BlockMemory<uint64_t, uint64_t>));
}

static_assert(uint64_t{kRoundTuples} * kRadixThreads * RadixShape<uint32_t>::kChunk <
              ResultRun<uint32_t>::kNowhere);

// No probe tuple has more matches in one item, so that a run always gets ahead.
static_assert(RadixShape<uint32_t>::kChunk <= kLeastPairs);

Status RadixMatcher::prepare(const WorkContext& context) {
    uint32_t partitions = build_->partitions();
    GPUJOIN_RETURN_IF_FAILED(
        item_starts_.allocate(context.account, uint64_t{partitions} + 1, context.handle()));
    PartitionWork work = partition_work(*build_, probe_, key_bytes_);
    uint64_t* counts = item_starts_.data();
    GPUJOIN_RETURN_IF_FAILED(count_items(context, work, partitions, counts));
    GPUJOIN_RETURN_IF_FAILED(
        exclusive_sum(context.account, context.handle(), counts, uint64_t{partitions} + 1));
    GPUJOIN_RETURN_IF_FAILED(leftovers_.allocate(context.account, kMaxBlocks, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(progress_.allocate(context.account, 1, context.handle()));
    return read_back(context, counts + partitions, &items_);
}

// The next items, as many as a slice holds.
Status RadixMatcher::list_slice(const WorkContext& context) {
    auto count = static_cast<uint32_t>(std::min<uint64_t>(kSlice, items_ - listed_));
    GPUJOIN_RETURN_IF_FAILED(slice_items_.reserve(context.account, count, context.handle()));
    PartitionWork work = partition_work(*build_, probe_, key_bytes_);
    GPUJOIN_RETURN_IF_FAILED(list_items(context, work, item_starts_.data(), build_->partitions(), listed_,
                                        count, slice_items_.data()));
    listed_ += count;
    slice_ = count;
    taken_ = 0;
    return {};
}

// Runs what is left of the slice. What blocks leave unfinished goes back into the list, before the items that
// none has taken.
Status RadixMatcher::run_slice(const WorkContext& context, const PayloadOutput& output,
                               RadixProgress* progress) {
    uint32_t count = slice_ - taken_;
    auto* mail = reinterpret_cast<RadixProgress*>(context.stream.mailbox());
    *mail = *progress;
    GPUJOIN_CHECK_CUDA(
        cudaMemcpyAsync(progress_.data(), mail, sizeof *mail, cudaMemcpyHostToDevice, context.handle()));
    auto launch = [&](auto key, auto build, auto probe) {
        using Key = decltype(key);
        using Build = decltype(build);
        using Probe = decltype(probe);
        JoinView<Key, Build, Probe> view;
        view.build = {build_->tuples(), build_->rows()};
        view.probe = {probe_.tuples(), probe_.rows()};
        view.shift = static_cast<uint32_t>(__builtin_ctz(build_->partitions()));
        view.items = slice_items_.data() + taken_;
        view.count = count;
        view.leftovers = leftovers_.data();
        view.progress = progress_.data();
        view.build_out = static_cast<Build*>(output.build);
        view.probe_out = static_cast<Probe*>(output.probe);
        view.capacity = output.capacity;
        return launch_join(context, view);
    };
    GPUJOIN_RETURN_IF_FAILED(with_types(key_bytes_, build_->payload().bytes, probe_.payload().bytes, launch));
    GPUJOIN_RETURN_IF_FAILED(read_back(context, progress_.data(), progress));
    taken_ += std::min(progress->next, count) - progress->leftovers;
    GPUJOIN_CHECK_CUDA(cudaMemcpyAsync(slice_items_.data() + taken_, leftovers_.data(),
                                       progress->leftovers * sizeof(RadixItem), cudaMemcpyDeviceToDevice,
                                       context.handle()));
    return {};
}

Status RadixMatcher::run(const WorkContext& context, const PayloadOutput& output, uint64_t* rows,
                         bool* done) {
    RadixProgress progress{0, ~0ull, 0, 0};
    *done = is_done();
    while (!*done && progress.reserved < output.capacity) {
        GPUJOIN_RETURN_IF_FAILED(check_cancelled(context.cancel));
        progress.next = progress.leftovers = 0;
        if (taken_ == slice_) GPUJOIN_RETURN_IF_FAILED(list_slice(context));
        GPUJOIN_RETURN_IF_FAILED(run_slice(context, output, &progress));
        *done = is_done();
    }
    *rows = std::min<uint64_t>({progress.reserved, progress.written, output.capacity});
    return {};
}

}  // namespace gpujoin::cuda
