// The workloads: two relations, the condition that joins them, and the algorithms that take part. Sizes and
// parameters are those of the published studies, times --scale.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "columns.h"
#include "wire/join_spec.h"

namespace gpujoin::bench {

// Rows, scaled from millions. A workload keeps at least 4096.
uint64_t scaled_rows(double millions, double scale);

// Where inputs lie and results go. Batches of fragments are as large as those that the engine reads kept rows
// in (Engine::kept_measure()), and as many at once.
enum class Transport : uint8_t {
    Resident,         // inputs in the engine's own memory (the device's), one batch each; results stay there
    ResidentBatches,  // fragments: the same in batches, from several threads
    Whole,            // inputs in host memory, one batch each; results return to it
    Batches,          // the same in batches of kTargetBatchRows at most, from several threads
    StreamKept,       // built beforehand; probe rows come from host memory in batches, results stay
    StreamReturned,   // the same, results return
};

struct Workload {
    std::string id;       // "W8"
    std::string variant;  // "16M, sparse"
    Relation probe;
    Relation build;
    Format format = Format::Int4;
    uint32_t id_width = 4;  // of the row number beside each key
    bool is_band = false;   // probe.key <= build.key <= probe.key + band, instead of equality
    uint64_t band = 0;
    bool is_filter = false;  // the condition as a filter program that comes down to equality
    std::vector<Algorithm> algorithms;
    std::vector<Transport> transports;
    bool unordered = false;    // also ResultOrder::Any
    bool writes_most = false;  // results on a device are also set against the rate at which it writes
    uint32_t repeats = 1;      // how often the probe side is streamed past the build side

    uint32_t row_width() const { return width_of(format) + id_width; }
};

// W1 to W4, the texts of W5, W7 to W11, W13; and W14, all pairs tested by a filter program.
std::vector<Workload> make_workloads(double scale);

const char* name_of(Transport transport);  // "resident", "whole", ...

}  // namespace gpujoin::bench
