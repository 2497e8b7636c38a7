// Expressions that are a column plus or minus constants: integers, dates with days, timestamps with intervals
// of a fixed length. The executor computes them as ordered keys without an error whatever the column holds,
// saturated where the sum overflows; so the planner may make keys of them that are evaluated for every row.
#pragma once

#include "pg/key_encoding.h"

extern "C" {
#include "postgres.h"
#include "nodes/primnodes.h"
}

namespace gpujoin {

// sign * column + addend
struct ShiftedColumn {
    const Var* column;
    int64 addend;
    int sign;
};

// False when the expression is not of that form, or its sums do not have the encoding.
bool find_shifted_column(Node* expression, KeyEncoding encoding, ShiftedColumn* found);

// Whether the encoder's values, which stay at the ends of bigint where the true ones are beyond, all compare
// as those do, with the column on the left: the greatest bigint is a substitute in < and >=, the least in <=
// and >.
bool compares_truly(const ShiftedColumn& shifted, Comparison comparison);

}  // namespace gpujoin
