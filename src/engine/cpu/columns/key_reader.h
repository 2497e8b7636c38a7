// KeyReader: makes the keys of a join from the columns of one side, a block of rows at a time and column by
// column, so that types are looked at once a block and not once a row.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "engine/cpu/columns/column_source.h"
#include "engine/hash.h"
#include "engine/key_layout.h"

namespace gpujoin::cpu {

// Rows that are looked at together; arrays of this many keys live on the stack.
inline constexpr uint32_t kBlockRows = 1024;

// The key of a row whose columns do not fit into a packed key. Equal hashes do not mean equal keys.
struct HashedKey {
    uint64_t hash = 0;
    friend bool operator==(const HashedKey& a, const HashedKey& b) { return a.hash == b.hash; }
};

using gpujoin::hash_key;
inline uint64_t hash_key(const HashedKey& key) {
    return key.hash;
}

template <typename Key>
inline constexpr bool kIsHashed = false;
template <>
inline constexpr bool kIsHashed<HashedKey> = true;

class KeyReader {
  public:
    // keys: the equality columns of one side, in the order of layout.part. terms: all columns of that side
    // that a term looks at; a row with a NULL in any of them matches nothing. The layout outlives the reader.
    KeyReader(const KeyLayout& layout, std::vector<ColumnSource> keys, const std::vector<ColumnSource>& terms)
        : layout_(&layout), keys_(std::move(keys)) {
        for (const ColumnSource& term : terms)
            if (term.has_nulls()) nullable_.push_back(term);
    }

    // Keys of rows [first, first + rows), or of the rows named by `list` if there is one.
    template <typename Key>
    void read(uint64_t first, const uint32_t* list, uint32_t rows, Key* keys) const {
        if constexpr (!kIsHashed<Key>) {
            if (!list && keys_.size() == 1 && layout_->part[0].width == sizeof(Key)) {
                std::memcpy(keys, keys_[0].values + first * sizeof(Key), rows * sizeof(Key));
                return;
            }
        }
        std::memset(static_cast<void*>(keys), 0, rows * sizeof(Key));
        for (uint32_t i = 0; i < keys_.size(); i++) {
            if (list) {
                add_part(i, rows, keys, [list](uint32_t row) { return uint64_t{list[row]}; });
            } else {
                add_part(i, rows, keys, [first](uint32_t row) { return first + row; });
            }
        }
    }

    bool has_nulls() const { return !nullable_.empty(); }

    bool has_null(uint64_t row) const {
        for (const ColumnSource& column : nullable_)
            if (column.is_null(row)) return true;
        return false;
    }

    const std::vector<ColumnSource>& columns() const { return keys_; }

  private:
    template <typename Key, typename Row>
    void add_part(uint32_t i, uint32_t rows, Key* keys, const Row& row) const {
        const KeyPart& part = layout_->part[i];
        const ColumnSource& column = keys_[i];
        if constexpr (kIsHashed<Key>) {
            for (uint32_t r = 0; r < rows; r++) {
                ValueRef value = column.value(row(r));
                uint64_t hash =
                    part.width ? hash_fixed(value.data, part.width) : hash_bytes(value.data, value.bytes);
                keys[r].hash = combine_hashes(keys[r].hash, hash);
            }
        } else {
            switch (part.width) {
                case 1:
                    return add_fixed<1>(part, column, rows, keys, row);
                case 2:
                    return add_fixed<2>(part, column, rows, keys, row);
                case 4:
                    return add_fixed<4>(part, column, rows, keys, row);
                case 8:
                    return add_fixed<8>(part, column, rows, keys, row);
                default:
                    return add_fixed<16>(part, column, rows, keys, row);
            }
        }
    }

    template <uint8_t kWidth, typename Key, typename Row>
    static void add_fixed(KeyPart part, const ColumnSource& column, uint32_t rows, Key* keys,
                          const Row& row) {
        part.width = kWidth;
        for (uint32_t r = 0; r < rows; r++) insert_part(&keys[r], part, column.values + row(r) * kWidth);
    }

    const KeyLayout* layout_;
    std::vector<ColumnSource> keys_;
    std::vector<ColumnSource> nullable_;
};

// Whether two rows have the same key, column by column.
inline bool equal_keys(const std::vector<ColumnSource>& a, uint64_t a_row, const std::vector<ColumnSource>& b,
                       uint64_t b_row) {
    for (size_t i = 0; i < a.size(); i++)
        if (!equal_values(a[i].value(a_row), b[i].value(b_row))) return false;
    return true;
}

}  // namespace gpujoin::cpu
