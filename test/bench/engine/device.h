// A GPU as the benchmark sees it: its memory, pinned host memory, the CUDA engine, the legacy algorithms, and
// the bandwidths that limits are computed from.
#pragma once

#include <memory>
#include <string>

#include "join_run.h"
#include "limits.h"
#include "place.h"

namespace gpujoin::bench {

// Versions of a primitive: CUB's, as in the CUDA engine, and legacy ones.
enum class DevicePrimitive : uint8_t { Library, Legacy, LegacyQuickSort };

class Device {
  public:
    virtual ~Device() = default;
    virtual std::string name() const = 0;
    virtual Place& memory() = 0;
    virtual Place& pinned_memory() = 0;
    virtual Engine& engine() = 0;
    virtual Bandwidths bandwidths() const = 0;
    // Is there a legacy algorithm for the workload (resident, 4+4 B rows of integers)?
    virtual bool has_legacy(const Workload& workload, Algorithm algorithm) const = 0;
    virtual Outcome run_legacy(const Workload& workload, Algorithm algorithm, const Inputs& inputs) = 0;
    virtual bool has_primitive(Primitive primitive, DevicePrimitive version) const = 0;
    // On arrays in device memory.
    virtual void run_primitive(Primitive primitive, DevicePrimitive version,
                               const PrimitiveArrays& arrays) = 0;
};

// Opens CUDA device `number`. Null, with the reason, where there is none or the build has no CUDA.
std::unique_ptr<Device> open_device(int number, std::string* why_not);

}  // namespace gpujoin::bench
