// Which rows in host memory can be among the first ones.
#pragma once

#include <algorithm>

#include "engine/fragment/host_column.h"
#include "engine/fragment/top_keys.h"
#include "engine/turn.h"

namespace gpujoin {

// Finds those of so many rows, and adds their keys. list: their ascending numbers, with room for all. Returns
// how many there are. Gives way where the turn is over.
inline uint32_t select_top_rows(const HostColumn& key, const TopOrder& order, uint32_t rows, TopKeys& keys,
                                uint32_t* list) {
    constexpr uint32_t kRowsAtOnce = 64u << 10;
    auto word_of = [&](uint32_t i) {
        const uint32_t row = key.row(i);
        return key.source.is_null(row) ? order.word_of_null() : order.word(key.source.value(row));
    };
    uint32_t added = 0;
    for (uint32_t first = 0; first < rows; first += kRowsAtOnce) {
        for (uint32_t i = first; i < std::min(rows, first + kRowsAtOnce); i++) {
            const uint64_t word = word_of(i);
            if (word > keys.bound()) continue;
            keys.add(word);
            list[added++] = i;
        }
        give_way();
    }
    keys.settle();
    // Once more by what all of them make of the bound: whatever order they come in.
    uint32_t selected = 0;
    for (uint32_t first = 0; first < added; first += kRowsAtOnce) {
        for (uint32_t i = first; i < std::min(added, first + kRowsAtOnce); i++)
            if (word_of(list[i]) <= keys.bound()) list[selected++] = list[i];
        give_way();
    }
    return selected;
}

}  // namespace gpujoin
