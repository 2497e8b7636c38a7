// The hash table of one chunk of build tuples, small enough for a core's second-level cache: open addressing
// over distinct keys. A slot holds what the partition's number leaves of a key, and the key's payload; or,
// where keys repeat within the chunk, first place and count of the key's group of payloads.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "engine/cpu/radix/radix_side.h"

namespace gpujoin::cpu {

template <typename Word>
class RadixTable {
  public:
    // Build tuples of a chunk: the table of a full one takes 256 kB (512 kB with 64-bit words).
    static constexpr uint32_t kMostRows = 16u << 10;

    // The payloads of a key.
    struct Group {
        const Word* payloads;
        uint32_t count;
    };

    Status open(Ledger* ledger) {
        GPUJOIN_RETURN_IF_FAILED(slots_.allocate(ledger, kMostSlots * sizeof(Slot)));
        GPUJOIN_RETURN_IF_FAILED(payloads_.allocate(ledger, kMostRows * sizeof(Word)));
        return places_.allocate(ledger, kMostRows * sizeof(uint32_t));
    }

    // shift > 0: lowest bits of the keys, which all tuples share.
    void build(const RadixTuple<Word>* tuples, uint32_t rows, uint32_t shift) {
        const uint32_t slots = std::bit_ceil(2 * std::max(rows, 8u));
        mask_ = slots - 1;
        shift_ = shift;
        // Where keys repeat in one chunk, they are likely to in the next.
        if (!unique_ || !insert_unique(tuples, rows)) insert_groups(tuples, rows);
    }

    bool is_unique() const { return unique_; }

    // Payload pairs of the probe tuples whose key is here; only of unique keys. Returns their number; there
    // is room for one a tuple.
    uint32_t match_unique(const RadixTuple<Word>* tuples, uint32_t rows, Word* build, Word* probe) const {
        const Slot* slots = slots_.as<Slot>();
        const uint32_t mask = mask_, shift = shift_;
        uint32_t matches = 0;
        for (uint32_t i = 0; i < rows; i++) {
            const Word key = tuples[i].key >> shift;
            const Slot* slot = find_slot(slots, mask, key);
            build[matches] = slot->payload;
            probe[matches] = tuples[i].payload;
            matches += slot->key == key;
        }
        return matches;
    }

    Group find_group(Word key) const {
        const Slot& slot = *find_slot(slots_.as<Slot>(), mask_, key >> shift_);
        if (slot.key == kEmpty) return {nullptr, 0};
        return {payloads_.as<Word>() + (slot.payload & kPlaceMask),
                static_cast<uint32_t>(slot.payload >> kPlaceBits)};
    }

  private:
    struct Slot {
        Word key;
        Word payload;  // or place of the group | count << kPlaceBits
    };
    static constexpr Word kEmpty = ~Word{0};  // no key is: at least one bit has been shifted out
    static constexpr uint32_t kMostSlots = 2 * kMostRows;
    static constexpr uint32_t kPlaceBits = 16;
    static constexpr uint32_t kPlaceMask = (1u << kPlaceBits) - 1;

    // The slot of a key, or the free one where it belongs.
    static const Slot* find_slot(const Slot* slots, uint32_t mask, Word key) {
        uint32_t at = static_cast<uint32_t>(key) & mask;
        while (slots[at].key != key && slots[at].key != kEmpty) at = (at + 1) & mask;
        return slots + at;
    }
    Slot& look_up(Word key) { return const_cast<Slot&>(*find_slot(slots_.as<Slot>(), mask_, key)); }

    void clear() { std::fill_n(slots_.as<Slot>(), mask_ + 1, Slot{kEmpty, 0}); }

    // False when a key comes twice.
    bool insert_unique(const RadixTuple<Word>* tuples, uint32_t rows) {
        clear();
        for (uint32_t i = 0; i < rows; i++) {
            const Word key = tuples[i].key >> shift_;
            Slot& slot = look_up(key);
            if (slot.key == key) return unique_ = false;
            slot = {key, tuples[i].payload};
        }
        return true;
    }

    void insert_groups(const RadixTuple<Word>* tuples, uint32_t rows) {
        clear();
        Slot* slots = slots_.as<Slot>();
        uint32_t* places = places_.as<uint32_t>();  // slot, and rank within its group
        for (uint32_t i = 0; i < rows; i++) {
            const Word key = tuples[i].key >> shift_;
            Slot& slot = look_up(key);
            slot.key = key;
            const uint32_t rank = static_cast<uint32_t>(slot.payload >> kPlaceBits);
            slot.payload += Word{1} << kPlaceBits;
            places[i] = static_cast<uint32_t>(&slot - slots) | rank << kPlaceBits;
        }
        Word next = 0;
        for (uint32_t s = 0; s <= mask_; s++) {
            const Word count = slots[s].payload >> kPlaceBits;
            slots[s].payload |= next;
            next += count;
        }
        for (uint32_t i = 0; i < rows; i++) {
            const Slot& slot = slots[places[i] & kPlaceMask];
            payloads_.as<Word>()[(slot.payload & kPlaceMask) + (places[i] >> kPlaceBits)] = tuples[i].payload;
        }
    }

    HostArray slots_;
    HostArray payloads_;  // by group
    HostArray places_;    // by tuple, while groups are made
    uint32_t mask_ = 0;
    uint32_t shift_ = 0;
    bool unique_ = true;
};

}  // namespace gpujoin::cpu
