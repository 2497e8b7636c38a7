// The executor of every kind of host memory.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_scan.h>

#include <functional>

#include "place_of.h"

namespace gpujoin::bench {

struct HostExecutor {
    using Range = tbb::blocked_range<uint64_t>;
    static constexpr uint64_t kGrain = 1u << 14;

    template <typename Body>
    static void for_rows(uint64_t rows, const Body& body) {
        tbb::parallel_for(Range(0, rows, kGrain), [&](const Range& range) {
            for (uint64_t row = range.begin(); row != range.end(); row++) body(row);
        });
    }

    template <typename Body>
    static Check sum(uint64_t rows, const Body& body) {
        auto add_range = [&](const Range& range, Check sum) {
            for (uint64_t row = range.begin(); row != range.end(); row++) sum = sum + body(row);
            return sum;
        };
        return tbb::parallel_reduce(Range(0, rows, kGrain), Check{}, add_range, std::plus<Check>());
    }

    static void prefix_sum(Check* sums, uint64_t rows) {
        auto scan_range = [&](const Range& range, Check sum, bool is_final) {
            for (uint64_t row = range.begin(); row != range.end(); row++) {
                sum = sum + sums[row];
                if (is_final) sums[row] = sum;
            }
            return sum;
        };
        tbb::parallel_scan(Range(0, rows, kGrain), Check{}, scan_range, std::plus<Check>());
    }
};

}  // namespace gpujoin::bench
