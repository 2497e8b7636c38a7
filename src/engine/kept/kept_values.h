// KeptValues: the values of a column of a chunk, as they came or, once the chunk is sealed, in less memory
// (engine/kept/compression.h). Any row can be read by itself.
#pragma once

#include <cstdint>

#include "engine/kept/kept_array.h"
#include "engine/kept/kept_numbers.h"
#include "engine/kept/value_bounds.h"
#include "wire/kept.h"

namespace gpujoin {

enum class KeptCompression : uint8_t {
    Plain,             // values of fixed types side by side; of Bytes each row is an entry
    FrameOfReference,  // of an integer its code is what it is more than the least of them, the base
    Dictionary,        // of Bytes the code is the number of an entry, and each entry is there once
};

struct KeptValues {
    explicit KeptValues(const ChunkColumn& of, Ledger* ledger)
        : column(of),
          stored(of.spec),
          values(ledger),
          starts(ledger),
          data(ledger),
          validity(ledger),
          bounds(ledger) {}

    ChunkColumn column;
    KeptCompression compression = KeptCompression::Plain;
    ColumnSpec stored;       // of what lies in `values`: the column's, or that of codes, which are unsigned
    int64_t base = 0;        // FrameOfReference
    uint64_t all_bytes = 0;  // Dictionary: of all rows' values, at most
    KeptArray values;        // of fixed types, or codes; nothing where all codes are 0
    KeptArray starts;        // Bytes: uint32, where each entry begins in data, and the end
    KeptArray data;          // Bytes; some more behind a dictionary
    KeptArray validity;      // one bit a row; empty: no NULLs. Fixed types have any code where a row is NULL
    KeptArray bounds;        // a ValueBounds for each stretch; empty where has_bounds() says so

    const uint8_t* validity_bits() const { return validity.bytes() > 0 ? validity.as<uint8_t>() : nullptr; }
    // Of the stretch, by its number; nullptr where the column has none.
    const ValueBounds* bounds_of(uint64_t stretch) const {
        return bounds.bytes() > 0 ? bounds.as<ValueBounds>() + stretch : nullptr;
    }
    uint64_t entries() const { return starts.bytes() > 0 ? starts.bytes() / sizeof(uint32_t) - 1 : 0; }
    uint32_t start_of(uint64_t entry) const { return starts.as<uint32_t>()[entry]; }
    uint32_t length_of(uint64_t entry) const { return start_of(entry + 1) - start_of(entry); }
    uint64_t charged() const {
        return values.charged() + starts.charged() + data.charged() + validity.charged() + bounds.charged();
    }
    void shrink() {
        for (KeptArray* array : {&values, &starts, &data, &validity, &bounds}) array->shrink();
    }
};

// Calls visit with what gives the integer that is stored for a row: of a column of integers, or the code.
template <typename Visit>
void with_stored(const KeptValues& values, const Visit& visit) {
    if (values.values.bytes() == 0) return visit([](uint32_t) { return uint8_t{0}; });
    with_integer(values.stored, [&](auto integer) {
        const auto* stored = values.values.as<decltype(integer)>();
        visit([stored](uint32_t row) { return stored[row]; });
    });
}

// Calls visit with what gives the number of a row's entry, of a Bytes column.
template <typename Visit>
void with_entries(const KeptValues& values, const Visit& visit) {
    if (values.compression == KeptCompression::Plain) return visit([](uint32_t row) { return row; });
    if (values.values.bytes() == 0) return visit([](uint32_t) { return uint32_t{0}; });
    const auto* narrow = values.values.as<uint8_t>();
    const auto* wide = values.values.as<uint16_t>();
    if (values.stored.type == ColumnType::Fixed1)
        visit([narrow](uint32_t row) { return uint32_t{narrow[row]}; });
    else
        visit([wide](uint32_t row) { return uint32_t{wide[row]}; });
}

// Lays the values of rows of a column of a fixed type side by side, as a type that is not narrower and of the
// same order. Of NULLs any value. is_run: the rows lie one behind the other.
void gather_fixed(const KeptValues& values, ColumnType wanted, const uint32_t* rows, uint32_t count,
                  bool is_run, std::byte* to);

}  // namespace gpujoin
