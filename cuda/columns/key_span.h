// Finding the spans (engine/key_span.h) of the build side's columns, among the rows that can match, and
// whether rebased keys pay. A sample tells mostly that they do not, before a pass over all keys is made.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "cuda/columns/key_reading.cuh"
#include "cuda/index/packed_columns.h"
#include "cuda/work/work.h"

namespace gpujoin::cuda {

// The rows whose spans are found.
struct SpanInput {
    BuildColumns columns;
    RequiredColumns required;  // rows with a NULL here cannot match
    uint64_t rows;
};

// Bits of a column's rebased order keys that may differ.
inline int order_key_bits(const DeviceColumn& column, const KeySpan& span) {
    return std::min(span.bits(), order_key_is_exact(column.spec) ? static_cast<int>(8 * column.width) : 64);
}

// The same of the keys that rows are sorted by to be merged on their equality columns.
inline int sort_key_bits(const KeyLayout& layout) {
    if (layout.by_place) return std::bit_width(layout.places.last + 1);
    if (!has_exact_sort_key(layout)) return 64;
    const KeyPart& last = layout.part[layout.parts - 1];
    return 8 * (last.offset + last.width);
}

// Places of the equality keys where these have them, and there are rows. Waits for the stream.
Status find_key_places(const WorkContext& context, const SpanInput& input, const KeyLayout& layout,
                       KeyPlaces* places);

// Lets a layout go by places where these make shorter keys; if rows are sorted by them, where that saves
// passes. Places that were found stay with the layout if it does not go by them, too. Waits for the stream.
Status shorten_keys(const WorkContext& context, const SpanInput& input, bool sorted, KeyLayout* layout);

// What to rebase a column's order keys by for sorting, if that saves passes; else span is left as it was.
Status find_sort_span(const WorkContext& context, const SpanInput& input, const DeviceColumn& column,
                      KeySpan* span);

}  // namespace gpujoin::cuda
