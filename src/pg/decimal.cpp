// See decimal.h. A numeric is a header word (with sign, scale and weight in it where it is short), or a
// header and a weight word, then int16 digits of base 10000, most significant first; the first one counts
// 10000^weight.
#include "pg/decimal.h"

#include <cstring>

#include "pg/compat.h"

extern "C" {
#include "utils/builtins.h"
#include "utils/numeric.h"
}

namespace gpujoin {

namespace {

constexpr uint16_t kFormMask = 0xC000;
constexpr uint16_t kNegativeLong = 0x4000;
constexpr uint16_t kShort = 0x8000;
constexpr uint16_t kSpecial = 0xC000;
constexpr uint16_t kLongScaleMask = 0x3FFF;
constexpr uint16_t kShortNegative = 0x2000;
constexpr uint16_t kShortScaleMask = 0x1F80;
constexpr int kShortScaleShift = 7;
constexpr uint16_t kShortWeightNegative = 0x0040;
constexpr uint16_t kShortWeightMask = 0x003F;

constexpr int kBase = 10000;
constexpr int kDigitsOfBase = 4;
constexpr int kMaxWeight = 4;          // 10^16 to 10^20
constexpr int kMaxQuickPositions = 4;  // whose numbers have 64 bits
constexpr int64 kPowers[] = {1, 10, 100, 1000};
constexpr uint64 kTooLarge = 1000000000000000000;

uint16_t word_at(const char* bytes) {
    uint16_t word;
    memcpy(&word, bytes, sizeof(word));
    return word;
}

// The number that digits make in so many positions, in units of the last one's. At most kTooLarge.
template <typename Sum>
uint64 number_of(const char* digits, int count, int positions, uint64 unit) {
    Sum sum = 0;
    for (int i = 0; i < positions; i++) sum = sum * kBase + (i < count ? word_at(digits + 2 * i) : 0);
    if (unit > 1) sum /= unit;
    return sum < kTooLarge ? static_cast<uint64>(sum) : kTooLarge;
}

// By scale: 2^32 over what digits behind the point count too much in a word of four, to divide by that; and
// what they count before the point.
constexpr uint64 kShares[] = {429497, 4294968, 42949673, 429496730, uint64{1} << 32};
constexpr uint64 kUnits[] = {1, 10, 100, 1000, 10000};

// Most numbers are short: up to 12 digits before the point and 4 behind it, and one word of header. False for
// others.
bool short_decimal_of(const varlena* stored, int64* number, int* scale) {
    constexpr int kMostWeight = 2;
    if (!VARATT_IS_1B(stored) || VARATT_IS_1B_E(stored)) return false;
    const char* bytes = VARDATA_1B(stored);
    const uint16_t header = word_at(bytes);
    int weight = header & kShortWeightMask;
    if (header & kShortWeightNegative) weight -= kShortWeightMask + 1;
    *scale = (header & kShortScaleMask) >> kShortScaleShift;
    if ((header & kFormMask) != kShort || weight < -1 || weight > kMostWeight || *scale > kDigitsOfBase)
        return false;
    const int count = static_cast<int>(VARSIZE_1B(stored) - VARHDRSZ_SHORT) / 2 - 1;
    const auto digit = [&](int i) { return i < count ? word_at(bytes + 2 + 2 * i) : uint64{0}; };
    uint64 whole = 0;
    for (int i = 0; i <= weight; i++) whole = whole * kBase + digit(i);
    const uint64 sum = whole * kUnits[*scale] + (digit(weight + 1) * kShares[*scale] >> 32);
    *number = header & kShortNegative ? -static_cast<int64>(sum) : static_cast<int64>(sum);
    return true;
}

pg_noinline bool any_decimal_of(const varlena* stored, int64* number, int* scale) {
    if (VARATT_IS_EXTERNAL(stored) || VARATT_IS_COMPRESSED(stored)) return false;
    const char* bytes = VARDATA_ANY(stored);
    const int size = static_cast<int>(VARSIZE_ANY_EXHDR(stored));
    const uint16_t header = word_at(bytes);
    if ((header & kFormMask) == kSpecial) return false;
    const bool is_short = (header & kFormMask) == kShort;
    bool negative = (header & kFormMask) == kNegativeLong;
    int weight;
    if (is_short) {
        negative = header & kShortNegative;
        *scale = (header & kShortScaleMask) >> kShortScaleShift;
        weight = header & kShortWeightMask;
        if (header & kShortWeightNegative) weight -= kShortWeightMask + 1;
    } else {
        *scale = header & kLongScaleMask;
        weight = static_cast<int16_t>(word_at(bytes + 2));
    }
    const char* digits = bytes + (is_short ? 2 : 4);
    const int count = static_cast<int>(bytes + size - digits) / 2;
    *number = 0;
    if (count == 0) return *scale <= kMaxScale;
    if (*scale > kMaxScale || weight > kMaxWeight) return false;

    // All digits down to those that the scale reaches into, of which the last ones are zeros.
    const int fraction = (*scale + kDigitsOfBase - 1) / kDigitsOfBase;
    const int positions = weight + fraction + 1;
    const auto unit = static_cast<uint64>(kPowers[fraction * kDigitsOfBase - *scale]);
    const uint64 sum = positions <= kMaxQuickPositions ? number_of<uint64>(digits, count, positions, unit)
                                                       : number_of<uint128>(digits, count, positions, unit);
    if (sum >= kTooLarge) return false;
    *number = negative ? -static_cast<int64>(sum) : static_cast<int64>(sum);
    return true;
}

}  // namespace

bool decimal_of(Datum value, int64* number, int* scale) {
    const auto* stored = reinterpret_cast<const varlena*>(DatumGetPointer(value));
    return short_decimal_of(stored, number, scale) || any_decimal_of(stored, number, scale);
}

bool decimal_constant(Datum value, int64* number, int* scale) {
    return decimal_of(PointerGetDatum(PG_DETOAST_DATUM_PACKED(value)), number, scale);
}

int decimal_precision(int32 typmod) {
    return (typmod - static_cast<int32>(VARHDRSZ)) >> 16 & 0xffff;
}

int decimal_scale(int32 typmod) {
    if (typmod < static_cast<int32>(VARHDRSZ)) return -1;
    int precision = decimal_precision(typmod);
    int scale = (typmod - static_cast<int32>(VARHDRSZ)) & 0x7ff;  // from 1024 on negative ones
    return precision <= kMaxScale && scale <= kMaxScale ? scale : -1;
}

bool is_nan(Datum value) {
    const auto* stored = reinterpret_cast<const varlena*>(DatumGetPointer(value));
    return !VARATT_IS_EXTERNAL(stored) && !VARATT_IS_COMPRESSED(stored) &&
           word_at(VARDATA_ANY(stored)) == kSpecial;
}

Datum numeric_of(int64 number, int scale) {
    if (number == kDecimalNaN)
        return DirectFunctionCall3(numeric_in, CStringGetDatum("NaN"), ObjectIdGetDatum(InvalidOid),
                                   Int32GetDatum(-1));
    return NumericGetDatum(int64_div_fast_to_numeric(number, scale));
}

}  // namespace gpujoin
