// Computing limits from bytes and bandwidths.
#include "limits.h"

#include <algorithm>
#include <bit>

namespace gpujoin::bench {

namespace {

uint64_t probe_rows(const Workload& workload) {
    return workload.probe.rows * workload.repeats;
}

uint64_t probe_row_bytes(const JoinCase& join_case) {
    const Workload& workload = *join_case.workload;
    uint64_t keys = width_of(workload.format) * (workload.is_band ? 2 : 1);
    return keys + (join_case.order == ResultOrder::Any ? workload.id_width : 0);
}

// Bits in which keys differ: all, unless they are integers that lie close together.
uint32_t key_bits(const Workload& workload) {
    const Keys& keys = workload.build.keys;
    bool is_integer = workload.format == Format::Int4 || workload.format == Format::Int8;
    if (!is_integer || keys.multiplier != 1) return 8 * width_of(workload.format);
    return static_cast<uint32_t>(std::bit_width(keys.domain * keys.stride - 1));
}

// Of a row whose key has no more bytes than it needs.
uint32_t narrow_row_width(const Workload& workload) {
    bool is_narrow = key_bits(workload) <= 32;
    return (is_narrow ? sizeof(uint32_t) : width_of(workload.format)) + workload.id_width;
}

// Reads and writes of a radix sort, 8 bits a pass.
double sort_bytes(const Workload& workload, uint64_t rows) {
    uint64_t passes = (key_bits(workload) + 7) / 8;
    return static_cast<double>(rows) * (passes * 2 * narrow_row_width(workload) + width_of(workload.format));
}

// Reads and writes of two radix passes and a last read; the first one reads the rows as they come.
double partition_bytes(const Workload& workload, uint64_t rows) {
    uint64_t first = width_of(workload.format) + workload.row_width();
    return static_cast<double>(rows) * (first + 4 * narrow_row_width(workload));
}

double memory_bytes(const JoinCase& join_case, uint64_t result_rows) {
    const Workload& workload = *join_case.workload;
    const uint64_t build = workload.build.rows, probe = probe_rows(workload);
    double results = result_bytes(join_case, result_rows);
    switch (join_case.algorithm) {
        case Algorithm::SortMerge:
            return sort_bytes(workload, build) + sort_bytes(workload, probe);
        case Algorithm::Index:
            return sort_bytes(workload, build) + probe * probe_row_bytes(join_case) + results;
        default:
            return partition_bytes(workload, build + probe) + results;
    }
}

double transfer_seconds(const JoinCase& join_case, uint64_t result_rows, const Bandwidths& bandwidths) {
    double in = input_bytes(join_case), out = result_bytes(join_case, result_rows);
    if (join_case.transport == Transport::StreamKept) return in / bandwidths.to_device;
    return std::max(std::max(in, out) / bandwidths.to_device, (in + out) / bandwidths.both_ways);
}

}  // namespace

uint64_t input_bytes(const JoinCase& join_case) {
    const Workload& workload = *join_case.workload;
    uint64_t probe = probe_rows(workload) * probe_row_bytes(join_case);
    return join_case.is_build_given() ? probe : probe + workload.build.rows * workload.row_width();
}

uint64_t result_bytes(const JoinCase& join_case, uint64_t rows) {
    uint64_t id_width = join_case.workload->id_width;
    return rows * (id_width + (join_case.order == ResultOrder::Any ? id_width : sizeof(uint32_t)));
}

uint64_t fragment_bytes(const FragmentWorkload& workload, uint64_t result_rows) {
    return workload.rows * workload.source_row_bytes() + result_rows * workload.result_row_bytes();
}

double device_limit(const JoinCase& join_case, uint64_t result_rows, const Bandwidths& bandwidths) {
    const Workload& workload = *join_case.workload;
    if (join_case.algorithm == Algorithm::NestedLoop)
        return static_cast<double>(workload.build.rows) * probe_rows(workload) / bandwidths.instructions;
    if (join_case.transport != Transport::Resident)
        return transfer_seconds(join_case, result_rows, bandwidths);
    return memory_bytes(join_case, result_rows) / bandwidths.memory;
}

double cpu_limit(const JoinCase& join_case, uint64_t result_rows, double bandwidth) {
    const Workload& workload = *join_case.workload;
    if (join_case.algorithm != Algorithm::Hash) return 0;
    uint64_t rows = probe_rows(workload) + (join_case.is_build_given() ? 0 : workload.build.rows);
    return (3.0 * workload.row_width() * rows + result_bytes(join_case, result_rows)) / bandwidth;
}

}  // namespace gpujoin::bench
