// See cuda_radix_engine.h.
#include "cuda_radix_engine.h"

#include "engine_harness.h"

#ifdef GPUJOIN_TEST_CUDA
#include "cuda/device.h"
#include "cuda/join.h"

namespace gpujoin::test {

using namespace cuda;
namespace {

class CudaRadixEngine final : public Engine {
  public:
    Status start() { return device_.open(); }
    Status open(const JoinSpec& spec, const Limits& limits, std::unique_ptr<Join>* join) override {
        *join = std::make_unique<CudaJoin>(&device_, spec, limits);
        return {};
    }
    Status pin(std::byte*, uint64_t) override { return {}; }
    DeviceDescription describe() const override { return {}; }

  private:
    static constexpr uint64_t kCacheBytes = 32;  // less than a table of two rows
    Device device_{0, uint64_t{4} << 30, kCacheBytes};
};

}  // namespace

Status make_cuda_radix_engine(std::unique_ptr<Engine>* engine) {
    std::string why_none;
    if (list_cuda_devices(&why_none).empty()) return failure(Fault::Error, "58000", "%s", why_none.c_str());
    GPUJOIN_CHECK_CUDA(cudaSetDevice(0));
    auto made = std::make_unique<CudaRadixEngine>();
    GPUJOIN_RETURN_IF_FAILED(made->start());
    *engine = std::move(made);
    return {};
}

}  // namespace gpujoin::test
#endif
