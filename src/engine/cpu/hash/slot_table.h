// SlotTable: open addressing with linear probing. The upper bits of a key's hash choose a partition, the next
// ones a slot in that partition's region of the table; a region has room for half as many keys again as its
// partition has rows, so it is never full. A slot holds the key and its group: first position and count.
//
// To find out that a key is not there takes longest: a cache miss, and then all slots up to a free one. So
// there is a filter too, a word for every eight slots.
#pragma once

#include <atomic>
#include <bit>
#include <vector>

#include "engine/cpu/hash/key_filter.h"
#include "engine/cpu/hash/key_table.h"
#include "engine/cpu/hash/key_tuples.h"

namespace gpujoin::cpu {

template <typename Key>
class SlotTable final : public KeyTable {
  public:
    // tuples: of all the rows, partitioned by hash.
    Status build(JoinContext& join, const KeyReader& reader, RowList rows,
                 const PartitionedTuples<Key>& tuples) {
        columns_ = reader.columns();
        bits_ = static_cast<uint32_t>(std::countr_zero(tuples.partitions()));
        GPUJOIN_RETURN_IF_FAILED(make_regions(join, tuples));
        std::atomic<bool> duplicates{false};
        GPUJOIN_RETURN_IF_FAILED(join.workers->run(join.limits.cancel, tuples.partitions(), [&](uint32_t p) {
            if (insert(tuples, p, join.limits.cancel)) duplicates.store(true, std::memory_order_relaxed);
        }));
        unique_ = !duplicates.load();
        positions_ = join.build.rows();
        return unique_ && !rows.list ? Status{} : build_groups(join, tuples);
    }

    void find(const KeyReader& probe, uint64_t begin, uint32_t rows, uint32_t* first,
              uint32_t* count) const override {
        Key keys[kBlockRows];
        probe.read(begin, nullptr, rows, keys);
        uint32_t found;
        if (filter_.is_worth_asking(kMostFoundPercent)) {
            uint32_t list[kBlockRows];
            const uint32_t listed = filter_.list_keys(
                keys, rows, [this](uint64_t hash) { return home(region_of(hash), hash) / kSlotsPerWord; },
                list);
            std::fill_n(count, rows, 0);
            auto row = [&](uint32_t l) { return list[l]; };
            found = find_rows(probe, begin, keys, listed, row, first, count);
        } else {
            auto row = [](uint32_t l) { return l; };
            found = find_rows(probe, begin, keys, rows, row, first, count);
        }
        filter_.note(rows, found);
    }

  private:
    static constexpr uint32_t kPrefetch = 64;
    static constexpr uint32_t kSlotsPerWord = 8;       // of the filter
    static constexpr uint32_t kMostFoundPercent = 75;  // for which asking the filter pays

    struct Slot {
        Key key;
        uint32_t first;
        uint32_t count;  // 0: the slot is free
    };
    struct Region {
        uint64_t start;
        uint64_t slots;
    };

    Slot* slots() const { return slots_.template as<Slot>(); }
    uint32_t row_at(uint32_t position) const {
        return row_of_position_.empty() ? position : row_of_position_.template as<uint32_t>()[position];
    }
    const Region& region_of(uint64_t hash) const { return regions_[hash >> 1 >> (63 - bits_)]; }
    uint64_t home(const Region& region, uint64_t hash) const {
        return region.start + ((hash << bits_ >> 32) * region.slots >> 32);
    }

    // Finds the keys row(0), row(1) …, prefetching their slots a group at a time. Returns how many there are.
    template <typename Row>
    uint32_t find_rows(const KeyReader& probe, uint64_t begin, const Key* keys, uint32_t rows, const Row& row,
                       uint32_t* first, uint32_t* count) const {
        uint64_t at[kPrefetch];
        uint32_t found = 0;
        for (uint32_t group = 0; group < rows; group += kPrefetch) {
            const uint32_t end = std::min(group + kPrefetch, rows);
            for (uint32_t l = group; l < end; l++) {
                const uint64_t hash = hash_key(keys[row(l)]);
                at[l - group] = home(region_of(hash), hash);
                __builtin_prefetch(&slots()[at[l - group]]);
            }
            for (uint32_t l = group; l < end; l++) {
                const uint32_t i = row(l);
                const Slot& slot = look_up(keys[i], at[l - group], [&](const Slot& candidate) {
                    return equal_keys(columns_, row_at(candidate.first), probe.columns(), begin + i);
                });
                first[i] = slot.first;
                count[i] = slot.count;
                found += slot.count != 0;
            }
        }
        return found;
    }

    // Follows a key from its home slot to its own slot, or to a free one. For hashed keys, same(slot)
    // compares the columns.
    template <typename Same>
    Slot& look_up(const Key& key, uint64_t at, const Same& same) const {
        Slot* slot = slots() + at;
        if (slot->count == 0 || (slot->key == key && (!kIsHashed<Key> || same(*slot)))) return *slot;
        const Region& region = region_of(hash_key(key));
        Slot* end = slots() + region.start + region.slots;
        do {
            if (++slot == end) slot = slots() + region.start;
        } while (slot->count != 0 && !(slot->key == key && (!kIsHashed<Key> || same(*slot))));
        return *slot;
    }

    Status make_regions(JoinContext& join, const PartitionedTuples<Key>& tuples) {
        regions_.resize(tuples.partitions());
        uint64_t next = 0;
        for (uint32_t p = 0; p < tuples.partitions(); p++) {
            const uint64_t rows = tuples.rows(p);
            // Whole words of the filter: each is written by one thread.
            regions_[p] = {next, (rows + rows / 2) / kSlotsPerWord * kSlotsPerWord + kSlotsPerWord};
            next += regions_[p].slots;
        }
        GPUJOIN_RETURN_IF_FAILED(filter_.allocate(join.limits.host_memory, next / kSlotsPerWord));
        return slots_.allocate(join.limits.host_memory, next * sizeof(Slot));
    }

    // Puts every key of a partition into its slot, `first` being its first row. True if a key came twice.
    bool insert(const PartitionedTuples<Key>& tuples, uint32_t p, const std::atomic<bool>* cancel) {
        bool duplicates = false;
        tuples.for_each(p, cancel, [&](const KeyTuple<Key>& tuple) {
            const uint64_t hash = hash_key(tuple.key);
            const uint64_t at = home(regions_[p], hash);
            Slot& slot = look_up(tuple.key, at, [&](const Slot& other) {
                return equal_keys(columns_, other.first, columns_, tuple.row);
            });
            if (slot.count == 0) {
                slot = {tuple.key, tuple.row, 1};
                filter_.add(at / kSlotsPerWord, hash);
            } else {
                slot.count++;
                duplicates = true;
            }
        });
        return duplicates;
    }

    Status build_groups(JoinContext& join, const PartitionedTuples<Key>& tuples) {
        GPUJOIN_RETURN_IF_FAILED(
            row_of_position_.allocate(join.limits.host_memory, (tuples.size() + 1) * sizeof(uint32_t)));
        positions_ = tuples.size();
        return join.workers->run(join.limits.cancel, tuples.partitions(),
                                 [&](uint32_t p) { fill(tuples, p, join.limits.cancel); });
    }

    // Calls use(slot) for every slot of a region that is not free; stops when cancelled.
    template <typename Use>
    void for_used(const Region& region, const std::atomic<bool>* cancel, const Use& use) const {
        Slot* all = slots() + region.start;
        for (uint64_t first = 0; first < region.slots && !should_stop(cancel); first += kParallelRows) {
            const uint64_t end = std::min(region.slots, first + kParallelRows);
            for (uint64_t s = first; s < end; s++)
                if (all[s].count != 0) use(all[s]);
        }
    }

    // Gives each key of a partition its range of positions and fills it. A group's first row is written at
    // once, as hashed keys are compared with it; being the first tuple of its key, it stays where it is.
    // Meanwhile a slot's count is one more than the rows filled in, so that no slot looks free.
    void fill(const PartitionedTuples<Key>& tuples, uint32_t p, const std::atomic<bool>* cancel) {
        uint32_t* row_of_position = row_of_position_.template as<uint32_t>();
        uint32_t next = static_cast<uint32_t>(tuples.starts[p]);
        for_used(regions_[p], cancel, [&](Slot& slot) {
            row_of_position[next] = slot.first;
            slot.first = next;
            next += std::exchange(slot.count, 1);
        });
        tuples.for_each(p, cancel, [&](const KeyTuple<Key>& tuple) {
            Slot& slot = look_up(tuple.key, home(regions_[p], hash_key(tuple.key)), [&](const Slot& other) {
                return equal_keys(columns_, row_of_position[other.first], columns_, tuple.row);
            });
            row_of_position[slot.first + slot.count++ - 1] = tuple.row;
        });
        for_used(regions_[p], cancel, [](Slot& slot) { slot.count--; });
    }

    uint32_t bits_ = 0;
    std::vector<Region> regions_;
    std::vector<ColumnSource> columns_;  // the build side's key columns, to compare hashed keys
    HostArray slots_;
    KeyFilter filter_;
};

}  // namespace gpujoin::cpu
