// Opening and describing a device.
#include "cuda/device.h"

namespace gpujoin::cuda {

namespace {

__global__ void do_nothing() {}

}  // namespace

Status Device::open() {
    cudaFuncAttributes attributes;
    GPUJOIN_CHECK_CUDA(cudaFuncGetAttributes(&attributes, do_nothing));  // fails without code for this device
    DeviceDescription description;
    GPUJOIN_RETURN_IF_FAILED(describe_device(number_, &description));
    name_ = description.name;
    GPUJOIN_RETURN_IF_FAILED(find_facts());
    GPUJOIN_RETURN_IF_FAILED(pool_.open());
    GPUJOIN_RETURN_IF_FAILED(streams_.open());
    return transfer_.open();
}

Status Device::find_facts() {
    int cache = 0;
    int shared = 0;
    GPUJOIN_CHECK_CUDA(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, number_));
    GPUJOIN_CHECK_CUDA(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, number_));
    facts_ = {cache_bytes_ ? cache_bytes_ : static_cast<uint64_t>(cache), static_cast<uint64_t>(shared)};
    return {};
}

Status describe_device(int number, DeviceDescription* description) {
    description->engine = "cuda";
    description->number = number;
    cudaDeviceProp properties;
    GPUJOIN_CHECK_CUDA(cudaGetDeviceProperties(&properties, number));
    description->name = properties.name;
    description->memory = properties.totalGlobalMem;
    description->processors = static_cast<uint32_t>(properties.multiProcessorCount);
    description->capability = properties.major * 10 + properties.minor;
    description->state = "ready";
    int pools = 0;
    GPUJOIN_CHECK_CUDA(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, number));
    if (description->capability < 75) description->state = "compute capability is below 7.5";
    if (!pools) description->state = "the device has no memory pools";
    return {};
}

}  // namespace gpujoin::cuda
