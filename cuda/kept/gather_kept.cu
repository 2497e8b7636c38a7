// Kernels over kept rows.
#include "cuda/kept/gather_kept.h"

#include <thrust/iterator/counting_iterator.h>

#include <algorithm>
#include <cub/device/device_select.cuh>

#include "cuda/columns/gather_bytes.cuh"
#include "cuda/work/with_temporary.cuh"

namespace gpujoin::cuda {

namespace {

// Columns of one launch: as many as fit into a kernel's parameters.
constexpr uint32_t kColumnsAtOnce = 64;

struct PassingRows {
    KeptBatch batch;
    GPUJOIN_HD bool operator()(uint32_t row) const { return batch.passes(row); }
};

__device__ void write_integer(int64_t value, const KeptTarget& target, uint32_t to) {
    switch (target.type) {
        case ColumnType::Fixed1:
            reinterpret_cast<uint8_t*>(target.values)[to] = static_cast<uint8_t>(value);
            break;
        case ColumnType::Fixed2:
            reinterpret_cast<uint16_t*>(target.values)[to] = static_cast<uint16_t>(value);
            break;
        case ColumnType::Fixed4:
            reinterpret_cast<uint32_t*>(target.values)[to] = static_cast<uint32_t>(value);
            break;
        default:
            reinterpret_cast<uint64_t*>(target.values)[to] = static_cast<uint64_t>(value);
            break;
    }
}

// A warp has some words of 32 rows of a column, whose validity is a word each. Most lie in one stretch, which
// it asks about once.
struct GatherKept {
    static constexpr uint32_t kWords = 4;

    KeptBatch batch;
    const uint32_t* list;
    uint32_t rows;
    uint32_t units;  // of a column
    KeptTarget targets[kColumnsAtOnce];

    __device__ void operator()(const Warp&, uint64_t unit) const {
        const KeptTarget& target = targets[unit / units];
        const auto word = static_cast<uint32_t>(unit % units) * kWords;
        const uint32_t first = word * Warp::kThreads;
        const uint32_t last = min(rows, first + kWords * Warp::kThreads) - 1;
        const uint32_t stretch = batch.stretch_of(row_of(first));
        if (row_of(last) < batch.stretches[stretch].end)
            gather(target, word, stretch);
        else
            gather(target, word);
    }

  private:
    __device__ uint32_t row_of(uint32_t i) const { return list ? list[i] : i; }

    // Rows of one stretch.
    __device__ void gather(const KeptTarget& target, uint32_t word, uint32_t stretch) const {
        const KeptColumn column = batch.column(stretch, target.column);
        // Wraps around where the batch has rows of an earlier stretch.
        const uint64_t shift = batch.stretches[stretch].row - batch.stretches[stretch].first;
#pragma unroll
        for (uint32_t k = 0; k < kWords; k++) {
            const uint32_t i = (word + k) * Warp::kThreads + (threadIdx.x & 31);
            const bool is_valid = i < rows && copy(target, column, shift + row_of(i), i);
            write_validity(target, word + k, is_valid);
        }
    }
    __device__ void gather(const KeptTarget& target, uint32_t word) const {
        for (uint32_t k = 0; k < kWords; k++) {
            const uint32_t i = (word + k) * Warp::kThreads + (threadIdx.x & 31);
            bool is_valid = false;
            if (i < rows) {
                const uint32_t row = row_of(i);
                const uint32_t stretch = batch.stretch_of(row);
                is_valid =
                    copy(target, batch.column(stretch, target.column), batch.row_of_chunk(stretch, row), i);
            }
            write_validity(target, word + k, is_valid);
        }
    }
    // Whether it is no NULL.
    __device__ static bool copy(const KeptTarget& target, const KeptColumn& column, uint64_t from,
                                uint32_t to) {
        const bool is_valid = column.is_valid(from);
        if (target.type == ColumnType::Fixed16)
            reinterpret_cast<Key16*>(target.values)[to] = column.as<Key16>()[from];
        else if (target.values)
            write_integer(is_valid ? column.integer(from) : 0, target, to);
        return is_valid;
    }
    __device__ void write_validity(const KeptTarget& target, uint32_t word, bool is_valid) const {
        if (!target.validity) return;
        const uint32_t bits = __ballot_sync(0xffffffff, is_valid);
        if ((threadIdx.x & 31) == 0 && word * Warp::kThreads < rows) target.validity[word] = bits;
    }
};

}  // namespace

Status select_kept(const WorkContext& context, const KeptBatch& batch, uint32_t rows, uint32_t* list,
                   uint32_t* selected) {
    DeviceArray<uint32_t> count;
    GPUJOIN_RETURN_IF_FAILED(count.allocate(context.account, 1, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(
        with_temporary(context.account, context.handle(), [&](void* temporary, size_t& bytes) {
            return cub::DeviceSelect::If(temporary, bytes, thrust::counting_iterator<uint32_t>(0), list,
                                         count.data(), rows, PassingRows{batch}, context.handle());
        }));
    return read_back(context, count.data(), selected);
}

Status gather_kept(const WorkContext& context, const KeptBatch& batch, std::span<const KeptTarget> targets,
                   const uint32_t* list, uint32_t rows) {
    if (rows == 0) return {};
    for (size_t first = 0; first < targets.size(); first += kColumnsAtOnce) {
        constexpr uint32_t kUnitRows = GatherKept::kWords * Warp::kThreads;
        GatherKept gather{batch, list, rows, (rows + kUnitRows - 1) / kUnitRows, {}};
        const size_t columns = std::min<size_t>(kColumnsAtOnce, targets.size() - first);
        std::copy_n(targets.begin() + static_cast<ptrdiff_t>(first), columns, gather.targets);
        GPUJOIN_RETURN_IF_FAILED(for_each_warp(context.handle(), columns * gather.units, gather));
    }
    return {};
}

Status find_kept_starts(const WorkContext& context, const KeptBatch& batch, uint16_t column,
                        const uint32_t* list, uint32_t rows, uint64_t* starts) {
    return find_starts(context, rows, starts, [=] __device__(uint64_t i) -> uint64_t {
        const uint32_t row = list ? list[i] : static_cast<uint32_t>(i);
        const uint32_t stretch = batch.stretch_of(row);
        const KeptColumn& from = batch.column(stretch, column);
        return from.length(from.entry(batch.row_of_chunk(stretch, row)));
    });
}

Status gather_kept_bytes(const WorkContext& context, const KeptBatch& batch, uint16_t column,
                         const uint32_t* list, uint32_t rows, const uint64_t* starts, uint64_t data_bytes,
                         uint32_t* offsets, std::byte* data) {
    GPUJOIN_RETURN_IF_FAILED(copy_starts(context, rows, starts, offsets));
    return gather_bytes(context, rows, starts, data_bytes, data, [=] __device__(uint64_t i) {
        const uint32_t row = list ? list[i] : static_cast<uint32_t>(i);
        const uint32_t stretch = batch.stretch_of(row);
        const KeptColumn& from = batch.column(stretch, column);
        return from.data + from.start(from.entry(batch.row_of_chunk(stretch, row)));
    });
}

}  // namespace gpujoin::cuda
