// Encoders: SQL values of keys to the canonical bytes of a KeyEncoding. One function a (encoding, declared
// input type of the operator on that side), chosen when a plan starts; it reads the Datum as that type,
// whatever the expression's own type is.
#pragma once

#include "pg/executor/batch_writer.h"
#include "pg/key_encoding.h"
#include "pg/plan_data.h"

namespace gpujoin {

// declared_type: of the clause's operator on the side the column is for. Raises an internal error where there
// is no such encoder: the planner let something through.
Encoder find_encoder(KeyEncoding encoding, Oid declared_type);

// True when the encoder may allocate (detoasting), so that a memory context must be reset after each row.
bool encoder_allocates(KeyEncoding encoding);

// Makes a column carry the 64-bit hash of its values, for one side of a clause whose operator is hashable.
// The hash functions are those of the operator's hash family, extended ones where both sides have them, so
// that equal values of both sides have equal hashes.
void init_hash_column(InputColumn* column, const OpExpr* clause, bool probe_side);

// Makes a column carry its attribute plus or minus constants, saturated, for terms that order values. The
// expression is over the child's slot. False, and nothing done, when it is not of that form.
bool init_shifted_column(InputColumn* column, Node* expression, KeyEncoding encoding);

// Makes a column carry bounds of ranges of the type, or, shifted or not, elements that are compared with
// them.
void init_bound_column(InputColumn* column, KeyEncoding encoding, KeyPart part, Oid range_type);

// The parts of find_encoder(): no functions when the encoding is not theirs.
Encoder find_fixed_encoder(KeyEncoding encoding, Oid declared_type);
Encoder find_bytes_encoder(KeyEncoding encoding, Oid declared_type);

// encode_numeric.cpp: alone, and between two bytes in such a way that keys order by number first, then by the
// byte behind it.
bool put_numeric(InputColumn* column, uint32_t row, Datum value);
bool put_enclosed_numeric(InputColumn* column, uint32_t row, Datum value, std::byte before, std::byte behind);

// encode_shifted.cpp
int64 shifted(const KeyShift* shift, int64 value);

}  // namespace gpujoin
