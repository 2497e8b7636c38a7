// FilterTester: tests a join's filter program on candidate pairs, many at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cpu/columns/column_source.h"
#include "wire/filter_program.h"

namespace gpujoin::cpu {

class FilterTester {
  public:
    // Sources by column number, of those columns that the program looks at. The program outlives the test.
    FilterTester(const FilterProgram& program, std::vector<ColumnSource> probe,
                 std::vector<ColumnSource> build)
        : program_(&program), probe_(std::move(probe)), build_(std::move(build)) {}

    // Clears keep[i] where the condition of pair (probe[i], build[i]) is neither true nor undecided. True if
    // a pair that was to be kept is undecided.
    bool test_pairs(const uint32_t* probe, const uint32_t* build, uint32_t pairs, uint8_t* keep) const;

    // The same for one probe row against build rows [first, first + rows).
    bool test_run(uint32_t probe, uint32_t first, uint32_t rows, uint8_t* keep) const;

  private:
    const FilterProgram* program_;
    std::vector<ColumnSource> probe_;
    std::vector<ColumnSource> build_;
};

}  // namespace gpujoin::cpu
