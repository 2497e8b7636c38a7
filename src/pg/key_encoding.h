// Key encodings: how a SQL value becomes canonical bytes, so that equal values have equal bytes (equality) or
// ordered values have ordered columns (ranges). Chosen by the clause's operator (its declared input types and
// collation), never by the expression's own type. One row a family; the planner looks an operator up, the
// executor encodes.
#pragma once

#include "wire/join_spec.h"

extern "C" {
#include "postgres.h"
}

namespace gpujoin {

// Numbers travel in plans, but never to another version of the library.
enum class KeyEncoding : uint8_t {
    None = 0,
    Bool,     // 1 byte
    Char1,    // "char", 1 byte
    Int16,    // int2 = int2
    Int32,    // int2/int4 combinations, date
    Int64,    // any integer combination with int8, time, timestamp, timestamptz
    Oid32,    // oid, enum (equality only)
    Float64,  // float4/float8 in all combinations; -0 to +0, one NaN
    Float32,  // float4 = float4
    Numeric,  // stripped of scale
    Text,     // text, varchar under a deterministic collation: the bytes
    Bpchar,   // trailing blanks stripped
    Name,     // name, and name against text: the bytes up to the zero
    Bytea,
    Uuid,           // 16 bytes
    DateTimestamp,  // date against timestamp, as timestamps; a date beyond their range sorts just below
                    // infinity
    NumericOrder,   // numeric as bytes that order as the values do; NaN above infinity
    Hash64,         // any other hashable type: equal values have equal hashes; the clause is kept as residual
    UuidOrder,      // the same 16 bytes as ordered bytes
    Decimal64,      // numeric(p, s), p up to 18, in units of its last digit; kDecimalNaN for NaN
    Float8Value,    // float8 and
    Float4Value,    // float4 as they are: values of programs, no keys
    // Bounds of ranges, and what is compared with them (executor/encode_range.cpp), over
    BoundInt64,    // int2, int4, date
    BoundInt128,   // int8, float4, float8, time, timestamp, timestamptz
    BoundNumeric,  // numeric
};

// The comparison with its sides changed.
inline Comparison commuted(Comparison comparison) {
    switch (comparison) {
        case Comparison::Less:
            return Comparison::Greater;
        case Comparison::LessEqual:
            return Comparison::GreaterEqual;
        case Comparison::Greater:
            return Comparison::Less;
        case Comparison::GreaterEqual:
            return Comparison::LessEqual;
        default:
            return comparison;
    }
}

inline bool is_bound(KeyEncoding encoding) {
    return encoding >= KeyEncoding::BoundInt64 && encoding <= KeyEncoding::BoundNumeric;
}

// How an operator's sides are encoded: both give the same column type and order.
struct OperatorEncoding {
    KeyEncoding encoding;
    Oid left_type;  // the operator's declared input types: how each side's Datum is read
    Oid right_type;
    Comparison comparison;
};

// Looks up an operator under the clause's input collation. False when it is not one whose values can be
// encoded: not recognised, a nondeterministic collation, or an order that bytes do not have. Never answers
// Hash64: that depends on the clause, not on the operator alone (see planner/clauses.h).
bool find_operator_encoding(Oid opno, Oid inputcollid, OperatorEncoding* found);

// The engine's column for an encoding.
ColumnSpec column_of(KeyEncoding encoding);

// Whether encoded values of a type of this length (pg_type.typlen) are the very bytes of its values.
bool holds_value(KeyEncoding encoding, int length);

}  // namespace gpujoin
