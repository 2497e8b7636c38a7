// One side of a radix join: (key, payload) tuples, grouped into 2^bits partitions.
//
// The key of a tuple is mixed by a bijection first. So equal mixed keys mean equal keys, no key is hashed
// again, and the lowest `bits` bits number the partition. The payload is the value of a column where a join
// gives back at most one column of that side, so that nothing is gathered by row at the end; else it is the
// row number.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cpu/context.h"
#include "engine/cpu/memory/host_array.h"
#include "engine/cpu/work/partition.h"

namespace gpujoin::cpu {

// Word: uint32_t, or uint64_t where a key or a payload needs it.
template <typename Word>
struct RadixTuple {
    Word key;  // mixed
    Word payload;
};

// The rows that become tuples.
struct RadixInput {
    KeyReader reader;
    uint32_t key_bytes;    // 4 or 8
    ColumnSource payload;  // 4 or 8 bytes wide; values == nullptr: row numbers
    uint64_t rows;         // < 2^32
};

// Mixes keys and puts their payloads beside them.
void make_tuples(const uint32_t* keys, const uint32_t* payloads, uint32_t rows, RadixTuple<uint32_t>* tuples);
void make_tuples(const uint64_t* keys, const uint64_t* payloads, uint32_t rows, RadixTuple<uint64_t>* tuples);

// Makes the tuples of a block of rows: a source for partition().
template <typename Word>
class RadixSource {
  public:
    explicit RadixSource(const RadixInput& input) : input_(input) {}

    uint32_t operator()(uint64_t first, uint32_t rows, RadixTuple<Word>* tuples) const {
        Word keys[kBlockRows], payloads[kBlockRows];
        read_keys(first, rows, keys);
        read_payloads(first, rows, payloads);
        make_tuples(keys, payloads, rows, tuples);
        return input_.reader.has_nulls() ? drop_nulls(first, rows, tuples) : rows;
    }

  private:
    void read_keys(uint64_t first, uint32_t rows, Word* keys) const {
        if (input_.key_bytes == sizeof(Word)) return input_.reader.read(first, nullptr, rows, keys);
        uint32_t narrow[kBlockRows];
        input_.reader.read(first, nullptr, rows, narrow);
        std::copy_n(narrow, rows, keys);
    }

    void read_payloads(uint64_t first, uint32_t rows, Word* payloads) const {
        const ColumnSource& column = input_.payload;
        if (!column.values) {
            for (uint32_t i = 0; i < rows; i++) payloads[i] = static_cast<Word>(first + i);
        } else if (fixed_width(column.spec.type) == sizeof(Word)) {
            std::memcpy(payloads, column.values + first * sizeof(Word), rows * sizeof(Word));
        } else {
            std::copy_n(reinterpret_cast<const uint32_t*>(column.values) + first, rows, payloads);
        }
    }

    uint32_t drop_nulls(uint64_t first, uint32_t rows, RadixTuple<Word>* tuples) const {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < rows; i++) {
            tuples[kept] = tuples[i];
            kept += !input_.reader.has_null(first + i);
        }
        return kept;
    }

    const RadixInput& input_;
};

// Partition p is tuples [starts[p], starts[p + 1]).
template <typename Word>
struct RadixSide {
    HostArray memory;
    std::vector<uint64_t> starts;

    const RadixTuple<Word>* tuples() const { return memory.as<RadixTuple<Word>>(); }

    Status partition(JoinContext& join, const RadixInput& input, uint32_t bits) {
        const Word mask = (Word{1} << bits) - 1;
        GPUJOIN_RETURN_IF_FAILED(
            memory.allocate(join.limits.host_memory, (input.rows + 1) * sizeof(RadixTuple<Word>)));
        return cpu::partition(
            *join.workers, join.limits.cancel, input.rows, 1u << bits, RadixSource<Word>(input),
            [mask](const RadixTuple<Word>& tuple) { return static_cast<uint32_t>(tuple.key & mask); },
            memory.as<RadixTuple<Word>>(), &starts);
    }
};

}  // namespace gpujoin::cpu
