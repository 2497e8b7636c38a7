// Running filter programs over blocks of 64 pairs, whose masks are words.
#include "engine/cpu/filter/filter_tester.h"

#include <algorithm>
#include <cstring>

#include "engine/cpu/filter/operand_reader.h"
#include "engine/cpu/work/simd.h"
#include "engine/filter_machine.h"

// What is inlined into the functions for several instruction sets is to be optimised like them.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

namespace gpujoin::cpu {

namespace {

constexpr uint32_t kBlock = 64;

// One probe row and consecutive build rows.
struct RunOfPairs {
    static constexpr uint32_t kLanes = kBlock;
    static constexpr bool kOneProbeRow = true;
    using Mask = uint64_t;

    const ColumnSource* probe;
    const ColumnSource* build;
    uint64_t probe_row;
    uint64_t first;
    uint32_t lanes;

    GPUJOIN_INLINE int64_t probe_value(uint16_t column) const {
        int64_t value;
        read_column(
            probe[column], 1, [this](uint32_t) { return probe_row; }, &value);
        return value;
    }
    GPUJOIN_INLINE bool probe_is_null(uint16_t column) const { return probe[column].is_null(probe_row); }
    GPUJOIN_INLINE Mask fetch(FilterSource, uint16_t column, int64_t* values) const {
        auto row = [this](uint64_t i) { return first + i; };
        read_column(build[column], lanes, row, values);
        return read_nulls(build[column], lanes, row);
    }
};

struct ListedPairs {
    static constexpr uint32_t kLanes = kBlock;
    static constexpr bool kOneProbeRow = false;
    using Mask = uint64_t;

    const ColumnSource* columns[2];  // probe, build
    const uint32_t* rows[2];
    uint32_t lanes;

    GPUJOIN_INLINE Mask fetch(FilterSource source, uint16_t column, int64_t* values) const {
        const uint32_t side = source == FilterSource::Build;
        auto row = [list = rows[side]](uint64_t i) { return list[i]; };
        read_column(columns[side][column], lanes, row, values);
        return read_nulls(columns[side][column], lanes, row);
    }
};

// Clears keep where the block's pairs did not pass; mostly none did. True if one that is kept is undecided.
template <typename Outcome>
GPUJOIN_INLINE bool apply(const Outcome& outcome, uint32_t lanes, uint8_t* keep) {
    const uint64_t present = lanes < kBlock ? (uint64_t{1} << lanes) - 1 : ~uint64_t{0};
    if ((outcome.passed & present) == 0) {
        std::memset(keep, 0, lanes);
        return false;
    }
    uint64_t kept = 0;
    for (uint64_t i = 0; i < lanes; i++) {
        keep[i] &= outcome.passed >> i & 1;
        kept |= uint64_t{keep[i]} << i;
    }
    return (kept & outcome.undecided) != 0;
}

GPUJOIN_VECTOR bool test_block(const FilterProgram& program, const RunOfPairs& pairs, uint8_t* keep) {
    FilterMachine<RunOfPairs> machine;
    return apply(machine.run(program, pairs), pairs.lanes, keep);
}

GPUJOIN_VECTOR bool test_block(const FilterProgram& program, const ListedPairs& pairs, uint8_t* keep) {
    FilterMachine<ListedPairs> machine;
    return apply(machine.run(program, pairs), pairs.lanes, keep);
}

}  // namespace

bool FilterTester::test_pairs(const uint32_t* probe, const uint32_t* build, uint32_t pairs,
                              uint8_t* keep) const {
    bool undecided = false;
    for (uint32_t i = 0; i < pairs; i += kBlock) {
        ListedPairs block{
            {probe_.data(), build_.data()}, {probe + i, build + i}, std::min(kBlock, pairs - i)};
        undecided |= test_block(*program_, block, keep + i);
    }
    return undecided;
}

bool FilterTester::test_run(uint32_t probe, uint32_t first, uint32_t rows, uint8_t* keep) const {
    bool undecided = false;
    for (uint32_t i = 0; i < rows; i += kBlock) {
        RunOfPairs block{probe_.data(), build_.data(), probe, uint64_t{first} + i,
                         std::min(kBlock, rows - i)};
        undecided |= test_block(*program_, block, keep + i);
    }
    return undecided;
}

}  // namespace gpujoin::cpu
