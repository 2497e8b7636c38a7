// JoinKind: which rows a join gives, and what follows from that, in one table.
#pragma once

#include <cstdint>

namespace gpujoin {

// Named from the probe side.
enum class JoinKind : uint8_t { Inner, Left, Right, Full, Semi, Anti, RightSemi, RightAnti };

// Build rows that come out when all is probed, by whether they have found a match (see scan_build()).
enum class BuildScan : uint8_t { None, Matched, Unmatched };

struct JoinRows {
    bool pairs = false;                 // a row for each match
    bool matched_probe_rows = false;    // one for each probe row that has a match, without build columns
    bool unmatched_probe_rows = false;  // one for each that has none, with build columns NULL
    BuildScan build_rows = BuildScan::None;

    constexpr bool scans_build() const { return build_rows != BuildScan::None; }
    // Whose columns may come out. In a semijoin those of the build side are the matched row's.
    constexpr bool has_probe_columns() const { return pairs || matched_probe_rows || unmatched_probe_rows; }
    constexpr bool has_build_columns() const { return pairs || matched_probe_rows || scans_build(); }
    // A probe row's further candidates do not matter.
    constexpr bool is_decided_by_first_match() const { return !pairs && !scans_build(); }
    // No row comes out where that side has none.
    constexpr bool needs_a_probe_row() const { return build_rows != BuildScan::Unmatched; }
    constexpr bool needs_a_build_row() const { return !unmatched_probe_rows; }
};

// Without a default: the compiler tells of a kind that is missing.
constexpr JoinRows rows_of(JoinKind kind) {
    switch (kind) {
        case JoinKind::Inner:
            return {.pairs = true};
        case JoinKind::Left:
            return {.pairs = true, .unmatched_probe_rows = true};
        case JoinKind::Right:
            return {.pairs = true, .build_rows = BuildScan::Unmatched};
        case JoinKind::Full:
            return {.pairs = true, .unmatched_probe_rows = true, .build_rows = BuildScan::Unmatched};
        case JoinKind::Semi:
            return {.matched_probe_rows = true};
        case JoinKind::Anti:
            return {.unmatched_probe_rows = true};
        case JoinKind::RightSemi:
            return {.build_rows = BuildScan::Matched};
        case JoinKind::RightAnti:
            return {.build_rows = BuildScan::Unmatched};
    }
    return {};  // validate() lets no other through
}

}  // namespace gpujoin
