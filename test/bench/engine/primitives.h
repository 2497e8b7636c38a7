// The primitives that joins are made of (workload W5): map, scatter, gather, scan, split into 64 partitions,
// sort. On the host with oneTBB, on a device with CUB as in the CUDA engine, and as legacy code.
#pragma once

#include <cstdint>

#include "oracle.h"

namespace gpujoin::bench {

enum class Primitive : uint8_t { Map, Scatter, Gather, Scan, Split, Sort };
inline constexpr Primitive kPrimitives[] = {Primitive::Map,  Primitive::Scatter, Primitive::Gather,
                                            Primitive::Scan, Primitive::Split,   Primitive::Sort};

const char* name_of(Primitive primitive);

// Arrays of `rows` values in one place. Split and sort move (key, row number) pairs.
struct PrimitiveArrays {
    uint64_t rows = 0;
    const uint32_t* keys = nullptr;
    const uint32_t* positions = nullptr;  // a permutation of row numbers, for scatter and gather
    uint32_t* out = nullptr;              // keys, or what became of them
    uint32_t* out_ids = nullptr;          // split and sort: the row numbers of out
};

// Bytes that a primitive reads and writes at least, a row.
double bytes_per_row(Primitive primitive);

GPUJOIN_HD inline uint32_t mapped(uint32_t key) {
    return static_cast<uint32_t>(mix(key));
}
GPUJOIN_HD inline uint32_t split_partition(uint32_t key) {
    return mapped(key) >> 26;
}

struct MapRow {
    PrimitiveArrays arrays;
    GPUJOIN_HD void operator()(uint64_t row) const { arrays.out[row] = mapped(arrays.keys[row]); }
};
struct ScatterRow {
    PrimitiveArrays arrays;
    GPUJOIN_HD void operator()(uint64_t row) const { arrays.out[arrays.positions[row]] = arrays.keys[row]; }
};
struct GatherRow {
    PrimitiveArrays arrays;
    GPUJOIN_HD void operator()(uint64_t row) const { arrays.out[row] = arrays.keys[arrays.positions[row]]; }
};

// Split and sort also have a checksum: that of the row numbers, which must be all there.
GPUJOIN_HD inline Check primitive_row(Primitive primitive, bool is_right, uint64_t id) {
    bool moves_pairs = primitive == Primitive::Split || primitive == Primitive::Sort;
    return {is_right ? 1u : 0u, moves_pairs ? probe_weight(id) : 0};
}

struct ExpectedPrimitive {
    Primitive primitive;
    GPUJOIN_HD Check operator()(uint64_t row) const { return primitive_row(primitive, true, row); }
};

// Counts the rows that are right.
struct PrimitiveCheck {
    Primitive primitive;
    PrimitiveArrays arrays;
    GPUJOIN_HD Check operator()(uint64_t row) const {
        return primitive_row(primitive, is_right(row), arrays.out_ids[row]);
    }

  private:
    GPUJOIN_HD bool is_right(uint64_t row) const {
        const uint32_t* keys = arrays.keys;
        const uint32_t* out = arrays.out;
        const bool is_last = row + 1 == arrays.rows;
        switch (primitive) {
            case Primitive::Map:
                return out[row] == mapped(keys[row]);
            case Primitive::Scatter:
                return out[arrays.positions[row]] == keys[row];
            case Primitive::Gather:
                return out[row] == keys[arrays.positions[row]];
            case Primitive::Scan:
                return (row > 0 || out[0] == 0) && (is_last || out[row] + keys[row] == out[row + 1]);
            case Primitive::Split:
                return keys[arrays.out_ids[row]] == out[row] &&
                       (is_last || split_partition(out[row]) <= split_partition(out[row + 1]));
            case Primitive::Sort:
                return keys[arrays.out_ids[row]] == out[row] && (is_last || out[row] <= out[row + 1]);
        }
        return false;
    }
};

// Runs a primitive on arrays in host memory.
void run_host_primitive(Primitive primitive, const PrimitiveArrays& arrays);

}  // namespace gpujoin::bench
