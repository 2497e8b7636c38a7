// The workloads of fragments: aggregates of a table's columns, and a chain of joins with dimensions, of which
// each row finds one row each. Sizes are times --scale.
#pragma once

#include <string>
#include <vector>

#include "columns.h"

namespace gpujoin::bench {

// A column of the source.
struct SourceColumn {
    Keys keys;
    Format format = Format::Int4;
};

struct FragmentWorkload {
    std::string id;       // "W15"
    std::string variant;  // "128M, 4 groups"
    uint64_t rows = 0;
    std::vector<SourceColumn> source;
    // Joined by the source's columns, one each; of these has the sink the attributes, where there are any,
    // and else the source's columns.
    std::vector<Relation> dimensions;
    std::vector<SinkOutput> outputs;
    bool has_groups = true;  // else rows come out
    bool has_key = false;

    SinkShape sink() const;
    const char* name() const;  // of what is done: "aggregate", "chain to rows", ...
    uint64_t source_row_bytes() const;
    uint64_t result_row_bytes() const;  // of a row or group that comes out
};

uint32_t width_of(const FragmentWorkload& workload, const SinkOutput& output);

// W15 to W17.
std::vector<FragmentWorkload> make_fragment_workloads(double scale);

}  // namespace gpujoin::bench
