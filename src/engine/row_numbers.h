// Row numbers: who appends build rows numbers them, a run of consecutive numbers a batch. Batches come in any
// order and from several threads, so that a row's number does not say where an engine stores it. All numbers
// together are 0, 1 … n - 1, each once.
#pragma once

#include <cstdint>
#include <vector>

#include "wire/status.h"

namespace gpujoin {

struct RowRun {
    uint64_t first_row;
    uint64_t rows;       // at least one
    uint64_t stored_at;  // where the engine has the first row, or all of them
};

// Brings runs into the order of their numbers. Fails where numbers are missing or come twice.
Status order_runs(std::vector<RowRun>* runs);

// The numbers of rows that are stored one behind the other, in the order in which they were added. Runs that
// continue each other are one; so there is one in all where rows came in the order of their numbers, and no
// number has to be looked up.
class RowNumbers {
  public:
    // Of the next rows, at least one.
    void add(uint64_t first_row, uint64_t rows);

    // Once all are there, as order_runs() does; before any is looked up.
    Status seal();

    // In the order in which they are stored.
    const std::vector<RowRun>& runs() const { return stored_; }

    uint64_t number_of(uint64_t stored_at) const {
        return stored_.size() > 1 ? find_number(stored_at) : stored_at;
    }
    uint64_t where_is(uint64_t number) const { return ordered_.size() > 1 ? find_stored(number) : number; }

  private:
    uint64_t find_number(uint64_t stored_at) const;
    uint64_t find_stored(uint64_t number) const;

    std::vector<RowRun> stored_;
    std::vector<RowRun> ordered_;  // by their numbers
};

}  // namespace gpujoin
