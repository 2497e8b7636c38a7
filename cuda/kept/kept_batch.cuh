// KeptBatch: how kernels see the kept rows that a batch is made of: rows of several chunks, one chunk behind
// the other, numbered from 0 on.
#pragma once

#include <cstdint>

#include "engine/compare.h"
#include "engine/filter_values.h"
#include "engine/host_device.h"
#include "engine/search.h"
#include "wire/kept.h"

namespace gpujoin::cuda {

// A KeptValues (engine/kept/kept_values.h). Pointers are device memory, not owned.
struct KeptColumn {
    const std::byte* values;  // fixed types, or codes; nullptr: all codes are 0
    const uint32_t* starts;   // Bytes: where each entry begins in data, and the end
    const std::byte* data;    // Bytes
    const uint8_t* validity;  // nullptr: no NULLs
    int64_t base;             // that is added to integers
    ColumnType type;          // of what lies in `values`
    ValueOrder order;
    bool has_entries;  // Bytes: codes are numbers of entries; else the row is

    GPUJOIN_HD bool is_valid(uint64_t row) const {
        return !validity || (validity[row >> 3] >> (row & 7) & 1);
    }
    // Of a column of integers. Of a NULL any.
    GPUJOIN_HD int64_t integer(uint64_t row) const {
        return static_cast<int64_t>(static_cast<uint64_t>(base) + static_cast<uint64_t>(stored(row)));
    }
    GPUJOIN_HD bool passes(const KeptCondition& condition, uint64_t row) const {
        if (!is_valid(row)) return condition.null_passes != 0;
        if (condition.test >= KeptTest::Same)
            return has_bytes(condition, entry(row)) == (condition.test == KeptTest::Same);
        const int64_t number = order == ValueOrder::Float ? ordered_float(row) : integer(row);
        const uint64_t distance =
            static_cast<uint64_t>(number) - static_cast<uint64_t>(condition.interval.low);
        return (distance <= condition.interval.span) == (condition.test == KeptTest::Inside);
    }
    // Of a Bytes column: the number of a row's entry; where that begins, and its bytes.
    GPUJOIN_HD uint64_t entry(uint64_t row) const {
        return has_entries ? static_cast<uint64_t>(stored(row)) : row;
    }
    GPUJOIN_HD uint32_t start(uint64_t entry) const { return starts[entry]; }
    GPUJOIN_HD uint32_t length(uint64_t entry) const { return starts[entry + 1] - starts[entry]; }

    template <typename T>
    GPUJOIN_HD const T* as() const {
        return reinterpret_cast<const T*>(values);
    }

  private:
    GPUJOIN_HD bool has_bytes(const KeptCondition& condition, uint64_t entry) const {
        if (length(entry) != condition.length) return false;
        const auto* bytes = reinterpret_cast<const char*>(data) + start(entry);
        for (uint32_t i = 0; i < condition.length; i++)
            if (bytes[i] != condition.bytes[i]) return false;
        return true;
    }
    GPUJOIN_HD int64_t ordered_float(uint64_t row) const {
        return kept_order(type == ColumnType::Fixed4 ? double{as<float>()[row]} : as<double>()[row]);
    }
    GPUJOIN_HD int64_t stored(uint64_t row) const {
        if (!values) return 0;
        switch (type) {
            case ColumnType::Fixed1:
                return extend<int8_t, uint8_t>(row);
            case ColumnType::Fixed2:
                return extend<int16_t, uint16_t>(row);
            case ColumnType::Fixed4:
                return extend<int32_t, uint32_t>(row);
            default:
                return as<int64_t>()[row];
        }
    }
    template <typename Signed, typename Unsigned>
    GPUJOIN_HD int64_t extend(uint64_t row) const {
        return order == ValueOrder::Signed ? int64_t{as<Signed>()[row]} : int64_t{as<Unsigned>()[row]};
    }
};

// Some rows of a chunk.
struct KeptStretch {
    uint32_t end;                // of the batch's rows: where those of the next stretch begin
    uint32_t first;              // of the batch's rows
    uint64_t row;                // of the chunk: the first one
    const uint32_t* first_rows;  // of the chunk, by block; nullptr: rows of all blocks are wanted
    const ChunkMap* map;         // of the blocks whose rows are wanted

    GPUJOIN_HD bool wants(uint64_t row_of_chunk) const {
        if (!first_rows) return true;
        const auto row32 = static_cast<uint32_t>(row_of_chunk);
        const uint32_t block = upper_bound(first_rows, kChunkBlocks + 1, row32) - 1;
        return map->bits[block >> 3] >> (block & 7) & 1;
    }
};

struct KeptBatch {
    const KeptStretch* stretches;
    const KeptColumn* columns;  // of each stretch, one stretch behind the other
    uint32_t stretch_count;
    uint32_t column_count;
    const KeptCondition* conditions;
    uint32_t condition_count;

    GPUJOIN_HD uint32_t stretch_of(uint32_t row) const {
        uint32_t first = 0;
        for (uint32_t last = stretch_count - 1; first < last;) {
            const uint32_t middle = (first + last) / 2;
            if (row >= stretches[middle].end)
                first = middle + 1;
            else
                last = middle;
        }
        return first;
    }
    GPUJOIN_HD const KeptColumn& column(uint32_t stretch, uint32_t number) const {
        return columns[stretch * column_count + number];
    }
    GPUJOIN_HD uint64_t row_of_chunk(uint32_t stretch, uint32_t row) const {
        return stretches[stretch].row + (row - stretches[stretch].first);
    }

    // Whether a row is of a wanted block and meets the conditions.
    GPUJOIN_HD bool passes(uint32_t row) const {
        const uint32_t stretch = stretch_of(row);
        const uint64_t of_chunk = row_of_chunk(stretch, row);
        if (!stretches[stretch].wants(of_chunk)) return false;
        uint32_t next = condition_count > 0 ? 0 : kRowIsWanted;
        while (next < kRowIsWanted) {
            const KeptCondition& condition = conditions[next];
            const bool passes = column(stretch, condition.column).passes(condition, of_chunk);
            next = passes ? condition.if_passed : condition.if_failed;
        }
        return next == kRowIsWanted;
    }
};

}  // namespace gpujoin::cuda
