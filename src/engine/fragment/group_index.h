// GroupIndex: finds the groups of rows by their keys, in a table with open addressing of group numbers. Keys
// that fit into 8 or 16 bytes are packed and stored beside the group: values of fixed width, with a bit for
// the NULL of each, and words of texts (text_word.h), of which long ones are compared after that. Others are
// found by their hash and compared column by column, texts by their words first, which are stored, too. NULL
// equals NULL.
#pragma once

#include <vector>

#include "engine/fragment/host_column.h"
#include "engine/fragment/row_store.h"
#include "engine/key_layout.h"

namespace gpujoin {

// How keys are packed.
struct GroupKeyLayout {
    explicit GroupKeyLayout(const SinkPlan& plan);

    struct Part {
        uint16_t input;
        KeyPart place;      // in the packed key
        uint32_t null_bit;  // its number in the packed key; not of texts
        bool is_text;
    };
    std::vector<Part> parts;
    uint32_t bytes = 0;           // 8 or 16; 0: keys are not packed, or there are none
    std::vector<uint16_t> texts;  // which of the keys are

    // What is stored of groups for the index, behind their own columns: packed keys, or a word for each text.
    std::vector<ColumnSpec> columns() const;
};

class GroupIndex {
  public:
    // The first columns of the store are the keys, the last ones those of the layout. Plan, layout and store
    // outlive the index.
    GroupIndex(const SinkPlan& plan, const GroupKeyLayout& layout, RowStore* store, Ledger* ledger);

    // Whether there is room for so many groups in all. Few slots are taken, so that most groups are in the
    // first one that they may be in.
    bool has_room(uint64_t groups) const { return plan_.keys.empty() || 3 * groups <= slot_count_; }
    Status make_room(uint64_t groups);
    // The same for the first few, where there is no group: they are not charged.
    Status make_first_room();

    // Finds the groups of those rows that have a bit in `rows`. New ones have numbers from store.rows() on,
    // the columns of the layout, and each a lane in new_lanes; what else they have is for the caller to
    // store. Returns how many these are.
    uint32_t find(const RowBlock& block, uint64_t rows, uint32_t* groups, uint32_t* new_lanes);

    // Lists the groups by the highest bits of their hashes, so many: those of part i, whose keys no other
    // part of a table with the same keys has, from starts[i] to starts[i + 1].
    void list_parts(uint32_t bits, uint32_t* numbers, uint32_t* starts) const;

    void clear();

  private:
    struct Slot {
        uint32_t tag;
        uint32_t group;  // its number and one; 0: free
    };

    Status grow(uint64_t count, Ledger* ledger);
    void prefetch(const uint32_t* tags) const;
    template <typename Key>
    uint64_t find_first(const Key* keys, const uint32_t* tags, const Key* stored, uint32_t* groups) const;
    template <typename IsEqual, typename Add>
    uint32_t find(const uint32_t* tags, uint64_t rows, uint32_t* groups, uint32_t* new_lanes,
                  const IsEqual& is_equal, const Add& add);
    template <typename Key>
    void pack_keys(const RowBlock& block, Key* keys) const;
    template <typename Key>
    uint32_t find_packed(const RowBlock& block, uint64_t rows, uint32_t* groups, uint32_t* new_lanes);
    uint64_t without_others(const RowBlock& block, uint64_t found, const uint32_t* groups) const;
    uint32_t find_hashed(const RowBlock& block, uint64_t rows, uint32_t* groups, uint32_t* new_lanes);
    uint64_t find_words(const RowBlock& block);
    void hash_keys(const RowBlock& block, uint64_t* hashes) const;
    uint64_t find_first_hashed(const RowBlock& block, const uint32_t* tags, uint32_t* groups) const;
    void note_stored();
    // Where keys are not packed, of one of their texts.
    uint64_t* stored_words(uint32_t text) const {
        return store_.values<uint64_t>(store_.columns() - static_cast<uint32_t>(texts_.size()) + text);
    }
    bool has_key(const RowBlock& block, uint32_t lane, uint32_t group, const uint32_t* new_lanes) const;

    const SinkPlan& plan_;
    const GroupKeyLayout& layout_;
    RowStore& store_;
    Ledger* const ledger_;
    cpu::HostArray slots_;
    uint64_t slot_count_ = 0;
    // Of the current block: the key columns as they are stored, and the texts among the keys.
    std::vector<cpu::ColumnSource> stored_;
    struct Text {
        uint64_t words[RowBlock::kMostLanes];
        uint64_t are_long;
    };
    std::vector<Text> texts_;
};

}  // namespace gpujoin
