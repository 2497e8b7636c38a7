// Columns: a relation in memory, made column by column in a place, and slices of it as batches of an engine.
#pragma once

#include <span>
#include <vector>

#include "place.h"
#include "wire/batch.h"

namespace gpujoin::bench {

struct Relation {
    Keys keys;
    uint64_t rows = 0;
};

struct Columns {
    std::vector<Buffer> buffers;
    std::vector<ColumnView> views;
    uint64_t rows = 0;
};

// What a column of keys is to an engine.
ColumnSpec key_column(Format format);

// Adds columns to a relation in a place.
class ColumnMaker {
  public:
    ColumnMaker(Place& place, uint64_t rows) : place_(place) { columns_.rows = rows; }

    // Moved up by `offset`; texts are not.
    void add_keys(const Keys& keys, Format format, uint64_t offset = 0);
    void add_row_numbers(uint32_t width);
    // Of a dimension whose rows have these keys.
    void add_attributes(const Keys& keys, uint32_t dimension);

    Columns take() { return std::move(columns_); }

  private:
    void add_texts(const Keys& keys);
    std::byte* allocate(uint64_t bytes);
    std::byte* add_fixed(uint32_t width);

    Place& place_;
    Columns columns_;
};

// Rows [first, first + rows) of the first specs.size() columns. Offsets of texts, which are all of one
// length, serve any rows of a relation.
struct Slice {
    std::vector<ColumnView> views;
    BatchView batch;

    Slice(const Columns& columns, std::span<const ColumnSpec> specs, uint64_t first, uint64_t rows,
          Memory memory);
    Slice(const Slice&) = delete;
};

}  // namespace gpujoin::bench
