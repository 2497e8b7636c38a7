// Gathering of values of any length, by prefetching a small group of them before they are copied, and of
// validity bits.
#include "engine/cpu/columns/gather.h"

#include <algorithm>

#include "engine/cpu/columns/copy_value.h"

namespace gpujoin::cpu {

namespace {

constexpr uint32_t kGatheredAtOnce = 64;

}  // namespace

void gather_bytes(const ColumnSource& source, const uint32_t* rows, uint64_t count, uint32_t* offsets,
                  std::byte* data) {
    const std::byte* from[kGatheredAtOnce];
    uint64_t starts[kGatheredAtOnce + 1];
    uint64_t next = 0;
    offsets[0] = 0;
    for (uint64_t group = 0; group < count; group += kGatheredAtOnce) {
        uint32_t group_rows = static_cast<uint32_t>(std::min<uint64_t>(kGatheredAtOnce, count - group));
        for (uint32_t i = 0; i < group_rows; i++) {
            uint32_t row = rows[group + i];
            uint64_t start = row == kNoRow ? 0 : source.offset(row);
            from[i] = source.data + start;
            __builtin_prefetch(from[i]);
            starts[i] = next;
            next += length_at(source, row);
            offsets[group + i + 1] = static_cast<uint32_t>(next);
        }
        starts[group_rows] = next;
        const std::byte* const end = source.data + source.data_bytes;
        for (uint32_t i = 0; i < group_rows; i++)
            copy_value(from[i], starts[i + 1] - starts[i], end - from[i],
                       static_cast<int64_t>(next - starts[i]), data + starts[i]);
    }
}

bool gather_validity(const ColumnSource& source, const uint32_t* rows, uint64_t count, bool may_lack_row,
                     std::byte* out) {
    if (!may_lack_row && !source.has_nulls()) return false;
    uint8_t* bits = reinterpret_cast<uint8_t*>(out);
    bool any_null = false;
    for (uint64_t first = 0; first < count; first += 8) {
        uint32_t valid = 0;
        uint64_t end = std::min(count - first, uint64_t{8});
        for (uint32_t i = 0; i < end; i++) {
            uint32_t row = rows[first + i];
            valid |= static_cast<uint32_t>(row != kNoRow && !source.is_null(row)) << i;
        }
        any_null |= valid != (1u << end) - 1;
        bits[first / 8] = static_cast<uint8_t>(valid);
    }
    return any_null;
}

}  // namespace gpujoin::cpu
