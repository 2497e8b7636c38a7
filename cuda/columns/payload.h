// What rides along with a key while rows are sorted or partitioned by it: the row number, or the value of a
// column where a join gives back just that one column of a side. Then nothing has to be gathered by row at
// the end.
#pragma once

#include <cstdint>

#include "cuda/columns/column_view.cuh"

namespace gpujoin::cuda {

// values: 4 or 8 bytes a row on the device; null: the row number, 4 bytes.
struct PayloadSource {
    const std::byte* values = nullptr;
    uint32_t bytes = sizeof(uint32_t);
};

// The payload of a side that gives back the columns `numbers`: the only one's values if they can ride along.
inline PayloadSource choose_payload(const DeviceColumn* columns, const uint16_t* numbers, uint32_t count) {
    if (count != 1) return {};
    const DeviceColumn& column = columns[numbers[0]];
    if (column.valid || (column.width != sizeof(uint32_t) && column.width != sizeof(uint64_t))) return {};
    return {column.values, column.width};
}

}  // namespace gpujoin::cuda
