// Whether a query groups its rows: by aggregates, GROUP BY or DISTINCT.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/parsenodes.h"
}

namespace gpujoin {

inline bool has_groups(const Query* query) {
    return query->hasAggs || query->groupClause != NIL || query->distinctClause != NIL;
}

}  // namespace gpujoin
