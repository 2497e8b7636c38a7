// What SQL's types and functions are to the filter machine: its types of values, and its operations.
#pragma once

#include "pg/plan_data.h"

extern "C" {
#include "postgres.h"
#include "nodes/primnodes.h"
}

namespace gpujoin {

// What values of an SQL type are to the machine and in batches.
struct FilterValueType {
    Oid type;
    FilterType filter;
    KeyEncoding encoding;
};

// Null for a type that the machine does not know.
const FilterValueType* find_value_type(Oid type);

// The value of a constant, not NULL, as the machine has it. False: it is of another type.
bool constant_bits(const Const* constant, Oid type, int64* bits);

// What a function does with its arguments.
struct FilterOperation {
    FilterOpcode opcode;
    FilterType type;         // of the outcome
    bool is_void = false;    // the outcome is the argument
    bool is_finite = false;  // an infinite argument is no number: it is left to PostgreSQL
};

// False for a function that the machine does not know.
bool find_operation(Oid function, FilterOperation* operation);

// A call of a function with one or two arguments and an outcome, of the declared types.
struct FunctionCall {
    Oid function;
    int count;
    Node* argument[2];
    Oid type[2];
};

// False for any other node.
bool take_call(Node* node, FunctionCall* call);

}  // namespace gpujoin
