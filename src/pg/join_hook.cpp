// The witness: it notes that it was called, and passes on.
#include "pg/join_hook.h"

#include "pg/compat.h"
#include "pg/nodes.h"

extern "C" {
#include "executor/spi.h"
#include "optimizer/paths.h"
}

namespace gpujoin {

namespace {

// A join that every planner hands to the hook, over tables that anybody may read.
constexpr const char* kProbeQuery =
    "EXPLAIN SELECT 1 FROM pg_catalog.pg_class c "
    "JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) c.oid";

set_join_pathlist_hook_type witnessed_hook = nullptr;
bool witness_was_called = false;

void witness(PlannerInfo* root, RelOptInfo* joinrel, RelOptInfo* outer, RelOptInfo* inner, JoinType type,
             JoinPathExtraData* extra) {
    witness_was_called = true;
    witnessed_hook(root, joinrel, outer, inner, type, extra);
}

}  // namespace

void install_witnessed_join_hook() {
    install_join_hook();
    witnessed_hook = set_join_pathlist_hook;
    set_join_pathlist_hook = witness;
}

bool join_hook_is_active() {
    if (set_join_pathlist_hook == witness) return true;
    // Another extension is in front: plan a join and see whether it passes the call on. (Not "read only":
    // EXPLAIN would be refused.)
    witness_was_called = false;
    if (SPI_connect() != SPI_OK_CONNECT || SPI_execute(kProbeQuery, false, 1) != SPI_OK_UTILITY)
        elog(ERROR, "could not plan a join to test the join hook");
    SPI_finish();
    return witness_was_called;
}

}  // namespace gpujoin
