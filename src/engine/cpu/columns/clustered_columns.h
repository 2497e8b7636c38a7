// ClusteredColumns: copies of build columns in the order of a matcher's positions. The matches of a probe row
// are neighbours there, and no row number has to be looked up before a value is read, so that a probe row
// costs one random access less for every column.
//
// Only columns of fixed types are copied, and only where the copies are small; where one column cannot be, or
// memory is short, there are none and everything is read by row number.
#pragma once

#include <vector>

#include "engine/cpu/matcher.h"

namespace gpujoin::cpu {

class ClusteredColumns {
  public:
    // Copies the columns that results and undecided terms need, if that is worth it.
    Status build(JoinContext& join, const Matcher& matcher);

    bool is_empty() const { return columns_.empty(); }

    // A column that was copied, to be read by position.
    ColumnSource source(uint32_t column) const { return columns_[column].source; }

  private:
    struct Column {
        HostArray values;
        HostArray null_flags;
        ColumnSource source;
    };
    Status copy(JoinContext& join, const Matcher& matcher, uint32_t number);

    std::vector<Column> columns_;  // one a build column; unused ones stay empty
};

}  // namespace gpujoin::cpu
