// Sorting rows by 64-bit keys: a least-significant-digit radix sort, made of stable parallel partitioning,
// over the bits alone by which the keys exceed the smallest one. Rows travel with 32 bits of key where that
// is enough.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <mutex>
#include <vector>

#include "engine/cpu/memory/host_array.h"
#include "engine/cpu/work/partition.h"

namespace gpujoin::cpu {

struct KeyedRow {
    uint64_t key;
    uint32_t row;
};

// Rows in the order of their keys, rows with equal keys in the order in which they were given.
struct SortedRows {
    uint64_t count = 0;
    HostArray rows;  // uint32_t
    HostArray keys;  // uint64_t
};

namespace row_sort {

inline constexpr uint32_t kDigitBits = 11;

template <typename Word>
struct WordRow {
    Word key;
    uint32_t row;
};

struct KeyBounds {
    uint64_t smallest = ~uint64_t{0};
    uint64_t largest = 0;
};

template <typename Source>
Status find_bounds(Workers& workers, const std::atomic<bool>* cancel, uint64_t rows, const Source& source,
                   KeyBounds* bounds) {
    std::mutex mutex;
    uint32_t tasks = static_cast<uint32_t>((rows + kParallelRows - 1) / kParallelRows);
    return workers.run(cancel, tasks, [&](uint32_t task) {
        KeyedRow keyed[kBlockRows];
        KeyBounds found;
        uint64_t end = std::min(rows, (task + 1) * kParallelRows);
        for (uint64_t first = task * kParallelRows; first < end; first += kBlockRows) {
            uint32_t n =
                source(first, static_cast<uint32_t>(std::min<uint64_t>(kBlockRows, end - first)), keyed);
            for (uint32_t i = 0; i < n; i++) {
                found.smallest = std::min(found.smallest, keyed[i].key);
                found.largest = std::max(found.largest, keyed[i].key);
            }
        }
        std::lock_guard lock(mutex);
        bounds->smallest = std::min(bounds->smallest, found.smallest);
        bounds->largest = std::max(bounds->largest, found.largest);
    });
}

template <typename Word, typename Source>
Status sort_words(Workers& workers, const std::atomic<bool>* cancel, Ledger* ledger, uint64_t rows,
                  const Source& source, KeyBounds bounds, SortedRows* sorted) {
    using Row = WordRow<Word>;
    const uint32_t bits = static_cast<uint32_t>(std::bit_width(bounds.largest - bounds.smallest));
    const uint32_t passes = std::max(1u, (bits + kDigitBits - 1) / kDigitBits);
    const uint32_t digit_bits = (bits + passes - 1) / passes;
    HostArray array, other;
    std::vector<uint64_t> starts;
    auto rebased = [&](uint64_t first, uint32_t n, Row* out) {
        KeyedRow keyed[kBlockRows];
        n = source(first, n, keyed);
        for (uint32_t i = 0; i < n; i++)
            out[i] = {static_cast<Word>(keyed[i].key - bounds.smallest), keyed[i].row};
        return n;
    };
    for (uint32_t pass = 0; pass < passes; pass++) {
        const uint32_t shift = pass * digit_bits;
        auto digit = [=](const Row& row) {
            return static_cast<uint32_t>(row.key >> shift) & ((1u << digit_bits) - 1);
        };
        HostArray& to = pass % 2 ? other : array;
        if (to.empty()) GPUJOIN_RETURN_IF_FAILED(to.allocate(ledger, rows * sizeof(Row)));
        if (pass == 0) {
            GPUJOIN_RETURN_IF_FAILED(
                partition(workers, cancel, rows, 1u << digit_bits, rebased, digit, to.as<Row>(), &starts));
            sorted->count = starts.back();
            continue;
        }
        const Row* from = (pass % 2 ? array : other).as<Row>();
        auto copy = [from](uint64_t first, uint32_t n, Row* out) {
            std::copy_n(from + first, n, out);
            return n;
        };
        GPUJOIN_RETURN_IF_FAILED(
            partition(workers, cancel, sorted->count, 1u << digit_bits, copy, digit, to.as<Row>(), &starts));
    }
    HostArray& result = passes % 2 ? array : other;
    (passes % 2 ? other : array).reset();
    GPUJOIN_RETURN_IF_FAILED(sorted->rows.allocate(ledger, (sorted->count + 1) * sizeof(uint32_t)));
    GPUJOIN_RETURN_IF_FAILED(sorted->keys.allocate(ledger, (sorted->count + 1) * sizeof(uint64_t)));
    uint32_t tasks = static_cast<uint32_t>((sorted->count + kParallelRows - 1) / kParallelRows);
    return workers.run(cancel, tasks, [&](uint32_t task) {
        uint64_t end = std::min(sorted->count, (task + 1) * kParallelRows);
        for (uint64_t i = task * kParallelRows; i < end; i++) {
            sorted->rows.as<uint32_t>()[i] = result.as<Row>()[i].row;
            sorted->keys.as<uint64_t>()[i] = result.as<Row>()[i].key + bounds.smallest;
        }
    });
}

}  // namespace row_sort

// Sorts the rows that source(first, rows, KeyedRow*) makes of input rows [0, rows), as for partition(); it is
// called several times. Takes at most 36 bytes a row meanwhile, charged to the ledger, the result included.
template <typename Source>
Status sort_rows(Workers& workers, const std::atomic<bool>* cancel, Ledger* ledger, uint64_t rows,
                 const Source& source, SortedRows* sorted) {
    row_sort::KeyBounds bounds;
    GPUJOIN_RETURN_IF_FAILED(row_sort::find_bounds(workers, cancel, rows, source, &bounds));
    if (bounds.smallest > bounds.largest) bounds = {0, 0};  // no rows
    return (bounds.largest - bounds.smallest) >> 32 == 0
               ? row_sort::sort_words<uint32_t>(workers, cancel, ledger, rows, source, bounds, sorted)
               : row_sort::sort_words<uint64_t>(workers, cancel, ledger, rows, source, bounds, sorted);
}

}  // namespace gpujoin::cpu
