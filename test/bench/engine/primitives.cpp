// The primitives on the host, with oneTBB.
#include "primitives.h"

#include <tbb/parallel_sort.h>

#include <array>
#include <vector>

#include "place_host.h"

namespace gpujoin::bench {

namespace {

constexpr uint32_t kPartitions = 64;

void scan(const PrimitiveArrays& arrays) {
    auto scan_range = [&](const HostExecutor::Range& range, uint32_t sum, bool is_final) {
        for (uint64_t row = range.begin(); row != range.end(); row++) {
            if (is_final) arrays.out[row] = sum;
            sum += arrays.keys[row];
        }
        return sum;
    };
    tbb::parallel_scan(HostExecutor::Range(0, arrays.rows, HostExecutor::kGrain), 0u, scan_range,
                       std::plus<uint32_t>());
}

// A histogram a chunk, prefix sums partition by partition, then every chunk writes to places of its own.
void split(const PrimitiveArrays& arrays) {
    constexpr uint64_t kChunk = 1u << 18;
    using Counts = std::array<uint64_t, kPartitions>;
    std::vector<Counts> places((arrays.rows + kChunk - 1) / kChunk);
    auto for_chunks = [&](const auto& body) {
        tbb::parallel_for(size_t{0}, places.size(), [&](size_t chunk) {
            uint64_t last = std::min(arrays.rows, (chunk + 1) * kChunk);
            for (uint64_t row = chunk * kChunk; row < last; row++)
                body(row, &places[chunk][split_partition(arrays.keys[row])]);
        });
    };
    for_chunks([](uint64_t, uint64_t* count) { ++*count; });
    uint64_t next = 0;
    for (uint32_t partition = 0; partition < kPartitions; partition++)
        for (Counts& chunk : places) next += std::exchange(chunk[partition], next);
    for_chunks([&](uint64_t row, uint64_t* place) {
        arrays.out[*place] = arrays.keys[row];
        arrays.out_ids[(*place)++] = static_cast<uint32_t>(row);
    });
}

void sort(const PrimitiveArrays& arrays) {
    std::vector<uint64_t> pairs(arrays.rows);
    HostExecutor::for_rows(arrays.rows,
                           [&](uint64_t row) { pairs[row] = uint64_t{arrays.keys[row]} << 32 | row; });
    tbb::parallel_sort(pairs.begin(), pairs.end());
    HostExecutor::for_rows(arrays.rows, [&](uint64_t row) {
        arrays.out[row] = static_cast<uint32_t>(pairs[row] >> 32);
        arrays.out_ids[row] = static_cast<uint32_t>(pairs[row]);
    });
}

}  // namespace

const char* name_of(Primitive primitive) {
    switch (primitive) {
        case Primitive::Map:
            return "map";
        case Primitive::Scatter:
            return "scatter";
        case Primitive::Gather:
            return "gather";
        case Primitive::Scan:
            return "scan";
        case Primitive::Split:
            return "split";
        case Primitive::Sort:
            return "sort";
    }
    return "";
}

double bytes_per_row(Primitive primitive) {
    switch (primitive) {
        case Primitive::Map:
        case Primitive::Scan:
            return 8;  // a value read and written
        case Primitive::Scatter:
        case Primitive::Gather:
            return 12;  // and a position
        case Primitive::Split:
            return 16;  // the key read twice, the pair written (its row number is not stored before)
        case Primitive::Sort:
            return 68;  // four passes over pairs, one read of the key
    }
    return 0;
}

void run_host_primitive(Primitive primitive, const PrimitiveArrays& arrays) {
    switch (primitive) {
        case Primitive::Map:
            return HostExecutor::for_rows(arrays.rows, MapRow{arrays});
        case Primitive::Scatter:
            return HostExecutor::for_rows(arrays.rows, ScatterRow{arrays});
        case Primitive::Gather:
            return HostExecutor::for_rows(arrays.rows, GatherRow{arrays});
        case Primitive::Scan:
            return scan(arrays);
        case Primitive::Split:
            return split(arrays);
        case Primitive::Sort:
            return sort(arrays);
    }
}

}  // namespace gpujoin::bench
