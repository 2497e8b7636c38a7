// See core_calls.h.
#include "pg/planner/core_calls.h"

#include "pg/compat.h"

extern "C" {
#include "optimizer/paths.h"
}

namespace gpujoin {
namespace {

bool is_made_for_core;

}  // namespace

bool are_core_paths_made() {
    return is_made_for_core;
}

void add_core_paths(const JoinPair& pair) {
    is_made_for_core = true;
    PG_TRY();
    {
        add_paths_to_joinrel(pair.root, pair.joinrel, pair.outer, pair.inner, pair.jointype, pair.sjinfo,
                             pair.restrictlist);
    }
    PG_FINALLY();
    { is_made_for_core = false; }
    PG_END_TRY();
}

}  // namespace gpujoin
