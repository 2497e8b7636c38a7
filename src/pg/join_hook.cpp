// See join_hook.h.
#include "pg/join_hook.h"

#include "pg/compat.h"
#include "pg/entry_points.h"

extern "C" {
#include "executor/spi.h"
#include "optimizer/paths.h"
}

namespace gpujoin {

namespace {

// A join that every planner hands to the hook, over tables that anybody may read.
constexpr const char* kTestQuery =
    "EXPLAIN SELECT 1 FROM pg_catalog.pg_class c "
    "JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) c.oid";

set_join_pathlist_hook_type planner_hook = nullptr;
bool hook_was_called = false;

// Notes that it was called, and passes on.
void note_call(PlannerInfo* root, RelOptInfo* joinrel, RelOptInfo* outer, RelOptInfo* inner, JoinType type,
               JoinPathExtraData* extra) {
    hook_was_called = true;
    planner_hook(root, joinrel, outer, inner, type, extra);
}

}  // namespace

void install_noted_join_hook() {
    install_join_hook();
    planner_hook = set_join_pathlist_hook;
    set_join_pathlist_hook = note_call;
}

bool join_hook_is_active() {
    if (set_join_pathlist_hook == note_call) return true;
    // Another extension is in front: plan a join and see whether it passes the call on. (Not "read only":
    // EXPLAIN would be refused.)
    hook_was_called = false;
    if (SPI_connect() != SPI_OK_CONNECT || SPI_execute(kTestQuery, false, 1) != SPI_OK_UTILITY)
        elog(ERROR, "could not plan a join to test the join hook");
    SPI_finish();
    return hook_was_called;
}

}  // namespace gpujoin
