// The oracle: how many rows a join has and their checksum, without joining. The checksum is the sum over all
// result rows of weight(probe row) * weight(build row) modulo 2^64: it depends on every pair and on no order,
// and it factors, so that the expected value follows from sums per key (prefix sums of them for bands).
#pragma once

#include <cstdint>

#include "generator.h"

namespace gpujoin::bench {

struct Check {
    uint64_t rows = 0;
    uint64_t sum = 0;
    bool operator==(const Check&) const = default;
    GPUJOIN_HD Check operator+(const Check& other) const { return {rows + other.rows, sum + other.sum}; }
    GPUJOIN_HD Check operator-(const Check& other) const { return {rows - other.rows, sum - other.sum}; }
};

GPUJOIN_HD inline uint64_t probe_weight(uint64_t row) {
    return mix(row ^ 0x5851f42d4c957f2d);
}
GPUJOIN_HD inline uint64_t build_weight(uint64_t row) {
    return mix(row ^ 0x14057b7ef767814f);
}

GPUJOIN_HD inline void add_atomically(uint64_t* target, uint64_t value) {
#ifdef __CUDA_ARCH__
    atomicAdd(reinterpret_cast<unsigned long long*>(target), static_cast<unsigned long long>(value));
#else
    __atomic_fetch_add(target, value, __ATOMIC_RELAXED);
#endif
}

struct ClearSum {
    Check* sums;
    GPUJOIN_HD void operator()(uint64_t key) const { sums[key] = {}; }
};

// Adds a build row to its key's sum.
struct AddBuildRow {
    Keys keys;
    Check* sums;  // [domain]
    GPUJOIN_HD void operator()(uint64_t row) const {
        if (!keys.matches(row)) return;
        Check* sum = &sums[keys.base(row)];
        add_atomically(&sum->rows, 1);
        add_atomically(&sum->sum, build_weight(row));
    }
};

// What a probe row contributes: the build rows with its key, or, where sums are inclusive prefix sums, those
// with a key from its own to `band` above.
struct ProbeContribution {
    Keys keys;
    const Check* sums;
    uint64_t domain;
    bool is_band;
    uint64_t band;
    GPUJOIN_HD Check operator()(uint64_t row) const {
        if (!keys.matches(row)) return {};
        uint64_t low = keys.base(row);
        Check matches = sums[low];
        if (is_band) {
            uint64_t high = low + band < domain ? low + band : domain - 1;
            matches = low == 0 ? sums[high] : sums[high] - sums[low - 1];
        }
        return {matches.rows, matches.sum * probe_weight(row)};
    }
};

// A result row as the engine wrote it: probe row `first_probe_row` + probe[i], build row build[i].
struct ResultRow {
    const std::byte* probe;
    const std::byte* build;
    uint32_t probe_width;
    uint32_t build_width;
    uint64_t first_probe_row;
    GPUJOIN_HD static uint64_t load(const std::byte* column, uint32_t width, uint64_t row) {
        return width == 4 ? reinterpret_cast<const uint32_t*>(column)[row]
                          : reinterpret_cast<const uint64_t*>(column)[row];
    }
    GPUJOIN_HD Check operator()(uint64_t row) const {
        return {1, probe_weight(first_probe_row + load(probe, probe_width, row)) *
                       build_weight(load(build, build_width, row))};
    }
};

// Writes one row of a column of keys, or of row numbers.
struct FillKey {
    Keys keys;
    Format format;
    uint64_t offset;
    std::byte* column;
    GPUJOIN_HD void operator()(uint64_t row) const {
        uint64_t value = keys.value(row, offset, format);
        if (width_of(format) == 4)
            reinterpret_cast<uint32_t*>(column)[row] = static_cast<uint32_t>(value);
        else
            reinterpret_cast<uint64_t*>(column)[row] = value;
    }
};

// Writes one row of a column of texts, and the offset of the next.
struct FillText {
    Keys keys;
    uint32_t* offsets;  // [rows + 1]
    std::byte* data;
    GPUJOIN_HD void operator()(uint64_t row) const {
        uint64_t value = keys.value(row, 0, Format::Int8);
        std::byte* text = data + row * kTextBytes;
        for (uint32_t i = 0; i < kTextBytes; i++, value >>= 4)
            text[i] = static_cast<std::byte>("0123456789abcdef"[value & 15]);
        offsets[row + 1] = static_cast<uint32_t>((row + 1) * kTextBytes);
        if (row == 0) offsets[0] = 0;
    }
};

struct FillRowNumber {
    uint32_t width;
    std::byte* column;
    GPUJOIN_HD void operator()(uint64_t row) const {
        if (width == 4)
            reinterpret_cast<uint32_t*>(column)[row] = static_cast<uint32_t>(row);
        else
            reinterpret_cast<uint64_t*>(column)[row] = row;
    }
};

}  // namespace gpujoin::bench
