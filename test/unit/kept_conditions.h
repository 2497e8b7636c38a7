// Conditions of scans of kept columns, as tests write them.
#pragma once

#include <vector>

#include "wire/kept.h"

namespace gpujoin::test {

// Connects a condition with those before, which are connected by AND, in the same way.
inline void add_condition(std::vector<KeptCondition>& conditions, KeptCondition condition) {
    if (!conditions.empty()) conditions.back().if_passed = static_cast<uint8_t>(conditions.size());
    condition.if_passed = kRowIsWanted;
    condition.if_failed = kRowIsUnwanted;
    conditions.push_back(condition);
}

inline KeptCondition interval_condition(int64_t low, uint64_t span, uint32_t column,
                                        KeptTest test = KeptTest::Inside) {
    return {.interval = {low, span},
            .column = static_cast<uint16_t>(column),
            .test = test,
            .length = 0,
            .null_passes = 0,
            .if_passed = kRowIsWanted,
            .if_failed = kRowIsUnwanted,
            .reserved = 0};
}

}  // namespace gpujoin::test
