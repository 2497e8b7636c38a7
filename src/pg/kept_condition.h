// The conditions of a scan as the server tests them on kept columns (wire/kept.h): comparisons of single
// columns with constants, tests for NULL and truth values, connected by AND, OR and NOT. What is none of
// these is kept as a column of its own, which says for each row whether it is true.
#pragma once

#include "pg/key_encoding.h"
#include "pg/range_condition.h"
#include "wire/kept.h"

extern "C" {
#include "postgres.h"
#include "nodes/pg_list.h"
}

namespace gpujoin {

// A test of a column, which is one of numbers (range), or has a key encoding, or is computed.
struct KeptLeaf {
    enum Column : uint8 { Numbers, Encoded, Computed } column;
    RangeCondition range;  // Numbers: the column; if there is a constant, the comparison with it
    bool is_negated;       // Numbers: values that do not compare so pass
    bool is_asked_first;   // for its constant: before any other condition is tested
    AttrNumber attribute;  // Encoded
    KeyEncoding encoding;
    Oid declared_type;
    Node* expression;         // Computed: canonical (kept_expression.h)
    KeptCondition condition;  // but for its column; and for its interval where there is a constant
};

struct KeptFormula {
    int count;
    KeptLeaf leaves[kMaxKeptConditions];
};

// Of these clauses over a table, all of which are to hold; nullptr where the server cannot test them.
// Allocates in the current memory context.
const KeptFormula* make_kept_formula(List* clauses);

// The test of a leaf whose constant has a value.
KeptCondition kept_condition_of(const KeptLeaf* leaf, Datum constant, bool isnull);

}  // namespace gpujoin
