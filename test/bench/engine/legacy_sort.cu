// Bitonic sort and quicksort.
#include "legacy_sort.cuh"

#include <bit>
#include <vector>

namespace gpujoin::bench::legacy {

namespace {

constexpr uint32_t kSortThreads = 512;
constexpr uint32_t kChunk = 8192;  // tuples sorted on the chip: 64 KiB
constexpr uint32_t kSamples = 1024;
constexpr Tuple kLast = {~0u, ~0u};  // fills up to a power of two

// A run of tuples that a block sorts on the chip.
struct Chunk {
    const Tuple* from;
    Tuple* to;
    uint32_t rows;
};

// Row numbers break ties, so that what fills up a chunk stays behind every row.
__device__ bool is_after(Tuple a, Tuple b) {
    return a.x > b.x || (a.x == b.x && a.y > b.y);
}

__device__ void compare_exchange(Tuple& a, Tuple& b, bool ascending) {
    if (is_after(a, b) == ascending) {
        Tuple t = a;
        a = b;
        b = t;
    }
}

// Merges bitonic runs of `length` in shared memory from steps of `distance` on. `first` is the position of
// the shared tuples in the whole array, which decides the directions.
__device__ void merge_on_chip(Tuple* tuples, uint32_t size, uint64_t first, uint64_t length,
                              uint32_t distance) {
    for (; distance > 0; distance /= 2) {
        for (uint32_t i = threadIdx.x; i < size / 2; i += blockDim.x) {
            uint32_t low = 2 * i - (i & (distance - 1));
            compare_exchange(tuples[low], tuples[low + distance], ((first + low) & length) == 0);
        }
        __syncthreads();
    }
}

__global__ void sort_chunks(const Chunk* chunks) {
    extern __shared__ Tuple shared[];
    const Chunk chunk = chunks[blockIdx.x];
    uint32_t size = 2;
    while (size < chunk.rows) size *= 2;
    for (uint32_t i = threadIdx.x; i < size; i += blockDim.x)
        shared[i] = i < chunk.rows ? chunk.from[i] : kLast;
    __syncthreads();
    for (uint32_t length = 2; length <= size; length *= 2) merge_on_chip(shared, size, 0, length, length / 2);
    for (uint32_t i = threadIdx.x; i < chunk.rows; i += blockDim.x) chunk.to[i] = shared[i];
}

// Sorts runs of kChunk in alternating directions.
__global__ void sort_runs(Tuple* tuples) {
    extern __shared__ Tuple shared[];
    const uint64_t first = uint64_t{blockIdx.x} * kChunk;
    for (uint32_t i = threadIdx.x; i < kChunk; i += blockDim.x) shared[i] = tuples[first + i];
    __syncthreads();
    for (uint32_t length = 2; length <= kChunk; length *= 2)
        merge_on_chip(shared, kChunk, first, length, length / 2);
    for (uint32_t i = threadIdx.x; i < kChunk; i += blockDim.x) tuples[first + i] = shared[i];
}

__global__ void wide_step(Tuple* tuples, uint64_t length, uint64_t distance) {
    uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    uint64_t low = 2 * i - (i & (distance - 1));
    compare_exchange(tuples[low], tuples[low + distance], (low & length) == 0);
}

__global__ void narrow_steps(Tuple* tuples, uint64_t length) {
    extern __shared__ Tuple shared[];
    const uint64_t first = uint64_t{blockIdx.x} * kChunk;
    for (uint32_t i = threadIdx.x; i < kChunk; i += blockDim.x) shared[i] = tuples[first + i];
    __syncthreads();
    merge_on_chip(shared, kChunk, first, length, kChunk / 2);
    for (uint32_t i = threadIdx.x; i < kChunk; i += blockDim.x) tuples[first + i] = shared[i];
}

__global__ void pad(const Tuple* tuples, uint64_t rows, Tuple* padded, uint64_t size) {
    uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < size) padded[i] = i < rows ? tuples[i] : kLast;
}

// The pivots of a quicksort step, and the partition of a key by them.
struct Pivots {
    const uint32_t* pivots;  // [kFanout - 1], ascending
    __device__ uint32_t operator()(uint32_t key) const {
        uint32_t low = 0;
        for (uint32_t step = kFanout / 2; step > 0; step /= 2)
            if (pivots[low + step - 1] < key) low += step;
        return low;
    }
};

__global__ void sample_pivots(const Tuple* tuples, uint64_t rows, uint32_t* pivots) {
    __shared__ Tuple samples[kSamples];
    for (uint32_t i = threadIdx.x; i < kSamples; i += blockDim.x) samples[i] = tuples[i * rows / kSamples];
    __syncthreads();
    for (uint32_t length = 2; length <= kSamples; length *= 2)
        merge_on_chip(samples, kSamples, 0, length, length / 2);
    if (threadIdx.x < kFanout - 1) pivots[threadIdx.x] = samples[(threadIdx.x + 1) * kSamples / kFanout].x;
}

void allow_shared_memory() {
    constexpr int kBytes = kChunk * sizeof(Tuple);
    constexpr cudaFuncAttribute kAttribute = cudaFuncAttributeMaxDynamicSharedMemorySize;
    cuda_check(cudaFuncSetAttribute(sort_chunks, kAttribute, kBytes));
    cuda_check(cudaFuncSetAttribute(sort_runs, kAttribute, kBytes));
    cuda_check(cudaFuncSetAttribute(narrow_steps, kAttribute, kBytes));
}

// A quicksort under way: splits segments back and forth between two arrays, and collects what fits the chip.
class QuickSort {
  public:
    QuickSort(Tuple* result, Tuple* scratch) : arrays_{result, scratch} {}

    void sort(uint64_t rows) {
        split_segment(0, rows, 0);
        if (chunks_.empty()) return;
        DeviceArray<Chunk> chunks(chunks_.size());
        cuda_check(cudaMemcpy(chunks.data(), chunks_.data(), chunks_.size() * sizeof(Chunk),
                              cudaMemcpyHostToDevice));
        sort_chunks<<<static_cast<uint32_t>(chunks_.size()), kSortThreads, kChunk * sizeof(Tuple)>>>(
            chunks.data());
        cuda_check(cudaGetLastError());
    }

  private:
    // The segment lies in arrays_[side].
    void split_segment(uint64_t first, uint64_t rows, int side) {
        Tuple* from = arrays_[side] + first;
        if (rows <= kChunk) {
            if (rows > 0) chunks_.push_back({from, arrays_[0] + first, static_cast<uint32_t>(rows)});
            return;
        }
        DeviceArray<uint32_t> pivots(kFanout - 1);
        sample_pivots<<<1, kSortThreads>>>(from, rows, pivots.data());
        DeviceArray<uint32_t> offsets = split(from, rows, Pivots{pivots.data()}, arrays_[1 - side] + first);
        std::vector<uint32_t> starts(kFanout + 1, static_cast<uint32_t>(rows));
        cuda_check(cudaMemcpy2D(starts.data(), sizeof(uint32_t), offsets.data(),
                                offsets.size() / kFanout * sizeof(uint32_t), sizeof(uint32_t), kFanout,
                                cudaMemcpyDeviceToHost));
        for (uint32_t p = 0; p < kFanout; p++) {
            uint64_t part = starts[p + 1] - starts[p];
            if (part > kChunk && part > rows / 2)
                sort_unsplittable(first + starts[p], part, 1 - side);
            else
                split_segment(first + starts[p], part, 1 - side);
        }
    }

    void sort_unsplittable(uint64_t first, uint64_t rows, int side) {
        if (side != 0)
            cuda_check(cudaMemcpyAsync(arrays_[0] + first, arrays_[1] + first, rows * sizeof(Tuple),
                                       cudaMemcpyDeviceToDevice, nullptr));
        bitonic_sort(arrays_[0] + first, rows);
    }

    Tuple* arrays_[2];
    std::vector<Chunk> chunks_;
};

}  // namespace

void bitonic_sort(Tuple* tuples, uint64_t rows) {
    allow_shared_memory();
    const uint64_t size = std::max<uint64_t>(kChunk, std::bit_ceil(rows));
    const uint32_t chunks = block_count(size, kChunk);
    constexpr size_t kShared = kChunk * sizeof(Tuple);
    DeviceArray<Tuple> padded(size);
    pad<<<block_count(size, 256), 256>>>(tuples, rows, padded.data(), size);
    sort_runs<<<chunks, kSortThreads, kShared>>>(padded.data());
    for (uint64_t length = 2 * kChunk; length <= size; length *= 2) {
        for (uint64_t distance = length / 2; distance >= kChunk; distance /= 2)
            wide_step<<<block_count(size / 2, 256), 256>>>(padded.data(), length, distance);
        narrow_steps<<<chunks, kSortThreads, kShared>>>(padded.data(), length);
    }
    cuda_check(
        cudaMemcpyAsync(tuples, padded.data(), rows * sizeof(Tuple), cudaMemcpyDeviceToDevice, nullptr));
    cuda_check(cudaGetLastError());
}

void quick_sort(Tuple* tuples, Tuple* scratch, uint64_t rows) {
    allow_shared_memory();
    QuickSort(tuples, scratch).sort(rows);
}

}  // namespace gpujoin::bench::legacy
