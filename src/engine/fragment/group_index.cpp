// Packing and hashing of keys, 64 rows at a time, and the search of their slots.
#include "engine/fragment/group_index.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "engine/cpu/work/simd.h"
#include "engine/fragment/text_word.h"

// What is inlined into the functions for several instruction sets is to be optimised like them.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

namespace gpujoin {

namespace {

constexpr uint64_t kFewestSlots = 256;
constexpr uint64_t kHashOfNull = 0x5bd1e9955bd1e995u;

void set_bit(uint64_t* key, uint32_t bit) {
    *key |= uint64_t{1} << bit;
}
void set_bit(Key16* key, uint32_t bit) {
    (bit < 64 ? key->low : key->high) |= uint64_t{1} << (bit & 63);
}

// Calls body(width), a constant.
template <typename Body>
auto with_width(uint32_t width, const Body& body) {
    switch (width) {
        case 1:
            return body(std::integral_constant<uint8_t, 1>());
        case 2:
            return body(std::integral_constant<uint8_t, 2>());
        case 4:
            return body(std::integral_constant<uint8_t, 4>());
        case 8:
            return body(std::integral_constant<uint8_t, 8>());
        default:
            return body(std::integral_constant<uint8_t, 16>());
    }
}

template <uint8_t kWidth, typename Key>
void add_part(const HostColumn& column, const RowBlock& block, KeyPart part, Key* keys) {
    part.width = kWidth;
    for (uint32_t i = 0; i < block.lanes; i++)
        insert_part(&keys[i], part, column.source.values + uint64_t{column.row(block.first + i)} * kWidth);
}

template <typename Key>
void add_words(const uint64_t* words, KeyPart part, Key* keys) {
    part.width = sizeof(uint64_t);
    for (uint32_t i = 0; i < RowBlock::kMostLanes; i++)
        insert_part(&keys[i], part, reinterpret_cast<const std::byte*>(&words[i]));
}

// Returns which are long. offsets: of the column's values.
template <typename Offset>
uint64_t make_words(const HostColumn& column, const Offset* offsets, const RowBlock& block, uint64_t* words) {
    const cpu::ColumnSource& source = column.source;
    uint64_t are_long = 0;
    for (uint32_t i = 0; i < block.lanes; i++) {
        const uint32_t row = column.row(block.first + i);
        const ValueRef value{source.data + offsets[row], offsets[row + 1] - offsets[row]};
        words[i] = source.is_null(row) ? kTextIsNull : text_word(value, source.data + source.data_bytes);
        are_long |= uint64_t{is_long_text(words[i])} << i;
    }
    return are_long;
}

template <uint8_t kWidth>
void hash_values(const HostColumn& column, const RowBlock& block, uint64_t* hashes) {
    for (uint32_t i = 0; i < block.lanes; i++) {
        const uint32_t row = column.row(block.first + i);
        const uint64_t hash = column.source.is_null(row)
                                  ? kHashOfNull
                                  : hash_fixed(column.source.values + uint64_t{row} * kWidth, kWidth);
        hashes[i] = combine_hashes(hashes[i], hash);
    }
}

// Which of the rows have what groups have in a column. The values of NULLs are zero bytes.
template <uint8_t kWidth>
uint64_t find_same(const HostColumn& column, const RowBlock& block, const cpu::ColumnSource& stored,
                   const uint32_t* groups) {
    uint64_t same = 0;
    for (uint32_t i = 0; i < block.lanes; i++) {
        const uint32_t row = column.row(block.first + i);
        const bool is_same = std::memcmp(column.source.values + uint64_t{row} * kWidth,
                                         stored.values + uint64_t{groups[i]} * kWidth, kWidth) == 0 &&
                             column.source.is_null(row) == stored.is_null(groups[i]);
        same |= uint64_t{is_same} << i;
    }
    return same;
}

uint64_t find_same_words(const uint64_t* words, const uint64_t* stored, const uint32_t* groups) {
    uint64_t same = 0;
    for (uint32_t i = 0; i < RowBlock::kMostLanes; i++) same |= uint64_t{words[i] == stored[groups[i]]} << i;
    return same;
}

GPUJOIN_VECTOR void make_tags(const uint64_t* keys, uint32_t* tags) {
    for (uint32_t i = 0; i < RowBlock::kMostLanes; i++)
        tags[i] = static_cast<uint32_t>(hash_key(keys[i]) >> 32);
}
GPUJOIN_VECTOR void make_tags(const Key16* keys, uint32_t* tags) {
    for (uint32_t i = 0; i < RowBlock::kMostLanes; i++)
        tags[i] = static_cast<uint32_t>(hash_key(keys[i]) >> 32);
}

bool same_value(const cpu::ColumnSource& a, uint64_t a_row, const cpu::ColumnSource& b, uint64_t b_row) {
    const bool is_null = a.is_null(a_row);
    if (is_null != b.is_null(b_row)) return false;
    return is_null || equal_values(a.value(a_row), b.value(b_row));
}

}  // namespace

GroupKeyLayout::GroupKeyLayout(const SinkPlan& plan) {
    uint32_t next = 0;
    uint32_t nullable = 0;
    bool fits = !plan.keys.empty();
    for (uint16_t i = 0; i < plan.keys.size(); i++)
        if (plan.inputs[plan.keys[i]].spec.type == ColumnType::Bytes) texts.push_back(i);
    for (uint16_t input : plan.keys) {
        const ColumnSpec& column = plan.inputs[input].spec;
        const bool is_text = column.type == ColumnType::Bytes;
        const auto width = static_cast<uint32_t>(is_text ? sizeof(uint64_t) : fixed_width(column.type));
        fits = fits && next + width <= 16;
        if (!fits) return;
        parts.push_back(
            {input, {0, 0, static_cast<uint8_t>(width), static_cast<uint8_t>(next)}, nullable, is_text});
        if (!is_text) nullable += column.nullable;
        next += width;
    }
    // The bits of NULLs are behind the values.
    for (Part& part : parts) part.null_bit += 8 * next;
    const uint32_t wanted = 8 * next + nullable;
    if (fits && wanted <= 128) bytes = wanted <= 64 ? 8 : 16;
}

std::vector<ColumnSpec> GroupKeyLayout::columns() const {
    const ColumnSpec word{ColumnType::Fixed8, ValueOrder::Unsigned, 0, 0};
    if (bytes == 0) return std::vector<ColumnSpec>(texts.size(), word);
    return {bytes == 8 ? word : ColumnSpec{ColumnType::Fixed16, ValueOrder::Unsigned, 0, 0}};
}

GroupIndex::GroupIndex(const SinkPlan& plan, const GroupKeyLayout& layout, RowStore* store, Ledger* ledger)
    : plan_(plan),
      layout_(layout),
      store_(*store),
      ledger_(ledger),
      stored_(plan.keys.size()),
      texts_(layout.texts.size()) {}

Status GroupIndex::make_room(uint64_t groups) {
    return has_room(groups) ? Status{} : grow(std::max(std::bit_ceil(3 * groups), kFewestSlots), ledger_);
}

Status GroupIndex::make_first_room() {
    return has_room(1) ? Status{} : grow(kFewestSlots, nullptr);
}

Status GroupIndex::grow(uint64_t count, Ledger* ledger) {
    cpu::HostArray slots;
    GPUJOIN_RETURN_IF_FAILED(slots.allocate(ledger, count * sizeof(Slot)));
    for (uint64_t i = 0; i < slot_count_; i++) {
        const Slot& slot = slots_.as<Slot>()[i];
        if (slot.group == 0) continue;
        uint64_t place = slot.tag & (count - 1);
        while (slots.as<Slot>()[place].group != 0) place = (place + 1) & (count - 1);
        slots.as<Slot>()[place] = slot;
    }
    slots_ = std::move(slots);
    slot_count_ = count;
    return {};
}

void GroupIndex::list_parts(uint32_t bits, uint32_t* numbers, uint32_t* starts) const {
    const auto part_of = [bits](const Slot& slot) { return uint64_t{slot.tag} << bits >> 32; };
    const std::span slots(slots_.as<Slot>(), slot_count_);
    const uint64_t parts = uint64_t{1} << bits;
    std::fill_n(starts, parts + 1, 0);
    if (plan_.keys.empty()) {  // the only group has no slot
        for (uint32_t group = 0; group < store_.rows(); group++) numbers[group] = group;
        std::fill_n(starts + 1, parts, store_.rows());
        return;
    }
    // A part's start becomes its end, which is the next one's start, while it is filled.
    for (const Slot& slot : slots)
        if (slot.group != 0 && part_of(slot) + 2 <= parts) starts[part_of(slot) + 2]++;
    for (uint64_t part = 2; part <= parts; part++) starts[part] += starts[part - 1];
    for (const Slot& slot : slots)
        if (slot.group != 0) numbers[starts[part_of(slot) + 1]++] = slot.group - 1;
}

void GroupIndex::clear() {
    if (slot_count_ > 0) std::memset(static_cast<void*>(slots_.as<Slot>()), 0, slot_count_ * sizeof(Slot));
}

void GroupIndex::prefetch(const uint32_t* tags) const {
    for (uint32_t i = 0; i < RowBlock::kMostLanes; i++)
        __builtin_prefetch(&slots_.as<Slot>()[tags[i] & (slot_count_ - 1)], 1);
}

template <typename IsEqual, typename Add>
uint32_t GroupIndex::find(const uint32_t* tags, uint64_t rows, uint32_t* groups, uint32_t* new_lanes,
                          const IsEqual& is_equal, const Add& add) {
    Slot* const slots = slots_.as<Slot>();
    const uint64_t mask = slot_count_ - 1;
    uint32_t found_new = 0;
    const uint32_t first_new = store_.rows();
    for_each_lane(rows, [&](uint32_t lane) {
        const uint32_t tag = tags[lane];
        for (uint64_t place = tag & mask;; place = (place + 1) & mask) {
            Slot& slot = slots[place];
            if (slot.group == 0) {
                const uint32_t group = first_new + found_new;
                slot = {tag, group + 1};
                new_lanes[found_new++] = lane;
                add(lane, group);
                groups[lane] = group;
                return;
            }
            if (slot.tag == tag && is_equal(lane, slot.group - 1)) {
                groups[lane] = slot.group - 1;
                return;
            }
        }
    });
    return found_new;
}

// The values of NULLs are zero bytes.
template <typename Key>
void GroupIndex::pack_keys(const RowBlock& block, Key* keys) const {
    std::memset(static_cast<void*>(keys), 0, RowBlock::kMostLanes * sizeof(Key));
    const Text* text = texts_.data();
    for (const GroupKeyLayout::Part& part : layout_.parts) {
        if (part.is_text) {
            add_words((text++)->words, part.place, keys);
            continue;
        }
        const HostColumn& column = block.columns[part.input];
        with_width(part.place.width,
                   [&](auto width) { add_part<decltype(width)::value>(column, block, part.place, keys); });
        if (!column.source.has_nulls()) continue;
        for (uint32_t i = 0; i < block.lanes; i++)
            if (column.source.is_null(column.row(block.first + i))) set_bit(&keys[i], part.null_bit);
    }
}

// The groups of those keys that are in the first slot that they may be in, which most are: without a branch
// that depends on them. Returns the mask of these keys.
template <typename Key>
uint64_t GroupIndex::find_first(const Key* keys, const uint32_t* tags, const Key* stored,
                                uint32_t* groups) const {
    const Slot* const slots = slots_.as<Slot>();
    const uint64_t mask = slot_count_ - 1;
    uint64_t found = 0;
    for (uint32_t i = 0; i < RowBlock::kMostLanes; i++) {
        const Slot slot = slots[tags[i] & mask];
        const uint32_t group = slot.group - (slot.group != 0);
        groups[i] = group;
        const bool is_same = (slot.group != 0) & (slot.tag == tags[i]) & (stored[group] == keys[i]);
        found |= uint64_t{is_same} << i;
    }
    return found;
}

template <typename Key>
uint32_t GroupIndex::find_packed(const RowBlock& block, uint64_t rows, uint32_t* groups,
                                 uint32_t* new_lanes) {
    Key keys[RowBlock::kMostLanes];
    const uint64_t have_long = find_words(block);
    pack_keys(block, keys);
    uint32_t tags[RowBlock::kMostLanes];
    make_tags(keys, tags);
    prefetch(tags);
    Key* const stored = store_.values<Key>(store_.columns() - 1);
    if (have_long != 0) note_stored();
    const uint64_t found = without_others(block, find_first(keys, tags, stored, groups), groups);
    return find(
        tags, rows & ~found, groups, new_lanes,
        [&](uint32_t lane, uint32_t group) {
            return stored[group] == keys[lane] &&
                   (!(have_long >> lane & 1) || has_key(block, lane, group, new_lanes));
        },
        [&](uint32_t lane, uint32_t group) { stored[group] = keys[lane]; });
}

// Of rows that were found, by keys with hashes of long texts, those whose texts are the same. Their groups
// are stored.
uint64_t GroupIndex::without_others(const RowBlock& block, uint64_t found, const uint32_t* groups) const {
    for (size_t i = 0; i < texts_.size(); i++) {
        const uint16_t key = layout_.texts[i];
        const HostColumn& column = block.columns[plan_.keys[key]];
        for_each_lane(found & texts_[i].are_long, [&](uint32_t lane) {
            const uint32_t row = column.row(block.first + lane);
            if (!equal_values(column.source.value(row), stored_[key].value(groups[lane])))
                found &= ~(uint64_t{1} << lane);
        });
    }
    return found;
}

void GroupIndex::note_stored() {
    for (uint32_t i = 0; i < stored_.size(); i++) stored_[i] = store_.source(i);
}

// Of the texts among the keys. Returns which keys have long ones.
uint64_t GroupIndex::find_words(const RowBlock& block) {
    uint64_t have_long = 0;
    for (size_t i = 0; i < texts_.size(); i++) {
        const HostColumn& column = block.columns[plan_.keys[layout_.texts[i]]];
        Text& text = texts_[i];
        text.are_long = column.source.offsets64
                            ? make_words(column, column.source.offsets64, block, text.words)
                            : make_words(column, column.source.offsets32, block, text.words);
        have_long |= text.are_long;
    }
    return have_long;
}

void GroupIndex::hash_keys(const RowBlock& block, uint64_t* hashes) const {
    const Text* text = texts_.data();
    for (uint16_t input : plan_.keys) {
        const HostColumn& column = block.columns[input];
        if (column.source.spec.type != ColumnType::Bytes) {
            with_width(fixed_width(column.source.spec.type),
                       [&](auto width) { hash_values<decltype(width)::value>(column, block, hashes); });
            continue;
        }
        for (uint32_t i = 0; i < block.lanes; i++) hashes[i] = combine_hashes(hashes[i], mix(text->words[i]));
        text++;
    }
}

// As for packed keys; long texts are the same in their words alone.
uint64_t GroupIndex::find_first_hashed(const RowBlock& block, const uint32_t* tags, uint32_t* groups) const {
    uint64_t found = 0;
    for (uint32_t i = 0; i < RowBlock::kMostLanes; i++) {
        const Slot slot = slots_.as<Slot>()[tags[i] & (slot_count_ - 1)];
        groups[i] = slot.group - (slot.group != 0);
        const bool may_be = (slot.group != 0) & (slot.tag == tags[i]);
        found |= uint64_t{may_be} << i;
    }
    uint32_t text = 0;
    for (size_t i = 0; i < stored_.size() && found != 0; i++) {
        const HostColumn& column = block.columns[plan_.keys[i]];
        if (column.source.spec.type == ColumnType::Bytes) {
            found &= find_same_words(texts_[text].words, stored_words(text), groups);
            text++;
            continue;
        }
        with_width(fixed_width(column.source.spec.type), [&](auto width) {
            found &= find_same<decltype(width)::value>(column, block, stored_[i], groups);
        });
    }
    return found;
}

uint32_t GroupIndex::find_hashed(const RowBlock& block, uint64_t rows, uint32_t* groups,
                                 uint32_t* new_lanes) {
    uint64_t hashes[RowBlock::kMostLanes]{};
    find_words(block);
    hash_keys(block, hashes);
    uint32_t tags[RowBlock::kMostLanes];
    for (uint32_t i = 0; i < RowBlock::kMostLanes; i++) tags[i] = static_cast<uint32_t>(hashes[i] >> 32);
    prefetch(tags);
    note_stored();
    const uint64_t found = without_others(block, find_first_hashed(block, tags, groups), groups);
    return find(
        tags, rows & ~found, groups, new_lanes,
        [&](uint32_t lane, uint32_t group) { return has_key(block, lane, group, new_lanes); },
        [&](uint32_t lane, uint32_t group) {
            for (uint32_t text = 0; text < texts_.size(); text++)
                stored_words(text)[group] = texts_[text].words[lane];
        });
}

// Groups that are new in this block are not stored yet: their keys are those of the rows that they began
// with.
bool GroupIndex::has_key(const RowBlock& block, uint32_t lane, uint32_t group,
                         const uint32_t* new_lanes) const {
    const uint32_t first_new = store_.rows();
    for (size_t i = 0; i < stored_.size(); i++) {
        const HostColumn& column = block.columns[plan_.keys[i]];
        const uint32_t row = column.row(block.first + lane);
        const bool is_same = group < first_new
                                 ? same_value(column.source, row, stored_[i], group)
                                 : same_value(column.source, row, column.source,
                                              column.row(block.first + new_lanes[group - first_new]));
        if (!is_same) return false;
    }
    return true;
}

uint32_t GroupIndex::find(const RowBlock& block, uint64_t rows, uint32_t* groups, uint32_t* new_lanes) {
    if (plan_.keys.empty()) {
        // One group, which begins with the first row.
        std::memset(groups, 0, RowBlock::kMostLanes * sizeof(uint32_t));
        if (store_.rows() > 0 || rows == 0) return 0;
        new_lanes[0] = static_cast<uint32_t>(std::countr_zero(rows));
        return 1;
    }
    switch (layout_.bytes) {
        case 8:
            return find_packed<uint64_t>(block, rows, groups, new_lanes);
        case 16:
            return find_packed<Key16>(block, rows, groups, new_lanes);
        default:
            return find_hashed(block, rows, groups, new_lanes);
    }
}

}  // namespace gpujoin
