// Uploading a small vector again, of the same size as ever: once that has worked, there is no want of memory.
#pragma once

#include "cuda/work/work.h"

namespace gpujoin::cuda {

template <typename T>
Status renew_vector(const WorkContext& context, const std::vector<T>& values, DeviceArray<T>* array) {
    GPUJOIN_RETURN_IF_FAILED(array->reserve(context.account, values.size(), context.handle()));
    return context.transfer.upload(context.handle(), array->data(), values.data(), values.size() * sizeof(T),
                                   Memory::Host);
}

}  // namespace gpujoin::cuda
