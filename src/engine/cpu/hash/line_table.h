// LineTable: open addressing by the cache line, for integer keys that no two build rows share. A line holds
// as many keys as fit into it beside their row numbers, and all of them are compared with a key that is
// looked up, without a branch: a probe is one cache miss, and nothing is guessed wrong meanwhile. The upper
// bits of a key's hash choose its line; the lines of a partition are neighbours, and a key whose line is full
// goes to the next one of its partition.
#pragma once

#include <atomic>

#include "engine/cpu/hash/key_filter.h"
#include "engine/cpu/hash/key_table.h"
#include "engine/cpu/hash/key_tuples.h"

namespace gpujoin::cpu {

template <typename Key>
struct alignas(64) KeyLine {
    static constexpr uint32_t kPlaces = 64 / (sizeof(Key) + sizeof(uint32_t));

    Key keys[kPlaces];
    uint32_t numbers[kPlaces];  // row number + 1; 0: free, as are all places behind it

    bool is_full() const { return numbers[kPlaces - 1] != 0; }

    // The number beside a key; 0: the key is not here.
    uint32_t number_of(Key key) const {
        uint32_t number = 0;
        for (uint32_t i = 0; i < kPlaces; i++) number |= -static_cast<uint32_t>(keys[i] == key) & numbers[i];
        return number;
    }

    // Not of a line that is full.
    void add(Key key, uint32_t number) {
        uint32_t used = 0;
        for (uint32_t i = 0; i < kPlaces; i++) used += numbers[i] != 0;
        keys[used] = key;
        numbers[used] = number;
    }
};

template <typename Key>
class LineTable final : public KeyTable {
  public:
    // Whether it was built: not where keys come twice, or their hashes are so uneven that lines would be
    // crowded.
    Status build(JoinContext& join, const PartitionedTuples<Key>& tuples, bool* built) {
        *built = false;
        const uint64_t partitions = tuples.partitions();
        const uint64_t places = tuples.size() + tuples.size() / 2;
        partition_lines_ = places / (partitions * Line::kPlaces) + 1;
        line_count_ = partitions * partition_lines_;
        for (uint32_t p = 0; p < partitions; p++)
            if (tuples.rows(p) >= partition_lines_ * Line::kPlaces * 7 / 8) return {};
        GPUJOIN_RETURN_IF_FAILED(memory_.allocate(join.limits.host_memory, line_count_ * sizeof(Line)));
        GPUJOIN_RETURN_IF_FAILED(filter_.allocate(join.limits.host_memory, line_count_));
        std::atomic<bool> duplicates{false};
        GPUJOIN_RETURN_IF_FAILED(join.workers->run(join.limits.cancel, tuples.partitions(), [&](uint32_t p) {
            tuples.for_each_block(p, join.limits.cancel, [&](const KeyTuple<Key>* block, uint32_t rows) {
                if (duplicates.load(std::memory_order_relaxed)) return;
                if (!insert(block, rows)) duplicates.store(true, std::memory_order_relaxed);
            });
        }));
        *built = !duplicates.load();
        positions_ = join.build.rows();
        return {};
    }

    void find(const KeyReader& probe, uint64_t begin, uint32_t rows, uint32_t* first,
              uint32_t* count) const override {
        Key keys[kBlockRows];
        probe.read(begin, nullptr, rows, keys);
        if (filter_.is_worth_asking(kMostFoundPercent)) {
            find_filtered(keys, rows, first);
        } else {
            find_numbers(keys, rows, first);
        }
        uint32_t found = 0;
        for (uint32_t i = 0; i < rows; i++) {
            count[i] = first[i] != 0;
            found += count[i];
            first[i]--;
        }
        filter_.note(rows, found);
    }

  private:
    using Line = KeyLine<Key>;
    static constexpr uint32_t kAhead = 24;             // lines: more than a core waits for at once
    static constexpr uint32_t kMostFoundPercent = 50;  // for which asking the filter pays

    Line* lines() const { return memory_.template as<Line>(); }
    uint32_t home(uint64_t hash) const { return static_cast<uint32_t>((hash >> 32) * line_count_ >> 32); }
    uint64_t next(uint64_t line) const {
        return (line + 1) % partition_lines_ ? line + 1 : line + 1 - partition_lines_;
    }

    // Calls use(i, hash of keys[i], home line) for each key, having fetched the lines ahead.
    template <typename Use>
    void for_homes(const Key* keys, uint32_t rows, const Use& use) const {
        uint64_t hashes[kBlockRows];
        auto fetch = [&](uint32_t i) {
            hashes[i] = hash_key(keys[i]);
            __builtin_prefetch(lines() + home(hashes[i]));
        };
        for (uint32_t i = 0; i < std::min(kAhead, rows); i++) fetch(i);
        for (uint32_t i = 0; i < rows; i++) {
            if (i + kAhead < rows) fetch(i + kAhead);
            use(i, hashes[i], home(hashes[i]));
        }
    }

    // The number of each key, or 0. Keys that are not in their home line, which is full, wait until further
    // lines have been fetched too.
    void find_numbers(const Key* keys, uint32_t rows, uint32_t* numbers) const {
        uint32_t list[kBlockRows];
        uint32_t listed = 0;
        for_homes(keys, rows, [&](uint32_t i, uint64_t, uint64_t line) {
            numbers[i] = lines()[line].number_of(keys[i]);
            list[listed] = i;
            listed += (numbers[i] == 0) & lines()[line].is_full();
        });
        for (uint32_t l = 0; l < listed; l++)
            __builtin_prefetch(lines() + next(home(hash_key(keys[list[l]]))));
        for (uint32_t l = 0; l < listed; l++) numbers[list[l]] = number_beyond_home(keys[list[l]]);
    }

    // The same for the keys that the filter lets through, which are moved to the front.
    void find_filtered(Key* keys, uint32_t rows, uint32_t* numbers) const {
        uint32_t list[kBlockRows], listed_numbers[kBlockRows];
        auto word = [this](uint64_t hash) { return home(hash); };
        const uint32_t listed = filter_.list_keys(keys, rows, word, list);
        for (uint32_t l = 0; l < listed; l++) keys[l] = keys[list[l]];
        find_numbers(keys, listed, listed_numbers);
        std::fill_n(numbers, rows, 0);
        for (uint32_t l = 0; l < listed; l++) numbers[list[l]] = listed_numbers[l];
    }

    uint32_t number_beyond_home(Key key) const {
        uint64_t line = home(hash_key(key));
        while (true) {
            line = next(line);
            const uint32_t number = lines()[line].number_of(key);
            if (number != 0 || !lines()[line].is_full()) return number;
        }
    }

    // Adds tuples of one partition. False if a key is there already.
    bool insert(const KeyTuple<Key>* tuples, uint32_t rows) {
        Key keys[kBlockRows];
        for (uint32_t i = 0; i < rows; i++) keys[i] = tuples[i].key;
        uint32_t same = 0;
        for_homes(keys, rows, [&](uint32_t i, uint64_t hash, uint64_t line) {
            filter_.add(line, hash);
            for (; lines()[line].is_full(); line = next(line)) same |= lines()[line].number_of(keys[i]);
            same |= lines()[line].number_of(keys[i]);
            lines()[line].add(keys[i], tuples[i].row + 1);
        });
        return same == 0;
    }

    uint64_t partition_lines_ = 1;
    uint64_t line_count_ = 1;
    HostArray memory_;
    KeyFilter filter_;  // a word a line
};

}  // namespace gpujoin::cpu
