// Tuples (key, build row): what key tables are built from.
#pragma once

#include <bit>
#include <cstdint>
#include <mutex>
#include <vector>

#include "engine/cpu/context.h"
#include "engine/cpu/memory/host_array.h"
#include "engine/cpu/columns/key_reader.h"
#include "engine/cpu/work/partition.h"

namespace gpujoin::cpu {

template <typename Key>
struct KeyTuple {
    Key key;
    uint32_t row;
};

// Which build rows, in which order: all of them (list == nullptr), or `count` row numbers, which are grouped
// by key even where keys are unique.
struct RowList {
    const uint32_t* list = nullptr;
    uint64_t count = 0;
};

// Makes the tuples of a block of build rows: a source for partition().
template <typename Key>
class TupleSource {
  public:
    TupleSource(const KeyReader& reader, RowList rows) : reader_(reader), rows_(rows) {}

    uint32_t operator()(uint64_t first, uint32_t rows, KeyTuple<Key>* tuples) const {
        Key keys[kBlockRows];
        const uint32_t* list = rows_.list ? rows_.list + first : nullptr;
        reader_.read(first, list, rows, keys);
        auto row = [&](uint32_t i) { return list ? list[i] : static_cast<uint32_t>(first + i); };
        if (!reader_.has_nulls()) {
            for (uint32_t i = 0; i < rows; i++) tuples[i] = {keys[i], row(i)};
            return rows;
        }
        uint32_t count = 0;
        for (uint32_t i = 0; i < rows; i++) {
            tuples[count] = {keys[i], row(i)};
            count += !reader_.has_null(row(i));
        }
        return count;
    }

  private:
    const KeyReader& reader_;
    RowList rows_;
};

// Tuples in partitions: partition p is tuples[starts[p], starts[p + 1]).
template <typename Key>
struct PartitionedTuples {
    HostArray memory;
    std::vector<uint64_t> starts;

    KeyTuple<Key>* begin(uint32_t p) const { return memory.template as<KeyTuple<Key>>() + starts[p]; }
    KeyTuple<Key>* end(uint32_t p) const { return memory.template as<KeyTuple<Key>>() + starts[p + 1]; }
    uint32_t partitions() const { return static_cast<uint32_t>(starts.size() - 1); }
    uint64_t size() const { return starts.back(); }
    uint64_t rows(uint32_t p) const { return starts[p + 1] - starts[p]; }

    // Calls use(tuples, rows) for every kBlockRows tuples of a partition, which may be all there are; stops
    // when cancelled.
    template <typename Use>
    void for_each_block(uint32_t p, const std::atomic<bool>* cancel, const Use& use) const {
        for (const KeyTuple<Key>* t = begin(p); t < end(p) && !should_stop(cancel); t += kBlockRows)
            use(t, static_cast<uint32_t>(std::min<int64_t>(kBlockRows, end(p) - t)));
    }
    // The same with use(tuple) for every tuple.
    template <typename Use>
    void for_each(uint32_t p, const std::atomic<bool>* cancel, const Use& use) const {
        for_each_block(p, cancel, [&](const KeyTuple<Key>* tuples, uint32_t rows) {
            for (uint32_t i = 0; i < rows; i++) use(tuples[i]);
        });
    }
};

template <typename Key, typename Bucket>
Status partition_tuples(JoinContext& join, const KeyReader& reader, RowList rows, uint32_t partitions,
                        const Bucket& bucket, PartitionedTuples<Key>* tuples) {
    GPUJOIN_RETURN_IF_FAILED(
        tuples->memory.allocate(join.limits.host_memory, rows.count * sizeof(KeyTuple<Key>)));
    return partition(*join.workers, join.limits.cancel, rows.count, partitions,
                     TupleSource<Key>(reader, rows), bucket, tuples->memory.template as<KeyTuple<Key>>(),
                     &tuples->starts);
}

// Partitions by the upper bits of the hash, each small enough for a core's cache; the number is a power of
// two.
template <typename Key>
Status partition_by_hash(JoinContext& join, const KeyReader& reader, RowList rows,
                         PartitionedTuples<Key>* tuples) {
    constexpr uint64_t kPartitionRows = 16u << 10;
    constexpr uint32_t kMostBits = 12;
    const uint32_t bits =
        std::min(static_cast<uint32_t>(std::bit_width(rows.count / kPartitionRows)), kMostBits);
    auto partition_of = [bits](const KeyTuple<Key>& tuple) {
        return static_cast<uint32_t>(hash_key(tuple.key) >> 1 >> (63 - bits));
    };
    return partition_tuples(join, reader, rows, 1u << bits, partition_of, tuples);
}

}  // namespace gpujoin::cpu
