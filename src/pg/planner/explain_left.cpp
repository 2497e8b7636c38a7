// EXPLAIN (VERBOSE) says so where joins are left to core though gpujoin.force is on, and names gpujoin_why(),
// which tells the reasons. In text: plans in other formats are for programs, and have no place for it. How
// many joins there are only the plan tells, which core makes and shows in one go: the planner's hook is ours
// meanwhile.
#include "pg/compat.h"
#include "pg/entry_points.h"
#include "pg/planner/explain_why.h"
#include "pg/planner/planned_joins.h"
#include "pg/planner/prospects.h"
#include "pg/settings.h"

extern "C" {
#include "optimizer/planner.h"
}

namespace gpujoin {
namespace {

ExplainOneQuery_hook_type previous_hook;

planner_hook_type next_planner;
int depth;
int joins_left;  // in the plan of the statement that is explained; -1: there is none yet

int count_left(const PlannedStmt* statement) {
    int count = 0;
    ListCell* cell;
    foreach (cell, joins_of(statement).joins) {
        const auto* join = static_cast<const PlannedJoin*>(lfirst(cell));
        if (!join->is_taken && !join->is_aggregate) count++;
    }
    return count;
}

// Queries that are planned within, because a function is evaluated, are others, and so are those that run.
PlannedStmt* count_joins(Query* query, const char* text, int options, ParamListInfo parameters) {
    depth++;
    PlannedStmt* statement = next_planner ? next_planner(query, text, options, parameters)
                                          : standard_planner(query, text, options, parameters);
    depth--;
    if (depth == 0 && joins_left < 0) joins_left = count_left(statement);
    return statement;
}

void explain_as_ever(Query* query, int options, IntoClause* into, ExplainState* es, const char* text,
                     ParamListInfo parameters, QueryEnvironment* environment) {
    const bool before = set_only_explained(!es->analyze);
    Recorder mine = {query, CurrentMemoryContext, NIL, NIL, NIL};
    Recorder* const outer_recorder = recorder;
    const Explained outer = set_explained({es, has_explain_option(es) ? &mine : nullptr});
    PG_TRY();
    {
        if (previous_hook)
            previous_hook(query, options, into, es, text, parameters, environment);
        else
            explain_query(query, options, into, es, text, parameters, environment);
    }
    PG_FINALLY();
    {
        set_only_explained(before);
        set_explained(outer);
        recorder = outer_recorder;
    }
    PG_END_TRY();
}

void explain_and_count(Query* query, int options, IntoClause* into, ExplainState* es, const char* text,
                       ParamListInfo parameters, QueryEnvironment* environment) {
    next_planner = planner_hook;
    planner_hook = count_joins;
    depth = 0;
    joins_left = -1;
    PG_TRY();
    { explain_as_ever(query, options, into, es, text, parameters, environment); }
    PG_FINALLY();
    {
        if (planner_hook == count_joins) planner_hook = next_planner;
    }
    PG_END_TRY();
}

void explain(Query* query, int options, IntoClause* into, ExplainState* es, const char* text,
             ParamListInfo parameters, QueryEnvironment* environment) {
    const bool counts =
        setting_force && es->verbose && es->format == EXPLAIN_FORMAT_TEXT && planner_hook != count_joins;
    if (!counts) return explain_as_ever(query, options, into, es, text, parameters, environment);
    explain_and_count(query, options, into, es, text, parameters, environment);
    if (joins_left > 0)
        ExplainPropertyText("Joins Left to Core",
                            psprintf("%d (SELECT * FROM gpujoin_why('...') tells why)", joins_left), es);
}

}  // namespace

void install_explain_hook() {
    previous_hook = ExplainOneQuery_hook;
    ExplainOneQuery_hook = explain;
    install_explain_why();
}

}  // namespace gpujoin
