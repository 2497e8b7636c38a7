// DirectTable: arrays over the span [smallest key, largest key] of dense integer keys. Unique keys: a bit for
// each index that has a row, small enough for a cache, and the row number, which a probe need not look at.
// Otherwise the start of each key's group; the next key's start ends it.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <vector>

#include "engine/cpu/hash/key_table.h"
#include "engine/cpu/hash/key_tuples.h"

namespace gpujoin::cpu {

// The span of the keys: index = key - smallest, in the key's own arithmetic, which wraps for signed keys.
template <typename Key>
struct DirectSpan {
    Key smallest = 0;
    uint64_t span = 0;  // number of indexes; 0: no rows, or more indexes than asked for
};

// Counts the span of the build keys as signed or unsigned integers, at most so many indexes: sparse keys are
// known as such after a few rows. Runs in parallel.
template <typename Key>
Status count_span(JoinContext& join, const KeyReader& reader, uint64_t rows, bool is_signed, uint64_t most,
                  DirectSpan<Key>* span) {
    const Key flip = is_signed ? Key{1} << (8 * sizeof(Key) - 1) : 0;
    uint32_t tasks = static_cast<uint32_t>((rows + kParallelRows - 1) / kParallelRows);
    Key smallest = ~Key{0}, largest = 0;
    std::atomic<bool> too_far{false};
    std::mutex mutex;
    GPUJOIN_RETURN_IF_FAILED(join.workers->run(join.limits.cancel, tasks, [&](uint32_t task) {
        if (too_far.load(std::memory_order_relaxed)) return;
        KeyTuple<Key> tuples[kBlockRows];
        TupleSource<Key> source(reader, {nullptr, rows});
        Key low = ~Key{0}, high = 0;
        uint64_t end = std::min(rows, (task + 1) * kParallelRows);
        for (uint64_t first = task * kParallelRows; first < end; first += kBlockRows) {
            uint32_t block = static_cast<uint32_t>(std::min<uint64_t>(kBlockRows, end - first));
            uint32_t count = source(first, block, tuples);
            for (uint32_t i = 0; i < count; i++) {
                low = std::min<Key>(low, tuples[i].key ^ flip);
                high = std::max<Key>(high, tuples[i].key ^ flip);
            }
        }
        std::lock_guard lock(mutex);
        smallest = std::min(smallest, low);
        largest = std::max(largest, high);
        if (smallest <= largest && largest - smallest >= most) too_far.store(true, std::memory_order_relaxed);
    }));
    const bool none = smallest > largest || too_far.load();
    *span = {static_cast<Key>(smallest ^ flip), none ? 0 : uint64_t{largest - smallest} + 1};
    return {};
}

template <typename Key>
class DirectTable final : public KeyTable {
  public:
    explicit DirectTable(DirectSpan<Key> span) : smallest_(span.smallest), span_(span.span) {}

    Status build(JoinContext& join, const KeyReader& reader, RowList rows) {
        // Partitions of at least a page of indexes, each small enough for a core's cache.
        shift_ = std::max<uint32_t>(12, static_cast<uint32_t>(std::bit_width(span_ / 256)));
        uint32_t partitions = static_cast<uint32_t>(((span_ - 1) >> shift_) + 1);
        PartitionedTuples<Key> tuples;
        GPUJOIN_RETURN_IF_FAILED(partition_tuples(
            join, reader, rows, partitions, [this](const KeyTuple<Key>& t) { return index(t.key) >> shift_; },
            &tuples));
        if (!rows.list) GPUJOIN_RETURN_IF_FAILED(build_unique(join, tuples, &unique_));
        return unique_ && !rows.list ? Status{} : build_groups(join, tuples);
    }

    void find(const KeyReader& probe, uint64_t begin, uint32_t rows, uint32_t* first,
              uint32_t* count) const override {
        Key keys[kBlockRows];
        probe.read(begin, nullptr, rows, keys);
        const uint64_t last = span_ - 1;
        if (!used_.empty()) {
            const uint64_t* used = used_.template as<uint64_t>();
            for (uint32_t i = 0; i < rows; i++) {
                uint64_t at = index(keys[i]);
                uint64_t inside = std::min(at, last);
                first[i] = static_cast<uint32_t>(inside);
                count[i] = (used[inside / 64] >> (inside % 64) & 1) & (at <= last);
            }
        } else {
            const uint32_t* array = starts_.template as<uint32_t>();
            for (uint32_t i = 0; i < rows; i++) {
                uint64_t at = index(keys[i]);
                uint64_t inside = std::min(at, last);
                first[i] = array[inside];
                count[i] = at <= last ? array[inside + 1] - array[inside] : 0;
            }
        }
    }

  private:
    uint64_t index(Key key) const { return static_cast<Key>(key - smallest_); }

    Status build_unique(JoinContext& join, const PartitionedTuples<Key>& tuples, bool* unique) {
        GPUJOIN_RETURN_IF_FAILED(
            row_of_position_.allocate(join.limits.host_memory, span_ * sizeof(uint32_t)));
        GPUJOIN_RETURN_IF_FAILED(
            used_.allocate(join.limits.host_memory, (span_ / 64 + 1) * sizeof(uint64_t)));
        uint32_t* row_of_position = row_of_position_.template as<uint32_t>();
        uint64_t* used = used_.template as<uint64_t>();
        std::atomic<bool> duplicates{false};
        GPUJOIN_RETURN_IF_FAILED(join.workers->run(join.limits.cancel, tuples.partitions(), [&](uint32_t p) {
            if (duplicates.load(std::memory_order_relaxed)) return;
            bool seen = false;
            tuples.for_each(p, join.limits.cancel, [&](const KeyTuple<Key>& tuple) {
                uint64_t at = index(tuple.key);
                uint64_t bit = uint64_t{1} << (at % 64);
                seen |= (used[at / 64] & bit) != 0;
                used[at / 64] |= bit;
                row_of_position[at] = tuple.row;
            });
            if (seen) duplicates.store(true, std::memory_order_relaxed);
        }));
        *unique = !duplicates.load();
        positions_ = span_;
        return {};
    }

    Status build_groups(JoinContext& join, const PartitionedTuples<Key>& tuples) {
        used_.reset();
        row_of_position_.reset();
        GPUJOIN_RETURN_IF_FAILED(starts_.allocate(join.limits.host_memory, (span_ + 1) * sizeof(uint32_t)));
        GPUJOIN_RETURN_IF_FAILED(
            row_of_position_.allocate(join.limits.host_memory, (tuples.size() + 1) * sizeof(uint32_t)));
        positions_ = tuples.size();
        uint32_t* starts = starts_.template as<uint32_t>();
        uint32_t* row_of_position = row_of_position_.template as<uint32_t>();
        starts[span_] = static_cast<uint32_t>(tuples.size());
        std::atomic<bool> duplicates{false};
        GPUJOIN_RETURN_IF_FAILED(join.workers->run(join.limits.cancel, tuples.partitions(), [&](uint32_t p) {
            uint64_t low = uint64_t{p} << shift_;
            uint64_t high = std::min(span_, low + (uint64_t{1} << shift_));
            tuples.for_each(p, join.limits.cancel,
                            [&](const KeyTuple<Key>& tuple) { starts[index(tuple.key)]++; });
            uint32_t next = static_cast<uint32_t>(tuples.starts[p]);
            uint32_t most = 0;
            for (uint64_t i = low; i < high; i++) {
                most = std::max(most, starts[i]);
                next += std::exchange(starts[i], next);
            }
            if (most > 1) duplicates.store(true, std::memory_order_relaxed);
            // Filling moves each start to the end of its group, which is the start of the next one.
            tuples.for_each(p, join.limits.cancel, [&](const KeyTuple<Key>& tuple) {
                row_of_position[starts[index(tuple.key)]++] = tuple.row;
            });
            for (uint64_t i = high - 1; i > low; i--) starts[i] = starts[i - 1];
            starts[low] = static_cast<uint32_t>(tuples.starts[p]);
        }));
        unique_ = !duplicates.load();
        return {};
    }

    const Key smallest_;
    const uint64_t span_;
    uint32_t shift_ = 0;
    HostArray used_;    // unique keys: a bit an index
    HostArray starts_;  // groups: an entry an index and one more
};

}  // namespace gpujoin::cpu
