// The CUDA engine: one device, opened once, and the list of devices.
#include "cuda/engine.h"

#include <algorithm>
#include <utility>

#include "cuda/work/check.h"
#include "cuda/device.h"
#include "cuda/fragment/device_place.h"
#include "cuda/kept/resident_reader.h"
#include "engine/guard.h"
#include "cuda/join.h"

namespace gpujoin::cuda {

namespace {

// A scan of kept rows keeps the device busy with so many batches at once, each of so many rows that it is
// worth its launches and waits; with several stages they take about so much of the joins' memory.
constexpr uint64_t kReadersOfScan = 8;
constexpr uint64_t kShareOfScan = 16;
constexpr uint64_t kBytesOfRow = 256;
constexpr uint64_t kFewestRows = 64u << 10;
constexpr uint64_t kMostRows = 2u << 20;

// Why there is no device to use, in words.
std::string reason(cudaError_t error) {
    switch (error) {
        case cudaErrorInsufficientDriver:
            return why_driver_is_insufficient(cuda_versions());
        case cudaErrorNoDevice:
            return "no CUDA device is visible";
        default:
            return cudaGetErrorString(error);
    }
}

Status count_devices(int* count) {
    *count = 0;
    cudaError_t error = cudaGetDeviceCount(count);
    if (error == cudaSuccess && *count == 0) error = cudaErrorNoDevice;
    if (error == cudaSuccess) return {};
    cudaGetLastError();
    return failure(Fault::Error, "58000", "no CUDA device can be used: %s", reason(error).c_str());
}

KeptMeasure measure_within(uint64_t memory) {
    const uint64_t rows = memory / kShareOfScan / kReadersOfScan / kBytesOfRow;
    return {kReadersOfScan, static_cast<uint32_t>(std::clamp(rows, kFewestRows, kMostRows))};
}

class CudaEngine : public Engine {
  public:
    CudaEngine(int device, uint64_t memory_limit)
        : join_memory_(memory_limit), device_(device, memory_limit) {}

    Status start() { return device_.open(); }

    Status open(const JoinSpec& spec, const Limits& limits, std::unique_ptr<Join>* join) override {
        return guarded([&]() -> Status {
            *join = std::make_unique<CudaJoin>(&device_, spec, limits);
            return {};
        });
    }

    Status open_fragment(const FragmentView& fragment, const Limits& limits,
                         std::unique_ptr<Fragment>* opened) override {
        if (fragment.is_plain_join()) return Engine::open_fragment(fragment, limits, opened);
        return guarded([&] {
            return open_fragment_in(*this, make_device_place(&device_, limits), fragment, limits, opened);
        });
    }

    KeptMeasure kept_measure() const override { return measure_within(join_memory_); }

    std::unique_ptr<KeptReader> read_kept(const KeptScan& scan, KeptPosition& position,
                                          std::span<const ColumnSpec> source, uint32_t most_rows,
                                          const Limits& limits) override {
        return make_resident_reader(&device_, scan, position, source, most_rows, limits);
    }

    KeptMeasure kept_build_measure(const Limits& limits) const override {
        return measure_within(std::min(join_memory_, limits.device_memory->limit()));
    }

    std::unique_ptr<KeptBuildReader> read_kept_build(const KeptScan& scan, KeptPosition& position,
                                                     std::span<const ColumnSpec> build, uint32_t most_rows,
                                                     const Limits& limits) override {
        return make_resident_reader(&device_, scan, position, build, most_rows, limits);
    }

    Status pin(std::byte* memory, uint64_t bytes) override {
        GPUJOIN_RETURN_IF_FAILED(device_.use());
        cudaError_t error = cudaHostRegister(memory, bytes, cudaHostRegisterPortable);
        if (error == cudaErrorHostMemoryAlreadyRegistered) {  // by the engine of another device
            cudaGetLastError();
            return {};
        }
        return cuda_status(error, "cudaHostRegister");
    }

    DeviceDescription describe() const override {
        DeviceDescription description;
        Status status = device_.use();
        if (status.ok()) status = describe_device(device_.number(), &description);
        size_t free_memory = 0;
        size_t total = 0;
        if (status.ok()) status = cuda_status(cudaMemGetInfo(&free_memory, &total), "cudaMemGetInfo");
        description.free_memory = free_memory;
        description.join_memory = join_memory_;
        if (!status.ok()) description.state = status.message;
        return description;
    }

  private:
    const uint64_t join_memory_;
    Device device_;
};

}  // namespace

}  // namespace gpujoin::cuda

namespace gpujoin {

Status make_cuda_engine(int device, uint64_t device_memory, std::unique_ptr<Engine>* engine) {
    return guarded([&]() -> Status {
        int count = 0;
        GPUJOIN_RETURN_IF_FAILED(cuda::count_devices(&count));
        if (device < 0 || device >= count)
            return failure(Fault::Error, "58000", "CUDA device %d does not exist", device)
                .with_detail("This machine has %d CUDA devices.", count);
        GPUJOIN_CHECK_CUDA(cudaSetDevice(device));
        size_t free_memory = 0;
        size_t total = 0;
        GPUJOIN_CHECK_CUDA(cudaMemGetInfo(&free_memory, &total));
        uint64_t limit = device_memory ? std::min<uint64_t>(device_memory, total) : free_memory / 5 * 4;
        auto made = std::make_unique<cuda::CudaEngine>(device, limit);
        GPUJOIN_RETURN_IF_FAILED(made->start());
        *engine = std::move(made);
        return {};
    });
}

CudaVersions cuda_versions() {
    CudaVersions versions{0, CUDART_VERSION};
    if (cudaDriverGetVersion(&versions.driver) != cudaSuccess) versions.driver = 0;
    cudaGetLastError();
    return versions;
}

std::vector<DeviceDescription> list_cuda_devices(std::string* why_none) {
    std::vector<DeviceDescription> devices;
    int count = 0;
    Status status = cuda::count_devices(&count);
    if (why_none) *why_none = status.message;
    for (int number = 0; number < count; number++) {
        DeviceDescription description;
        Status described = cuda::describe_device(number, &description);
        if (!described.ok()) description.state = described.message;
        devices.push_back(std::move(description));
    }
    return devices;
}

}  // namespace gpujoin
