// Packing and hashing of keys, 64 rows at a time, and the search of their slots.
#include "engine/fragment/group_index.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/cpu/columns/key_reader.h"
#include "engine/cpu/work/simd.h"
#include "engine/hash.h"

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

template <uint8_t kWidth, typename Key>
void add_part(const HostColumn& column, const RowBlock& block, KeyPart part, Key* keys) {
    part.width = kWidth;
    for (uint32_t i = 0; i < block.lanes; i++)
        insert_part(&keys[i], part, column.source.values + uint64_t{column.row(block.first + i)} * kWidth);
}

template <typename Key>
void add_part(const HostColumn& column, const RowBlock& block, const KeyPart& part, Key* keys) {
    switch (part.width) {
        case 1:
            return add_part<1>(column, block, part, keys);
        case 2:
            return add_part<2>(column, block, part, keys);
        case 4:
            return add_part<4>(column, block, part, keys);
        case 8:
            return add_part<8>(column, block, part, keys);
        default:
            return add_part<16>(column, block, part, keys);
    }
}

// The values of NULLs are zero bytes.
template <typename Key>
void pack_keys(const GroupKeyLayout& layout, const RowBlock& block, Key* keys) {
    std::memset(static_cast<void*>(keys), 0, RowBlock::kMostLanes * sizeof(Key));
    for (const GroupKeyLayout::Part& part : layout.parts) {
        const HostColumn& column = block.columns[part.input];
        add_part(column, block, part.place, keys);
        if (!column.source.has_nulls()) continue;
        for (uint32_t i = 0; i < block.lanes; i++)
            if (column.source.is_null(column.row(block.first + i))) set_bit(&keys[i], part.null_bit);
    }
}

void hash_keys(const SinkPlan& plan, const RowBlock& block, cpu::HashedKey* keys) {
    for (uint16_t input : plan.keys) {
        const HostColumn& column = block.columns[input];
        const uint32_t width = fixed_width(column.source.spec.type);
        for (uint32_t i = 0; i < block.lanes; i++) {
            const uint32_t row = column.row(block.first + i);
            uint64_t hash = kHashOfNull;
            if (!column.source.is_null(row)) {
                const ValueRef value = column.source.value(row);
                hash = width ? hash_fixed(value.data, width) : hash_bytes(value.data, value.bytes);
            }
            keys[i].hash = combine_hashes(keys[i].hash, hash);
        }
    }
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
    for (uint16_t input : plan.keys) {
        const ColumnSpec& column = plan.inputs[input].spec;
        const uint32_t width = fixed_width(column.type);
        fits = fits && width > 0 && next + width <= 16;
        if (!fits) return;
        parts.push_back({input, {0, 0, static_cast<uint8_t>(width), static_cast<uint8_t>(next)}, nullable});
        nullable += column.nullable;
        next += width;
    }
    // The bits of NULLs are behind the values.
    for (Part& part : parts) part.null_bit += 8 * next;
    const uint32_t wanted = 8 * next + nullable;
    if (fits && wanted <= 128) bytes = wanted <= 64 ? 8 : 16;
}

GroupIndex::GroupIndex(const SinkPlan& plan, const GroupKeyLayout& layout, RowStore* store, Ledger* ledger)
    : plan_(plan), layout_(layout), store_(*store), ledger_(ledger), stored_(plan.keys.size()) {}

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
    pack_keys(layout_, block, keys);
    uint32_t tags[RowBlock::kMostLanes];
    make_tags(keys, tags);
    prefetch(tags);
    Key* const stored = store_.values<Key>(store_.columns() - 1);
    const uint64_t found = find_first(keys, tags, stored, groups);
    return find(
        tags, rows & ~found, groups, new_lanes,
        [&](uint32_t lane, uint32_t group) { return stored[group] == keys[lane]; },
        [&](uint32_t lane, uint32_t group) { stored[group] = keys[lane]; });
}

uint32_t GroupIndex::find_hashed(const RowBlock& block, uint64_t rows, uint32_t* groups,
                                 uint32_t* new_lanes) {
    cpu::HashedKey keys[RowBlock::kMostLanes]{};
    hash_keys(plan_, block, keys);
    uint32_t tags[RowBlock::kMostLanes];
    for (uint32_t i = 0; i < RowBlock::kMostLanes; i++) tags[i] = static_cast<uint32_t>(keys[i].hash >> 32);
    prefetch(tags);
    for (uint32_t i = 0; i < stored_.size(); i++) stored_[i] = store_.source(i);
    return find(
        tags, rows, groups, new_lanes,
        [&](uint32_t lane, uint32_t group) { return has_key(block, lane, group, new_lanes); },
        [](uint32_t, uint32_t) {});
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
