// Sums of timestamps and interval constants that cannot overflow: like those of integers (see offsets.h),
// they are computed for every row and must raise no error for a row that has no partner.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/primnodes.h"
}

namespace gpujoin {

// For a date or timestamp plus or minus an interval constant: the same, but infinity where the true sum is
// certainly beyond all timestamps. Any other expression as it is. Good for comparing by order only.
Expr* saturated_timestamp(Expr* expression);

}  // namespace gpujoin
