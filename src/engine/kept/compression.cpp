// See compression.h.
#include "engine/kept/compression.h"

#include <cstring>
#include <span>
#include <vector>

#include "engine/cpu/columns/copy_value.h"
#include "engine/hash.h"

namespace gpujoin {

namespace {

constexpr uint32_t kMostEntries = 1u << 16;
// Of the first rows of a column that is worth a dictionary fewer have values of their own: of 2^16 values at
// random seven eighths of them are different.
constexpr uint64_t kFirstRows = 1u << 14;
constexpr uint32_t kMostEntriesOfFirst = kFirstRows / 8 * 7;

constexpr ColumnSpec kCodes1 = {ColumnType::Fixed1, ValueOrder::Unsigned, 0, 0};
constexpr ColumnSpec kCodes2 = {ColumnType::Fixed2, ValueOrder::Unsigned, 0, 0};
constexpr ColumnSpec kCodes4 = {ColumnType::Fixed4, ValueOrder::Unsigned, 0, 0};

// For codes up to this one.
ColumnSpec codes_for(uint64_t greatest) {
    if (greatest <= UINT8_MAX) return kCodes1;
    return greatest <= UINT16_MAX ? kCodes2 : kCodes4;
}

// Where they lie: a code is no wider than what it stands for, and lies no further behind.
template <typename Code, typename Stored>
void narrow(KeptArray& values, uint64_t rows, uint64_t base) {
    const auto* from = values.as<Stored>();
    std::byte* to = values.data();
    for (uint64_t row = 0; row < rows; row++) {
        const auto code = static_cast<Code>(static_cast<uint64_t>(from[row]) - base);
        memcpy(to + row * sizeof code, &code, sizeof code);
    }
    values.truncate(rows * sizeof(Code));
}

// Stores what is stored less the base, of which none is more than so much.
void narrow_by(KeptValues& values, uint64_t rows, uint64_t base, uint64_t greatest) {
    const ColumnSpec codes = codes_for(greatest);
    with_integer(values.stored, [&](auto stored) {
        with_integer(codes, [&](auto code) {
            if constexpr (sizeof code < sizeof stored)
                narrow<decltype(code), decltype(stored)>(values.values, rows, base);
        });
    });
    if (greatest == 0) values.values.truncate(0);
    values.stored = codes;
}

ValueBounds bounds_of_all(const KeptValues& values) {
    const auto* bounds = values.bounds.as<ValueBounds>();
    const std::span<const ValueBounds> all(bounds, values.bounds.bytes() / sizeof(ValueBounds));
    ValueBounds sum = kNoValues;
    for (const ValueBounds& one : all) sum.extend(one);
    return sum;
}

void compress_integers(KeptValues& values, uint64_t rows) {
    ValueBounds bounds = bounds_of_all(values);
    if (!bounds.has_values()) bounds = {0, 0, 1};
    const auto base = static_cast<uint64_t>(bounds.least);
    const uint64_t greatest = static_cast<uint64_t>(bounds.greatest) - base;
    const bool is_narrower =
        greatest == 0 || (greatest <= UINT32_MAX && codes_for(greatest).type < values.stored.type);
    if (!is_narrower) return;
    narrow_by(values, rows, base, greatest);
    values.compression = KeptCompression::FrameOfReference;
    values.base = bounds.least;
}

// The different values of a column, by the order in which they came.
class Dictionary {
  public:
    Dictionary(const KeptValues& of, Ledger* ledger) : of_(of), starts_(ledger), data_(ledger) {}

    // The number of the row's value; kMostEntries where there are too many, or is no room.
    uint32_t number_of(uint64_t row) {
        const Text text{of_.data.as<std::byte>() + of_.start_of(row), of_.length_of(row)};
        uint32_t* slot = slot_of(text);
        if (*slot > 0) return *slot - 1;
        if (entries_ == kMostEntries || !add(text)) return kMostEntries;
        *slot = ++entries_;
        if (uint64_t{entries_} * 2 > slots_.size()) grow();
        return entries_ - 1;
    }
    uint32_t entries() const { return entries_; }
    uint64_t bytes() const { return starts_.bytes() + data_.bytes(); }
    // So that any entry can be copied with what lies behind it.
    bool pad() { return data_.resize(data_.bytes() + cpu::kCopiedAtOnce); }
    void move_to(KeptValues& values) {
        values.starts.swap(starts_);
        values.data.swap(data_);
    }

  private:
    struct Text {
        const std::byte* bytes;
        uint32_t length;
    };

    Text entry(uint32_t number) const {
        const auto* starts = starts_.as<uint32_t>() + number;
        return {data_.as<std::byte>() + starts[0], starts[1] - starts[0]};
    }
    bool is_same(uint32_t number, const Text& text) const {
        const Text other = entry(number);
        return other.length == text.length &&
               (text.length == 0 || memcmp(other.bytes, text.bytes, text.length) == 0);
    }
    // That has the entry of the text, or is free for it.
    uint32_t* slot_of(const Text& text) {
        const uint64_t mask = slots_.size() - 1;
        for (uint64_t at = hash_bytes(text.bytes, text.length);; at++) {
            uint32_t& slot = slots_[at & mask];
            if (slot == 0 || is_same(slot - 1, text)) return &slot;
        }
    }
    bool add(const Text& text) {
        const auto end = static_cast<uint32_t>(data_.bytes() + text.length);
        if (starts_.bytes() == 0 && !starts_.resize(sizeof end)) return false;
        return data_.append(text.bytes, text.length) && starts_.append(&end, sizeof end);
    }
    void grow() {
        slots_.assign(slots_.size() * 2, 0);
        for (uint32_t number = 0; number < entries_; number++) *slot_of(entry(number)) = number + 1;
    }

    const KeptValues& of_;
    KeptArray starts_, data_;
    uint32_t entries_ = 0;
    std::vector<uint32_t> slots_ = std::vector<uint32_t>(1024);  // numbers from 1 on; 0: free
};

// False where they are not worth it, or there is no room.
bool number_texts(const KeptValues& values, uint64_t rows, Dictionary* dictionary, KeptArray* codes) {
    if (!codes->resize(rows * sizeof(uint16_t))) return false;
    auto* code = reinterpret_cast<uint16_t*>(codes->data());
    for (uint64_t row = 0; row < rows; row++) {
        if (row == kFirstRows && dictionary->entries() > kMostEntriesOfFirst) return false;
        const uint32_t number = dictionary->number_of(row);
        if (number == kMostEntries) return false;
        code[row] = static_cast<uint16_t>(number);
    }
    return codes->bytes() + dictionary->bytes() < values.starts.bytes() + values.data.bytes();
}

void compress_texts(KeptValues& values, uint64_t rows, Ledger* ledger) {
    Dictionary dictionary(values, ledger);
    KeptArray codes(ledger);
    if (!number_texts(values, rows, &dictionary, &codes) || !dictionary.pad()) return;
    values.all_bytes = values.data.bytes();
    dictionary.move_to(values);
    values.values.swap(codes);
    values.compression = KeptCompression::Dictionary;
    values.stored = kCodes2;
    if (values.entries() - 1 <= UINT8_MAX) narrow_by(values, rows, 0, values.entries() - 1);
}

}  // namespace

void compress(KeptValues& values, uint64_t rows, Ledger* ledger) {
    if (rows == 0) return;
    if (values.column.spec.type == ColumnType::Bytes)
        compress_texts(values, rows, ledger);
    else if (has_integers(values.column.spec))
        compress_integers(values, rows);
}

}  // namespace gpujoin
