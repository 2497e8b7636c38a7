// Sums of timestamps and interval constants that cannot overflow: like those of integers (see offsets.h),
// they are computed for every row and must raise no error for a row that has no partner.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/primnodes.h"
}

namespace gpujoin {

// The expression with each date or timestamp plus or minus an interval constant, at any depth, being infinity
// where the true sum is certainly beyond all timestamps. Good for comparing by order only.
Expr* with_saturated_timestamps(Expr* expression);

}  // namespace gpujoin
