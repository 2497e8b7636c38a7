// Conditions of a scan of kept columns (wire/kept.h), tested on the processor column by column.
#pragma once

#include <span>

#include "engine/kept/kept_chunk.h"

namespace gpujoin {

// Whether each leads on to a later condition, or to the end.
bool are_sound(std::span<const KeptCondition> conditions);
// Whether values of the column can be asked for what the condition asks.
bool can_test(const KeptCondition& condition, const ColumnSpec& spec);

// Of so many rows of a chunk with these columns, ascending, leaves those that are wanted in front, and
// returns how many. places: room for a byte a row. The conditions are sound, and can be tested.
uint32_t select_passing(std::span<const KeptValues* const> columns, std::span<const KeptCondition> conditions,
                        uint32_t* rows, uint32_t count, uint8_t* places);

}  // namespace gpujoin
