// Row numbers, and where rows are stored.
#include "engine/row_numbers.h"

#include <algorithm>
#include <iterator>

namespace gpujoin {

Status order_runs(std::vector<RowRun>* runs) {
    std::ranges::sort(*runs, {}, &RowRun::first_row);
    uint64_t next = 0;
    for (const RowRun& run : *runs) {
        if (run.first_row > next)
            return failure(Fault::Error, "XX000", "build rows of a join are missing")
                .with_detail("Row %llu was appended, but row %llu was not.",
                             static_cast<unsigned long long>(run.first_row),
                             static_cast<unsigned long long>(next));
        if (run.first_row < next)
            return failure(Fault::Error, "XX000", "build rows of a join come twice")
                .with_detail("Row %llu was appended again.", static_cast<unsigned long long>(run.first_row));
        next += run.rows;
    }
    return {};
}

void RowNumbers::add(uint64_t first_row, uint64_t rows) {
    if (stored_.empty()) return stored_.push_back({first_row, rows, 0});
    RowRun& last = stored_.back();
    if (first_row == last.first_row + last.rows)
        last.rows += rows;
    else
        stored_.push_back({first_row, rows, last.stored_at + last.rows});
}

Status RowNumbers::seal() {
    ordered_ = stored_;
    return order_runs(&ordered_);
}

uint64_t RowNumbers::find_number(uint64_t stored_at) const {
    const RowRun& run = *std::prev(std::ranges::upper_bound(stored_, stored_at, {}, &RowRun::stored_at));
    return run.first_row + (stored_at - run.stored_at);
}

uint64_t RowNumbers::find_stored(uint64_t number) const {
    const RowRun& run = *std::prev(std::ranges::upper_bound(ordered_, number, {}, &RowRun::first_row));
    return run.stored_at + (number - run.first_row);
}

}  // namespace gpujoin
