// A CUDA device for the benchmark.
#include "device.h"

#include <chrono>

#include "cuda/engine.h"
#include "legacy_join.cuh"
#include "place_device.cuh"
#include "primitives.cuh"

namespace gpujoin::bench {

namespace {

// Joins may take this share of the device's memory; the rest is for inputs, results and the oracle.
constexpr double kEngineShare = 0.55;

Buffer allocate_pinned(uint64_t bytes) {
    std::byte* memory = nullptr;
    cuda_check(cudaMallocHost(&memory, std::max<uint64_t>(bytes, 1)));
    return Buffer(memory, [](std::byte* address) { cudaFreeHost(address); });
}

// Bytes per second of the best of several calls of copy(), which moves `bytes`: limits are what is possible,
// and the first copies of a process, or beside other programs, take up to twice as long.
template <typename Copy>
double bandwidth(double bytes, const Copy& copy) {
    double best = 0;
    for (int i = 0; i < 8; i++) {
        cuda_check(cudaDeviceSynchronize());
        auto start = std::chrono::steady_clock::now();
        copy();
        cuda_check(cudaDeviceSynchronize());
        std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        best = std::max(best, bytes / seconds.count());
    }
    return best;
}

class Stream {
  public:
    Stream() { cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    ~Stream() { cudaStreamDestroy(stream_); }
    Stream(const Stream&) = delete;
    operator cudaStream_t() const { return stream_; }

  private:
    cudaStream_t stream_ = nullptr;
};

double instructions_per_second() {
    constexpr double kIssuedPerClock = 4 * 32;  // by a multiprocessor of any kind since Volta
    int device = 0, multiprocessors = 0, kilohertz = 0;
    cuda_check(cudaGetDevice(&device));
    cuda_check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    cuda_check(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, device));
    return kIssuedPerClock * multiprocessors * kilohertz * 1e3;
}

Bandwidths measure_bandwidths() {
    constexpr size_t kBytes = size_t{1} << 30, kHostBytes = size_t{256} << 20;
    DeviceArray<std::byte> from(kBytes), to(kBytes);
    Buffer in = allocate_pinned(kHostBytes), out = allocate_pinned(kHostBytes);
    Stream up, down;
    auto copy_in = [&] {
        cuda_check(cudaMemcpyAsync(to.data(), in.get(), kHostBytes, cudaMemcpyHostToDevice, up));
    };
    Bandwidths measured;
    measured.memory = bandwidth(2.0 * kBytes, [&] {
        cuda_check(cudaMemcpyAsync(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice, up));
    });
    measured.writes = bandwidth(2.0 * kBytes, [&] {
        cuda_check(cudaMemsetAsync(from.data(), 0, kBytes, up));
        cuda_check(cudaMemsetAsync(to.data(), 0, kBytes, up));
    });
    measured.to_device = bandwidth(kHostBytes, copy_in);
    measured.both_ways = bandwidth(2.0 * kHostBytes, [&] {
        copy_in();
        cuda_check(cudaMemcpyAsync(out.get(), from.data(), kHostBytes, cudaMemcpyDeviceToHost, down));
    });
    measured.instructions = instructions_per_second();
    return measured;
}

class CudaDevice final : public Device {
  public:
    explicit CudaDevice(std::unique_ptr<Engine> engine)
        : engine_(std::move(engine)), pinned_(make_pinned_place(allocate_pinned)) {
        keep_pool_memory();
        bandwidths_ = measure_bandwidths();
    }

    std::string name() const override { return engine_->describe().name; }
    Place& memory() override { return memory_; }
    Place& pinned_memory() override { return *pinned_; }
    Engine& engine() override { return *engine_; }
    Bandwidths bandwidths() const override { return bandwidths_; }

    bool has_legacy(const Workload& workload, Algorithm algorithm) const override {
        return legacy::supports(workload, algorithm);
    }

    Outcome run_legacy(const Workload& workload, Algorithm algorithm, const Inputs& inputs) override {
        Outcome outcome;
        cuda_check(cudaDeviceSynchronize());
        auto start = std::chrono::steady_clock::now();
        legacy::Pairs pairs = legacy::join(workload, algorithm, inputs);
        cuda_check(cudaDeviceSynchronize());
        outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        outcome.seal.algorithm = algorithm;
        outcome.checked = true;
        ResultRow row{reinterpret_cast<const std::byte*>(pairs.probe.data()),
                      reinterpret_cast<const std::byte*>(pairs.build.data()), 4, 4, 0};
        outcome.check = memory_.check(row, pairs.probe.size());
        return outcome;
    }

    bool has_primitive(Primitive primitive, DevicePrimitive version) const override {
        if (version == DevicePrimitive::LegacyQuickSort) return primitive == Primitive::Sort;
        return version == DevicePrimitive::Library || has_legacy_primitive(primitive);
    }

    void run_primitive(Primitive primitive, DevicePrimitive version, const PrimitiveArrays& arrays) override {
        if (version == DevicePrimitive::Library)
            run_device_primitive(primitive, arrays);
        else
            run_legacy_primitive(primitive, version == DevicePrimitive::LegacyQuickSort, arrays);
        cuda_check(cudaDeviceSynchronize());
    }

  private:
    // Without this the default pool gives its memory back at every synchronisation.
    static void keep_pool_memory() {
        int device = 0;
        cudaMemPool_t pool;
        uint64_t threshold = uint64_t{16} << 30;
        cuda_check(cudaGetDevice(&device));
        cuda_check(cudaDeviceGetDefaultMemPool(&pool, device));
        cuda_check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    }

    std::unique_ptr<Engine> engine_;
    DevicePlace memory_;
    std::unique_ptr<Place> pinned_;
    Bandwidths bandwidths_;
};

}  // namespace

std::unique_ptr<Device> open_device(int number, std::string* why_not) {
    std::vector<DeviceDescription> devices = list_cuda_devices(why_not);
    if (number < 0 || static_cast<size_t>(number) >= devices.size()) {
        if (why_not->empty()) *why_not = "there is no device of this number";
        return nullptr;
    }
    std::unique_ptr<Engine> engine;
    cuda_check(cudaSetDevice(number));
    uint64_t memory = static_cast<uint64_t>(kEngineShare * static_cast<double>(devices[number].memory));
    Status status = make_cuda_engine(number, memory, &engine);
    if (!status.ok()) {
        *why_not = status.message;
        return nullptr;
    }
    return std::make_unique<CudaDevice>(std::move(engine));
}

}  // namespace gpujoin::bench
