// FilterProgram: a condition over values of both rows of a pair (arithmetic, comparisons, AND, OR, NOT, IS
// NULL) in a form that an engine evaluates for very many pairs. Plain and of fixed size; a part of a
// JoinSpec, checked with it. A sink's values are such programs too, over one row (fragment_spec.h).
//
// The machine has an accumulator and a stack. A step with a source takes its right operand from there and its
// left one from the accumulator; with FilterSource::Stack the left one is popped, and the accumulator is the
// right one. The outcome is the accumulator again: an integer, a float (both 64 bits wide) or a truth value.
// A program ends with one value and an empty stack. A condition ends with a truth value.
//
// Each value may be NULL, and a truth value unknown: a step with a NULL operand gives NULL, but for IsNull,
// IsTrue, And and Or. And each may be *undecided*: its evaluation would raise an error (a sum that overflows,
// a division by zero) or is not attempted here (arithmetic on infinite dates). What is computed from an
// undecided value is undecided, NULL or not; And and Or are decided by their left operand alone where it is
// false or true. A pair whose condition is true matches; one whose condition is undecided is for the client
// to decide.
#pragma once

#include <cstdint>
#include <span>

#include "wire/column_spec.h"
#include "wire/status.h"

namespace gpujoin {

inline constexpr uint32_t kMaxFilterSteps = 128;
inline constexpr uint32_t kMaxFilterConstants = 32;
inline constexpr uint32_t kMaxFilterNumbers = 3;  // numbers on the stack
inline constexpr uint32_t kMaxFilterTruths = 8;   // truth values on the stack

enum class FilterOpcode : uint8_t {
    Push,  // moves the accumulator to the stack, which leaves it empty
    Load,  // fills an empty accumulator from the source
    // number and number; undecided where the outcome is none of the step's type
    Add,
    Subtract,
    Multiply,
    Divide,  // integers: towards zero
    Modulo,  // integers only; the sign is the left operand's
    // number
    Check,  // undecided where it is no value of the step's type
    Negate,
    Absolute,
    ToFloat,  // integer to Float64
    Choose,   // where the truth value below a number on the stack is true that number, else the accumulator;
              // what is not chosen does not count
    // two integers, or two floats by a total order: NaN equals itself and is greater than all others
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    // anything
    IsNull,
    // truth values
    IsTrue,
    Not,
    And,  // And and Or take the left operand from the stack
    Or,
};

// What the outcome of a step is. Types up to Decimal are integers: Date counts days and Timestamp
// microseconds, without infinities and beyond-range values; Decimal is a decimal fraction of up to 18 digits,
// in units of its last one. Float32 rounds like single precision.
enum class FilterType : uint8_t { Int16, Int32, Int64, Date, Timestamp, Decimal, Float32, Float64 };

enum class FilterSource : uint8_t { Stack, Probe, Build, Constant };

struct FilterStep {
    FilterOpcode opcode;
    FilterType
        type;  // of Load, arithmetic and comparisons; the latter two distinguish integers from floats only
    FilterSource source;  // of Load and the steps with two operands
    uint8_t reserved;
    uint16_t operand;  // column of the side, or number of the constant
    uint16_t reserved2;
};

struct FilterProgram {
    uint16_t steps;  // 0: no condition
    uint16_t constants;
    uint32_t reserved;
    FilterStep step[kMaxFilterSteps];
    uint64_t constant[kMaxFilterConstants];  // integers, or the bits of doubles
};

constexpr bool is_float(FilterType type) {
    return type >= FilterType::Float32;
}

constexpr bool is_arithmetic(FilterOpcode opcode) {
    return opcode >= FilterOpcode::Add && opcode <= FilterOpcode::Modulo;
}
constexpr bool is_comparison(FilterOpcode opcode) {
    return opcode >= FilterOpcode::Equal && opcode <= FilterOpcode::GreaterEqual;
}

// Whether a step's source and operand mean something.
constexpr bool has_source(FilterOpcode opcode) {
    return opcode == FilterOpcode::Load || is_arithmetic(opcode) || is_comparison(opcode);
}

// Whether some pair may be undecided: whether there is arithmetic at all.
bool may_be_undecided(const FilterProgram& program);

// What a program ends with: an integer, a float or a truth value. The program is valid and not empty.
enum class ValueKind : uint8_t { Integer, Float, Truth };
ValueKind kind_of(const FilterProgram& program);

// Checks every step against the accumulator and stack that the steps before it leave, and against the
// columns of both sides (08P01). Says what the program ends with.
Status validate_program(const FilterProgram& program, std::span<const ColumnSpec> probe,
                        std::span<const ColumnSpec> build, ValueKind* outcome);

// The same for a condition, which may be missing.
Status validate_filter(const FilterProgram& program, std::span<const ColumnSpec> probe,
                       std::span<const ColumnSpec> build);

}  // namespace gpujoin
