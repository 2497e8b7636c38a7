// Choice between one table and partitions.
#include "cuda/radix/radix_plan.h"

#include "cuda/radix/radix_join.h"
#include "engine/algorithm.h"

namespace gpujoin::cuda {

namespace {

constexpr uint64_t kTableBytesPerRow = 16;  // of one table in device memory
constexpr uint32_t kMostBits = 16;          // two passes

}  // namespace

uint32_t plan_radix_bits(const JoinSpec& spec, const JoinPlan& plan, const KeyLayout& layout,
                         uint64_t build_rows, const DeviceFacts& device) {
    if (plan.algorithm != Algorithm::Hash || !may_partition(spec)) return 0;
    if (layout.bytes != sizeof(uint32_t) && layout.bytes != sizeof(uint64_t)) return 0;
    if (device.shared_bytes < radix_shared_bytes()) return 0;
    if (build_rows * kTableBytesPerRow < device.cache_bytes / 2) return 0;
    if (!partitioning_pays(build_rows, spec.estimated_probe_rows)) return 0;
    uint32_t bits = 1;
    while (bits < kMostBits && build_rows >> bits > radix_partition_rows(layout.bytes)) bits++;
    return bits;
}

}  // namespace gpujoin::cuda
