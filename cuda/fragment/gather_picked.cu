// Gather kernels for picked columns. A warp has 32 rows of a column, whose validity is a word.
#include "cuda/fragment/gather_picked.h"

#include <algorithm>

#include "cuda/columns/gather_bytes.cuh"
#include "cuda/work/launch.cuh"

namespace gpujoin::cuda {

namespace {

// Columns of one launch: as many as fit into a kernel's parameters.
constexpr uint32_t kColumnsAtOnce = 32;

template <typename T>
__device__ void copy_value(const PickedTarget& target, uint64_t from, uint64_t to, bool is_null) {
    reinterpret_cast<T*>(target.values)[to] =
        is_null ? T{} : reinterpret_cast<const T*>(target.from.values)[from];
}

__device__ void copy_value(const PickedTarget& target, uint64_t from, uint64_t to, bool is_null) {
    switch (target.from.width) {
        case 1:
            return copy_value<uint8_t>(target, from, to, is_null);
        case 2:
            return copy_value<uint16_t>(target, from, to, is_null);
        case 4:
            return copy_value<uint32_t>(target, from, to, is_null);
        case 8:
            return copy_value<uint64_t>(target, from, to, is_null);
        default:
            return copy_value<Key16>(target, from, to, is_null);
    }
}

struct GatherColumns {
    PickedTarget targets[kColumnsAtOnce];
    RowChoice choice;
    uint64_t rows;
    uint64_t words;

    __device__ void operator()(const Warp&, uint64_t unit) const {
        const PickedTarget& target = targets[unit / words];
        const uint64_t word = unit % words;
        const uint64_t i = word * Warp::kThreads + (threadIdx.x & 31);
        bool is_valid = false;
        if (i < rows) {
            const uint64_t row = target.from.row(choice(i));
            is_valid = !target.from.is_null(row);
            if (target.values) copy_value(target, row, i, !is_valid);
            if (target.null_flags) target.null_flags[i] = !is_valid;
        }
        const uint32_t bits = __ballot_sync(0xffffffff, is_valid);
        if (target.validity && (threadIdx.x & 31) == 0) target.validity[word] = bits;
    }
};

}  // namespace

Status gather_picked(const WorkContext& context, std::span<const PickedTarget> targets, RowChoice choice,
                     uint64_t rows) {
    if (rows == 0) return {};
    for (size_t first = 0; first < targets.size(); first += kColumnsAtOnce) {
        GatherColumns gather{{}, choice, rows, (rows + Warp::kThreads - 1) / Warp::kThreads};
        const size_t columns = std::min<size_t>(kColumnsAtOnce, targets.size() - first);
        std::copy_n(targets.begin() + static_cast<ptrdiff_t>(first), columns, gather.targets);
        GPUJOIN_RETURN_IF_FAILED(for_each_warp(context.handle(), columns * gather.words, gather));
    }
    return {};
}

Status find_picked_starts(const WorkContext& context, const PickedView& column, RowChoice choice,
                          uint64_t rows, uint64_t* starts) {
    return find_starts(context, rows, starts, [=] __device__(uint64_t i) -> uint64_t {
        const uint64_t row = column.row(choice(i));
        return column.is_null(row) ? 0 : column.value(row).bytes;
    });
}

Status gather_picked_bytes(const WorkContext& context, const PickedView& column, RowChoice choice,
                           uint64_t rows, const uint64_t* starts, uint64_t data_bytes, uint32_t* offsets,
                           std::byte* data) {
    if (offsets) GPUJOIN_RETURN_IF_FAILED(copy_starts(context, rows, starts, offsets));
    return gather_bytes(context, rows, starts, data_bytes, data,
                        [=] __device__(uint64_t i) { return column.value(column.row(choice(i))).data; });
}

}  // namespace gpujoin::cuda
