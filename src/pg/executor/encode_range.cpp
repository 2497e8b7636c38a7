// The encoder of range bounds, and of the elements that are compared with them. A bound has a place among the
// values: one that is excluded lies next to its value, a lower one behind and an upper one before it. So two
// comparisons of places decide containment and overlap:
//
//   r @> x, r && s   lower(r) <= x, upper(s); upper(r) >= x, lower(s)
//   r @> s           lower(r) <= lower(s); upper(r) >= upper(s)
//
// Missing bounds lie beyond all values. The lower bound of an empty range lies beyond these, and its upper
// bound below everything: it contains nothing, overlaps nothing, and every range contains it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "pg/executor/encoders.h"
#include "pg/allocate.h"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/rangetypes.h"
#include "utils/typcache.h"
}

namespace gpujoin {

struct KeyBound {
    TypeCacheEntry* range;
    KeyPart part;
    int16 length;  // of elements
    bool is_float;
};

namespace {

enum class Place : uint8_t { BelowAll, NoLowerBound, AtValue, NoUpperBound, AboveAll };
enum Side { kBefore, kAt, kBehind };

struct BoundPlace {
    Place place;
    Side side;  // these two where it is at a value
    Datum value;
};

BoundPlace place_of_bound(const KeyBound* key, Datum value) {
    bool is_upper = key->part == KeyPart::UpperBound;
    RangeBound lower, upper;
    bool empty;
    range_deserialize(key->range, DatumGetRangeTypeP(value), &lower, &upper, &empty);
    if (empty) return {is_upper ? Place::BelowAll : Place::AboveAll, kAt, 0};
    const RangeBound& bound = is_upper ? upper : lower;
    if (bound.infinite) return {is_upper ? Place::NoUpperBound : Place::NoLowerBound, kAt, 0};
    return {Place::AtValue, bound.inclusive ? kAt : is_upper ? kBefore : kBehind, bound.val};
}

BoundPlace place_of(const KeyBound* key, Datum value) {
    return key->part == KeyPart::Value ? BoundPlace{Place::AtValue, kAt, value} : place_of_bound(key, value);
}

// A number as an integer of the same order: NaN is greater than infinity, and -0 is 0.
int64 order_of(double number) {
    if (std::isnan(number)) return PG_INT64_MAX;
    auto bits = std::bit_cast<int64>(number + 0.0);
    return bits < 0 ? bits ^ PG_INT64_MAX : bits;
}

int64 read_element(const KeyBound* key, Datum value) {
    if (key->is_float) return order_of(key->length == 4 ? DatumGetFloat4(value) : DatumGetFloat8(value));
    return key->length == 2   ? DatumGetInt16(value)
           : key->length == 4 ? DatumGetInt32(value)
                              : DatumGetInt64(value);
}

// Values lie in the middle half of the integers of a width, so many bits up that the three sides fit below.
template <typename Wire>
struct Layout {
    static constexpr int kBits = 8 * sizeof(Wire);
    static constexpr int kShift = sizeof(Wire) == 8 ? 2 : 63;
    static constexpr Wire kEnd = Wire{1} << (kBits - 2);
    static constexpr Wire kLargest = kEnd - 1 + kEnd;
};

template <typename Wire>
Wire key_at(int64 value, Side side) {
    using L = Layout<Wire>;
    constexpr Wire kMost = L::kEnd >> L::kShift;
    return (std::clamp<Wire>(value, -kMost, kMost - 1) << L::kShift) + side;
}

template <typename Wire>
bool put_integer_bound(InputColumn* column, uint32_t row, Datum datum) {
    using L = Layout<Wire>;
    const KeyBound* key = column->bound;
    BoundPlace place = place_of(key, datum);
    Wire result = 0;
    switch (place.place) {
        case Place::BelowAll:
            result = -L::kLargest;
            break;
        case Place::NoLowerBound:
            result = -L::kEnd - 1;
            break;
        case Place::NoUpperBound:
            result = L::kEnd;
            break;
        case Place::AboveAll:
            result = L::kLargest;
            break;
        case Place::AtValue: {
            int64 value = read_element(key, place.value);
            result = key_at<Wire>(column->shift ? shifted(column->shift, value) : value, place.side);
        }
    }
    memcpy(column->values + sizeof(Wire) * row, &result, sizeof(Wire));
    return true;
}

// The place, and for a value its bytes and the side.
bool put_numeric_bound(InputColumn* column, uint32_t row, Datum datum) {
    BoundPlace place = place_of(column->bound, datum);
    auto first = static_cast<std::byte>(place.place);
    if (place.place == Place::AtValue)
        return put_enclosed_numeric(column, row, place.value, first, static_cast<std::byte>(place.side));
    std::byte* target = reserve_bytes(column, row, 1);
    if (target) *target = first;
    return target;
}

}  // namespace

void init_bound_column(InputColumn* column, KeyEncoding encoding, KeyPart part, Oid range_type) {
    auto* key = zeroed<KeyBound>();
    key->range = lookup_type_cache(range_type, TYPECACHE_RANGE_INFO);
    key->part = part;
    Oid element = getBaseType(key->range->rngelemtype->type_id);
    key->length = key->range->rngelemtype->typlen;
    key->is_float = element == FLOAT4OID || element == FLOAT8OID;
    column->bound = key;
    column->encoder = {encoding == KeyEncoding::BoundNumeric ? put_numeric_bound
                       : encoding == KeyEncoding::BoundInt64 ? put_integer_bound<int64>
                                                             : put_integer_bound<__int128>,
                       nullptr};
}

}  // namespace gpujoin
