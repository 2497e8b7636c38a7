// Choice between one table and partitions.
#include "cuda/radix_plan.h"

#include "cuda/radix_join.h"

namespace gpujoin {

namespace {

constexpr uint64_t kTableBytesPerRow = 16;     // of one table in device memory
constexpr uint32_t kMostBits = 16;             // two passes
constexpr uint64_t kBuildRowsPerProbeRow = 4;  // fewer probe rows do not pay for partitioning
constexpr uint64_t kMostRows = UINT32_MAX - 1;

}  // namespace

bool radix_pays(uint64_t build_rows, uint64_t batch_rows) {
    return batch_rows >= build_rows / kBuildRowsPerProbeRow && batch_rows <= kMostRows;
}

uint32_t plan_radix_bits(const JoinSpec& spec, const JoinPlan& plan, const KeyLayout& layout,
                         uint64_t build_rows, const DeviceFacts& device) {
    bool key_alone = plan.by_key && plan.range_column < 0 && plan.residual.empty() && !plan.filters;
    if (spec.order != OutputOrder::None || spec.kind != JoinKind::Inner || spec.client_decides || !key_alone)
        return 0;
    if (layout.bytes != sizeof(uint32_t) && layout.bytes != sizeof(uint64_t)) return 0;
    if (device.shared_bytes < radix_shared_bytes()) return 0;
    if (build_rows * kTableBytesPerRow < device.cache_bytes / 2) return 0;
    if (!radix_pays(build_rows, spec.estimated_probe_rows)) return 0;
    uint32_t bits = 1;
    while (bits < kMostBits && build_rows >> bits > radix_partition_rows(layout.bytes)) bits++;
    return bits;
}

}  // namespace gpujoin
