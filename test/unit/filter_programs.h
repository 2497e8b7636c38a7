// Filter programs for tests, step by step.
#pragma once

#include <bit>
#include <cstdint>

#include "wire/join_spec.h"

namespace gpujoin::test {

class ProgramWriter {
  public:
    using Opcode = FilterOpcode;
    using Type = FilterType;
    using Source = FilterSource;

    explicit ProgramWriter(FilterProgram& program) : program_(program) { program = {}; }

    ProgramWriter& step(Opcode opcode, Type type = Type::Int64, Source source = Source::Stack,
                        uint16_t operand = 0) {
        program_.step[program_.steps++] = {opcode, type, source, 0, operand, 0};
        return *this;
    }
    ProgramWriter& probe(Opcode opcode, uint16_t column, Type type = Type::Int64) {
        return step(opcode, type, Source::Probe, column);
    }
    ProgramWriter& build(Opcode opcode, uint16_t column, Type type = Type::Int64) {
        return step(opcode, type, Source::Build, column);
    }
    ProgramWriter& constant(Opcode opcode, int64_t value, Type type = Type::Int64) {
        program_.constant[program_.constants] = static_cast<uint64_t>(value);
        return step(opcode, type, Source::Constant, program_.constants++);
    }
    ProgramWriter& constant(Opcode opcode, double value, Type type = Type::Float64) {
        return constant(opcode, std::bit_cast<int64_t>(value), type);
    }

  private:
    FilterProgram& program_;
};

}  // namespace gpujoin::test
