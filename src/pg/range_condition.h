// Conditions of a scan that compare a column with a constant, as the question whether the column's value, as
// an integer that orders like it, is in a range. Integers, oids, dates, times and floats are such integers,
// each among its kind; numerics of a declared scale are in units of their last digit.
#pragma once

#include "wire/join_spec.h"

extern "C" {
#include "postgres.h"
#include "access/attnum.h"
#include "nodes/primnodes.h"
}

namespace gpujoin {

// A clause in the form column <comparison> constant.
struct RangeCondition {
    AttrNumber attribute;
    Expr* constant;  // a Const or a Param
    Comparison comparison;
    Oid column_type;  // as the operator reads the column
    Oid constant_type;
    int scale;  // numerics
};

// Whether a condition over one table is of that form. Numerics are asked for by their column's type modifier
// where wants_numerics.
bool find_range_condition(const Node* clause, bool wants_numerics, RangeCondition* found);

// Whether values of a type are such integers, those of numerics if they have a scale.
bool is_number_column(Oid type);

// The values that pass are between low and low + span, which may go beyond the largest integer to the
// smallest; or, `outside`, are not. Or no value passes.
struct ValueRange {
    int64 low;
    uint64 span;
    bool outside;
    bool never;
};
ValueRange range_of(const RangeCondition* condition, Datum constant);

// An integer that orders among its kind as doubles do.
int64 ordered_integer(double value);

}  // namespace gpujoin
