// Copies of by-reference values: how many bytes a Datum takes flat, and writing it there. External TOAST
// pointers are copied as they are (they stay good as long as the query's snapshot); expanded objects are
// flattened.
#pragma once

#include <cstring>

extern "C" {
#include "postgres.h"
#include "utils/expandeddatum.h"
}

namespace gpujoin {

// Every copy starts at a multiple of this, which is enough for any type's alignment.
inline constexpr Size kValueAlignment = 8;

inline Size aligned_value_bytes(Size bytes) {
    return (bytes + kValueAlignment - 1) & ~(kValueAlignment - 1);
}

// type_length: pg_type.typlen (-1: varlena, -2: cstring).
inline Size value_bytes(Datum value, int16 type_length) {
    if (type_length > 0) return type_length;
    if (type_length == -2) return strlen(DatumGetCString(value)) + 1;
    const char* varlena = DatumGetPointer(value);
    if (VARATT_IS_EXTERNAL_EXPANDED(varlena)) return EOH_get_flat_size(DatumGetEOHP(value));
    return VARSIZE_ANY(varlena);
}

// bytes: what value_bytes() said.
inline void copy_value(void* target, Datum value, int16 type_length, Size bytes) {
    if (type_length == -1 && VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(value)))
        EOH_flatten_into(DatumGetEOHP(value), target, bytes);
    else
        memcpy(target, DatumGetPointer(value), bytes);
}

}  // namespace gpujoin
