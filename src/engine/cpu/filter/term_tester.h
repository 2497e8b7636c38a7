// TermTester: tests one term on candidate pairs, many at a time.
#pragma once

#include <cstdint>

#include "engine/cpu/columns/column_source.h"
#include "wire/join_spec.h"

namespace gpujoin::cpu {

class TermTester {
  public:
    TermTester(const ColumnSource& probe, const ColumnSource& build, Comparison comparison);

    // Clears keep[i] where pair (probe[i], build[i]) fails the term. No row has a NULL in either column.
    void test_pairs(const uint32_t* probe, const uint32_t* build, uint32_t pairs, uint8_t* keep) const;

    // The same for one probe row against build rows [first, first + rows).
    void test_run(uint32_t probe, uint32_t first, uint32_t rows, uint8_t* keep) const;

  private:
    ColumnSource probe_;
    ColumnSource build_;
    Comparison comparison_;
};

}  // namespace gpujoin::cpu
