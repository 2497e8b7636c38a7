// Numerics of up to 18 digits as integers, in units of their last digit. (The stored form of numeric is read
// where they are: PostgreSQL has no functions for it.)
#pragma once

extern "C" {
#include "postgres.h"
}

namespace gpujoin {

inline constexpr int kMaxScale = 18;  // of decimals

// The number and its display scale. False for NaN, infinities, and what has more digits. Never allocates:
// what is compressed or stored elsewhere has more.
bool decimal_of(Datum value, int64* number, int* scale);

// The same for a constant.
bool decimal_constant(Datum value, int64* number, int* scale);

// The scale of a column of type numeric(p, s); -1: the type says none, or a negative one, or more than 18
// digits.
int decimal_scale(int32 typmod);
// Its precision, if it has one.
int decimal_precision(int32 typmod);

// What stands for NaN, the one value of such a column that is no decimal.
inline constexpr int64 kDecimalNaN = PG_INT64_MIN;
bool is_nan(Datum value);

// The numeric with that display scale, or NaN.
Datum numeric_of(int64 number, int scale);

}  // namespace gpujoin
