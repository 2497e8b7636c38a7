// The pool of streams: urgent ones have a higher priority than ordinary ones, and neither is given out as the
// other, however often they come back.
#include "engine_harness.h"

#ifdef GPUJOIN_TEST_CUDA
#include <cuda_runtime.h>

#include "cuda/stream.h"

namespace gpujoin::test {
namespace {

class CudaStreamsTest : public EngineTest {
  protected:
    // The device's name for the priority of a stream that is asked for as such; less is more urgent.
    int level_of(Priority priority) {
        StreamLease stream;
        EXPECT_OK(stream.acquire(&pool_, priority));
        int level = 0;
        EXPECT_EQ(cudaStreamGetPriority(stream.handle(), &level), cudaSuccess);
        return level;
    }

    StreamPool pool_;
};

TEST_P(CudaStreamsTest, PrioritiesDoNotMix) {
    ASSERT_OK(pool_.open());
    const int ordinary = level_of(Priority::Ordinary), urgent = level_of(Priority::Urgent);
    EXPECT_LT(urgent, ordinary);
    std::vector<StreamLease> held;
    for (int i = 0; i < 100; i++) {
        const Priority priority = i % 3 ? Priority::Ordinary : Priority::Urgent;
        EXPECT_EQ(level_of(priority), i % 3 ? ordinary : urgent);
        EXPECT_OK(held.emplace_back().acquire(&pool_, priority));
    }
}

INSTANTIATE_TEST_SUITE_P(Engines, CudaStreamsTest, testing::Values("cuda"),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace gpujoin::test
#endif
