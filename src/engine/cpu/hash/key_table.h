// KeyTable: from an equality key to the build rows that have it, as a range of positions in a list of rows
// grouped by key. Three kinds: a direct array over the span of dense integer keys, lines of integer keys
// where no two build rows share one, and slots for all others; none has chains. Where no two build rows share
// a key no groups are made: a position is then an index of the direct array, or a row number.
//
// All are built from tuples (key, row) that were partitioned by the upper bits of the array index or the
// hash, so that each partition is built by one thread, in its cache and without locks. Partitioning is
// stable: the rows of a group are in the order in which they were given.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/cpu/memory/host_array.h"
#include "engine/cpu/columns/key_reader.h"

namespace gpujoin::cpu {

class KeyTable {
  public:
    virtual ~KeyTable() = default;

    // For probe rows [begin, begin + rows), rows <= kBlockRows: the positions [first[i], first[i] + count[i])
    // of the build rows with the same key. NULLs are the caller's business.
    virtual void find(const KeyReader& probe, uint64_t begin, uint32_t rows, uint32_t* first,
                      uint32_t* count) const = 0;

    // Row numbers by position; nullptr: the position itself. Positions that find() does not give may have
    // any.
    const uint32_t* row_of_position() const {
        return row_of_position_.empty() ? nullptr : row_of_position_.as<uint32_t>();
    }
    uint64_t positions() const { return positions_; }
    // No two build rows share a key.
    bool is_unique() const { return unique_; }

  protected:
    HostArray row_of_position_;
    uint64_t positions_ = 0;
    bool unique_ = true;
};

}  // namespace gpujoin::cpu
