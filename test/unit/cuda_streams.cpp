// The pool of streams: urgent ones have a higher priority than ordinary ones, and neither is given out as the
// other, however often they come back.
#include "engine_harness.h"

#ifdef GPUJOIN_TEST_CUDA
#include <cuda_runtime.h>

#include "cuda/work/stream.h"
#include "cuda/work/work_size.h"

namespace gpujoin::test {

using namespace cuda;
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

// What is tested is pairs where nothing but a filter joins, and rows where keys find candidates.
TEST(WorkSize, SmallWorkIsThatOfAFewMilliseconds) {
    constexpr uint64_t kMillion = 1'000'000;
    JoinPlan by_key;
    by_key.by_key = true;
    EXPECT_TRUE(size_of_probe(by_key, 65'536, kMillion, true).is_small());
    by_key.filters = true;
    EXPECT_TRUE(size_of_probe(by_key, 65'536, kMillion, true).is_small()) << "a condition more";
    EXPECT_TRUE(size_of_probe(by_key, 65'536, 100 * kMillion, true).is_small());
    EXPECT_FALSE(size_of_probe(by_key, 65'536, 100 * kMillion, false).is_small()) << "it is made first";
    JoinPlan merge;
    merge.merge = true;
    EXPECT_TRUE(size_of_probe(merge, 65'536, kMillion, true).is_small());
    EXPECT_FALSE(size_of_probe(merge, 65'536, 100 * kMillion, true).is_small());
    JoinPlan filter;
    filter.filters = true;
    EXPECT_TRUE(size_of_probe(filter, 1'000, 1'000, true).is_small());
    EXPECT_FALSE(size_of_probe(filter, 65'536, kMillion, true).is_small());
    EXPECT_FALSE((WorkSize{100 * kMillion}.is_small())) << "a seal";
}

INSTANTIATE_TEST_SUITE_P(Engines, CudaStreamsTest, testing::Values("cuda"),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace gpujoin::test
#endif
