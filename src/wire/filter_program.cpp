// Checking of filter programs: a run of the program on the kinds of values alone.
#include "wire/filter_program.h"

namespace gpujoin {

namespace {

enum class Kind : uint8_t { Empty, Integer, Float, Truth };

using Columns = std::span<const ColumnSpec>;

Status malformed_program(const char* what, uint64_t step) {
    return malformed("filter program")
        .with_detail("Step %llu %s.", static_cast<unsigned long long>(step), what);
}

// Before a step is read.
Status check_counts(const FilterProgram& program) {
    if (program.steps <= kMaxFilterSteps && program.constants <= kMaxFilterConstants) return {};
    return malformed("filter program")
        .with_detail("It has %u steps and %u constants.", program.steps, program.constants);
}

Kind kind_of(FilterType type) {
    return is_float(type) ? Kind::Float : Kind::Integer;
}

// What a column's values are as operands. Empty: none.
Kind kind_of(const ColumnSpec& column) {
    if (column.type > ColumnType::Fixed8) return Kind::Empty;
    if (column.order == ValueOrder::Float) return Kind::Float;
    if (column.order == ValueOrder::Signed) return Kind::Integer;
    bool fits = column.order == ValueOrder::Unsigned && column.type < ColumnType::Fixed8;
    return fits ? Kind::Integer : Kind::Empty;
}

class Checker {
  public:
    Checker(const FilterProgram& program, Columns probe, Columns build)
        : program_(program), probe_(probe), build_(build) {}

    Status check() {
        for (number_ = 0; number_ < program_.steps; number_++)
            if (const char* fault = check(program_.step[number_])) return malformed_program(fault, number_);
        if (accumulator_ == Kind::Empty || depth_ > 0)
            return malformed_program("is the end, but leaves no value alone", number_);
        return {};
    }

  private:
    // What is wrong with a step; nullptr: nothing.
    const char* check(const FilterStep& step) {
        if (step.opcode > FilterOpcode::Or) return "has an unknown opcode";
        if (step.type > FilterType::Float64) return "has an unknown type";
        if (step.source > FilterSource::Constant) return "has an unknown source";
        if (step.opcode == FilterOpcode::Push) return push();
        if (step.opcode == FilterOpcode::Load) return load(step);
        if (accumulator_ == Kind::Empty) return "lacks a value";
        if (step.opcode == FilterOpcode::And || step.opcode == FilterOpcode::Or) return connect(step);
        if (is_arithmetic(step.opcode) || is_comparison(step.opcode)) return combine(step);
        return change(step);
    }

    const char* push() {
        if (accumulator_ == Kind::Empty) return "pushes nothing";
        uint32_t& count = accumulator_ == Kind::Truth ? truths_ : numbers_;
        uint32_t limit = accumulator_ == Kind::Truth ? kMaxFilterTruths : kMaxFilterNumbers;
        if (count == limit) return "exceeds the stack";
        count++;
        stack_[depth_++] = accumulator_;
        accumulator_ = Kind::Empty;
        return nullptr;
    }

    Kind pop() {
        if (depth_ == 0) return Kind::Empty;
        Kind kind = stack_[--depth_];
        (kind == Kind::Truth ? truths_ : numbers_)--;
        return kind;
    }

    const char* load(const FilterStep& step) {
        if (accumulator_ != Kind::Empty) return "loads over a value";
        if (step.source == FilterSource::Stack) return "loads from the stack";
        if (operand_kind(step) != kind_of(step.type)) return "loads what it may not";
        accumulator_ = kind_of(step.type);
        return nullptr;
    }

    const char* connect(const FilterStep& step) {
        if (step.source != FilterSource::Stack) return "connects truth values from elsewhere than the stack";
        if (accumulator_ != Kind::Truth || pop() != Kind::Truth) return "connects what are no truth values";
        return nullptr;
    }

    const char* combine(const FilterStep& step) {
        Kind wanted = kind_of(step.type);
        if (step.opcode == FilterOpcode::Modulo && wanted == Kind::Float) return "has floats for integers";
        if (accumulator_ != wanted || operand_kind(step) != wanted) return "combines values of other types";
        if (is_comparison(step.opcode)) accumulator_ = Kind::Truth;
        return nullptr;
    }

    const char* change(const FilterStep& step) {
        Kind wanted = kind_of(step.type);
        switch (step.opcode) {
            case FilterOpcode::IsNull:
                accumulator_ = Kind::Truth;
                return nullptr;
            case FilterOpcode::IsTrue:
            case FilterOpcode::Not:
                return accumulator_ == Kind::Truth ? nullptr : "lacks a truth value";
            case FilterOpcode::ToFloat:
                if (accumulator_ != Kind::Integer || step.type != FilterType::Float64)
                    return "converts no integer";
                accumulator_ = Kind::Float;
                return nullptr;
            case FilterOpcode::Choose:
                if (accumulator_ != wanted || pop() != wanted) return "chooses between values of other types";
                return pop() == Kind::Truth ? nullptr : "chooses by no truth value";
            case FilterOpcode::Check:
                if (wanted == Kind::Float) return "checks a float";
                [[fallthrough]];
            default:
                return accumulator_ == wanted ? nullptr : "changes a value of another type";
        }
    }

    // The kind of a step's operand, which is taken off the stack if it lies there. Empty: there is none.
    Kind operand_kind(const FilterStep& step) {
        switch (step.source) {
            case FilterSource::Stack:
                return pop();
            case FilterSource::Probe:
                return step.operand < probe_.size() ? kind_of(probe_[step.operand]) : Kind::Empty;
            case FilterSource::Build:
                return step.operand < build_.size() ? kind_of(build_[step.operand]) : Kind::Empty;
            default:
                return step.operand < program_.constants ? kind_of(step.type) : Kind::Empty;
        }
    }

    const FilterProgram& program_;
    const Columns probe_;
    const Columns build_;
    uint32_t number_ = 0;
    Kind accumulator_ = Kind::Empty;
    Kind stack_[kMaxFilterNumbers + kMaxFilterTruths];
    uint32_t depth_ = 0;
    uint32_t numbers_ = 0;
    uint32_t truths_ = 0;
};

}  // namespace

bool may_be_undecided(const FilterProgram& program) {
    for (uint32_t i = 0; i < program.steps; i++) {
        const FilterStep& step = program.step[i];
        bool changes_sign = step.opcode == FilterOpcode::Negate || step.opcode == FilterOpcode::Absolute;
        if (is_arithmetic(step.opcode) || step.opcode == FilterOpcode::Check) return true;
        if (changes_sign && !is_float(step.type)) return true;
    }
    return false;
}

// The last step says it.
ValueKind kind_of(const FilterProgram& program) {
    const FilterStep& last = program.step[program.steps - 1];
    if (last.opcode == FilterOpcode::ToFloat) return ValueKind::Float;
    if (last.opcode >= FilterOpcode::Equal) return ValueKind::Truth;
    return is_float(last.type) ? ValueKind::Float : ValueKind::Integer;
}

Status validate_program(const FilterProgram& program, Columns probe, Columns build, ValueKind* outcome) {
    GPUJOIN_RETURN_IF_FAILED(check_counts(program));
    GPUJOIN_RETURN_IF_FAILED(Checker(program, probe, build).check());
    *outcome = kind_of(program);
    return {};
}

Status validate_filter(const FilterProgram& program, Columns probe, Columns build) {
    GPUJOIN_RETURN_IF_FAILED(check_counts(program));
    if (program.steps == 0) return {};
    ValueKind outcome;
    GPUJOIN_RETURN_IF_FAILED(validate_program(program, probe, build, &outcome));
    return outcome == ValueKind::Truth
               ? Status{}
               : malformed_program("is the end, but not of a condition", program.steps);
}

}  // namespace gpujoin
