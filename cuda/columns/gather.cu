// Gather kernels.
#include "cuda/columns/gather.h"

#include "cuda/columns/gather_bytes.cuh"
#include "cuda/work/launch.cuh"

namespace gpujoin::cuda {

namespace {

__device__ bool present(const DeviceColumn& source, uint32_t row) {
    return row != kNoRow && source.is_valid(row);
}

template <typename T>
Status gather_as(const WorkContext& context, const DeviceColumn& source, const uint32_t* rows, uint64_t count,
                 std::byte* values) {
    auto* from = reinterpret_cast<const T*>(source.values);
    auto* to = reinterpret_cast<T*>(values);
    return for_each(context.handle(), count, [=] __device__(uint64_t i) {
        uint32_t row = rows[i];
        to[i] = present(source, row) ? from[row] : T{};
    });
}

}  // namespace

Status gather_fixed(const WorkContext& context, const DeviceColumn& source, const uint32_t* rows,
                    uint64_t count, std::byte* values) {
    switch (source.width) {
        case 1:
            return gather_as<uint8_t>(context, source, rows, count, values);
        case 2:
            return gather_as<uint16_t>(context, source, rows, count, values);
        case 4:
            return gather_as<uint32_t>(context, source, rows, count, values);
        case 8:
            return gather_as<uint64_t>(context, source, rows, count, values);
        default:
            return gather_as<Key16>(context, source, rows, count, values);
    }
}

Status gather_validity(const WorkContext& context, const DeviceColumn& source, const uint32_t* rows,
                       uint64_t count, std::byte* validity) {
    return for_each(context.handle(), validity_bytes(count), [=] __device__(uint64_t i) {
        uint64_t first = 8 * i;
        uint64_t in_byte = count - first < 8 ? count - first : 8;
        uint32_t bits = 0;
        for (uint32_t j = 0; j < in_byte; j++)
            bits |= static_cast<uint32_t>(present(source, rows[first + j])) << j;
        validity[i] = static_cast<std::byte>(bits);
    });
}

Status gather_lengths(const WorkContext& context, const DeviceColumn& source, const uint32_t* rows,
                      uint64_t count, uint64_t* lengths) {
    return for_each(context.handle(), count + 1, [=] __device__(uint64_t i) {
        lengths[i] = i < count && present(source, rows[i]) ? source.lengths[rows[i]] : 0;
    });
}

Status gather_bytes(const WorkContext& context, const DeviceColumn& source, const uint32_t* rows,
                    const uint64_t* starts, uint64_t count, uint64_t data_bytes, std::byte* offsets,
                    std::byte* data) {
    GPUJOIN_RETURN_IF_FAILED(copy_starts(context, count, starts, reinterpret_cast<uint32_t*>(offsets)));
    return gather_bytes(context, count, starts, data_bytes, data,
                        [=] __device__(uint64_t i) { return source.addresses[rows[i]]; });
}

Status widen_rows(const WorkContext& context, const uint32_t* rows, uint64_t count, std::byte* target) {
    auto* to = reinterpret_cast<uint64_t*>(target);
    return for_each(context.handle(), count,
                    [=] __device__(uint64_t i) { to[i] = rows[i] == kNoRow ? kNoBuildRow : rows[i]; });
}

}  // namespace gpujoin::cuda
