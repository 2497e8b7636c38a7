// Joining two partitioned sides in runs, each of which writes as many results as there is room for.
//
// The work is made of items: a chunk of a partition's build tuples, small enough for a table, and a piece of
// the same partition's probe tuples. Nearly every partition is one item. One that is too large, because many
// rows share a key, is several: every chunk with every piece.
//
// Lanes, one a thread, each take an item, build its table and probe. Matches are collected in a small buffer
// and written by the bufferful, at places that the lane reserves. A lane that finds no room keeps what it has
// for the next run.
#pragma once

#include <atomic>
#include <cstring>
#include <mutex>
#include <vector>

#include "engine/cpu/radix/radix_table.h"

namespace gpujoin::cpu {

// Build tuples [build_begin, build_end) against probe tuples [probe_begin, probe_end).
struct RadixItem {
    uint64_t build_begin = 0;
    uint64_t build_end = 0;
    uint64_t probe_begin = 0;
    uint64_t probe_end = 0;
};

// Hands out the items, to any thread.
class RadixItems {
  public:
    RadixItems(const std::vector<uint64_t>& build_starts, const std::vector<uint64_t>& probe_starts,
               uint64_t chunk)
        : build_starts_(build_starts), probe_starts_(probe_starts), chunk_(chunk) {}

    // False: there are no more.
    bool take(RadixItem* item) {
        std::lock_guard lock(mutex_);
        for (; !all_taken(); enter_partition(partition_ + 1)) {
            const uint64_t build_end = build_starts_[partition_ + 1];
            const uint64_t probe_end = probe_starts_[partition_ + 1];
            if (build_ == build_end || probe_ == probe_end) continue;
            *item = {build_, std::min(build_ + chunk_, build_end), probe_,
                     std::min(probe_ + kPieceRows, probe_end)};
            probe_ = item->probe_end;
            if (probe_ == probe_end) {
                build_ = item->build_end;
                probe_ = probe_starts_[partition_];
            }
            return true;
        }
        return false;
    }

    bool all_taken() const { return partition_ + 1 == build_starts_.size(); }

  private:
    static constexpr uint64_t kPieceRows = 256u << 10;

    void enter_partition(size_t partition) {
        partition_ = partition;
        build_ = build_starts_[partition];
        probe_ = probe_starts_[partition];
    }

    const std::vector<uint64_t>& build_starts_;
    const std::vector<uint64_t>& probe_starts_;
    const uint64_t chunk_;
    std::mutex mutex_;
    size_t partition_ = 0;
    uint64_t build_ = 0;  // where the next item begins
    uint64_t probe_ = 0;
};

// Where the results of one run go: columns with room for `capacity` payloads, written narrowed to `width`.
struct RadixOutput {
    struct Column {
        std::byte* values = nullptr;  // nullptr: not wanted
        uint32_t width = sizeof(uint32_t);
    };
    RadixOutput(Column build, Column probe, uint64_t capacity)
        : build(build), probe(probe), capacity(capacity) {}

    uint64_t rows() const { return std::min(reserved.load(), capacity); }

    const Column build;
    const Column probe;
    const uint64_t capacity;
    std::atomic<uint64_t> reserved{0};  // rows, also in vain
};

template <typename Word>
class RadixLane {
  public:
    Status open(Ledger* ledger) { return table_.open(ledger); }

    // Works until there is no room in the output, or nothing left to do. shift: the bits of the partition.
    void run(const RadixTuple<Word>* build, const RadixTuple<Word>* probe, uint32_t shift, RadixItems& items,
             const std::atomic<bool>* cancel, RadixOutput& output) {
        while (!should_stop(cancel)) {
            if (item_.probe_begin == item_.probe_end) {
                if (!items.take(&item_)) {
                    write(output);
                    return;
                }
                table_.build(build + item_.build_begin,
                             static_cast<uint32_t>(item_.build_end - item_.build_begin), shift);
            }
            if (table_.is_unique()) {
                collect_single_matches(probe);
            } else {
                collect_groups(probe);
            }
            if (collected_ == kRoom && !write(output)) return;
        }
    }

    bool is_idle() const { return item_.probe_begin == item_.probe_end && collected_ == 0; }

  private:
    static constexpr uint32_t kRoom = 2048;

    void collect_single_matches(const RadixTuple<Word>* probe) {
        const uint64_t rows = std::min<uint64_t>(item_.probe_end - item_.probe_begin, kRoom - collected_);
        collected_ += table_.match_unique(probe + item_.probe_begin, static_cast<uint32_t>(rows),
                                          build_ + collected_, probe_ + collected_);
        item_.probe_begin += rows;
    }

    void collect_groups(const RadixTuple<Word>* probe) {
        while (item_.probe_begin < item_.probe_end && collected_ < kRoom) {
            const RadixTuple<Word>& tuple = probe[item_.probe_begin];
            const auto group = table_.find_group(tuple.key);
            const uint32_t count = std::min(group.count - matched_, kRoom - collected_);
            std::copy_n(group.payloads + matched_, count, build_ + collected_);
            std::fill_n(probe_ + collected_, count, tuple.payload);
            collected_ += count;
            matched_ += count;
            if (matched_ < group.count) continue;
            item_.probe_begin++;
            matched_ = 0;
        }
    }

    // Writes what was collected, or as much as there is room for; false if that was not all.
    bool write(RadixOutput& output) {
        const uint64_t place = std::min(output.reserved.fetch_add(collected_), output.capacity);
        const uint32_t rows = static_cast<uint32_t>(std::min<uint64_t>(collected_, output.capacity - place));
        store(output.build, place, build_, rows);
        store(output.probe, place, probe_, rows);
        collected_ -= rows;
        std::copy_n(build_ + rows, collected_, build_);
        std::copy_n(probe_ + rows, collected_, probe_);
        return collected_ == 0;
    }

    static void store(const RadixOutput::Column& column, uint64_t place, const Word* payloads,
                      uint32_t rows) {
        if (!column.values) return;
        std::byte* to = column.values + place * column.width;
        if (column.width == sizeof(Word)) {
            std::memcpy(to, payloads, rows * sizeof(Word));
        } else {
            std::copy_n(payloads, rows, reinterpret_cast<uint32_t*>(to));
        }
    }

    RadixTable<Word> table_;
    RadixItem item_;        // what is left of it
    uint32_t matched_ = 0;  // matches of its next probe tuple that were collected
    uint32_t collected_ = 0;
    Word build_[kRoom];
    Word probe_[kRoom];
};

}  // namespace gpujoin::cpu
