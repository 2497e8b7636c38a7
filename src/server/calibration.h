// Calibration: what the planner wants to know of a device, measured on joins of made-up rows through the
// contract that every engine keeps. It takes less than 100 ms a device that nobody else is using.
#pragma once

#include "engine/engine.h"
#include "wire/stats.h"

namespace gpujoin {

// Two blocks to measure in, of the kind that joins use.
struct CalibrationSpace {
    std::byte* input;
    std::byte* output;
    uint64_t bytes;  // of each; at least kCalibrationBytes
    Memory memory;
};
inline constexpr uint64_t kCalibrationBytes = 3u << 20;

Status measure_rates(Engine& engine, const Limits& limits, const CalibrationSpace& space, EngineRates* rates);

}  // namespace gpujoin
