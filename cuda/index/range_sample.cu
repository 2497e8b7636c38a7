// Reading samples.
#include "cuda/index/range_sample.h"

#include "cuda/work/launch.cuh"

namespace gpujoin::cuda {

namespace {

Status read_keys(const WorkContext& context, DeviceColumn column, uint64_t step,
                 std::vector<SampledKey>* keys) {
    DeviceArray<SampledKey> found;
    GPUJOIN_RETURN_IF_FAILED(found.allocate(context.account, keys->size(), context.handle()));
    SampledKey* to = found.data();
    GPUJOIN_RETURN_IF_FAILED(for_each(context.handle(), keys->size(), [=] __device__(uint64_t i) {
        uint64_t row = i * step;
        bool valid = column.is_valid(row);
        to[i] = {valid ? order_key(column.spec, column.value(row)) : 0, valid};
    }));
    return context.transfer.download(context.handle(), keys->data(), to, keys->size() * sizeof(SampledKey),
                                     Memory::Host);
}

}  // namespace

SampledSide sampled_side(const WorkContext& context, const DeviceColumn* columns, uint64_t rows) {
    return {rows, [&context, columns](uint16_t column, uint64_t step, std::vector<SampledKey>* keys) {
                return read_keys(context, columns[column], step, keys);
            }};
}

}  // namespace gpujoin::cuda
