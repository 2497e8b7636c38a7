// The primitives on a device.
#pragma once

#include "primitives.h"

namespace gpujoin::bench {

// With CUB. Returns before the device has finished.
void run_device_primitive(Primitive primitive, const PrimitiveArrays& arrays);

// The legacy version: scan, split and sort (bitonic or by quicksort).
inline constexpr bool has_legacy_primitive(Primitive primitive) {
    return primitive >= Primitive::Scan;
}
void run_legacy_primitive(Primitive primitive, bool by_quick_sort, const PrimitiveArrays& arrays);

}  // namespace gpujoin::bench
