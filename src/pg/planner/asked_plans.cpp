// See asked_plans.h. What a scan wants depends on the nodes above it, which say so when they are started:
// the plan is started and ended.
#include "pg/planner/asked_plans.h"

#include <utility>

#include "pg/compat.h"
#include "pg/entry_points.h"
#include "pg/keep_requests.h"
#include "pg/planner/planned_joins.h"

extern "C" {
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"
}

namespace gpujoin {

namespace {

// A trigger's transition tables are known to what it runs alone.
bool is_of_others(const Plan* plan) {
    if (IsA(plan, ForeignScan) || IsA(plan, ModifyTable) || IsA(plan, NamedTuplestoreScan) ||
        prunes_partitions(plan))
        return true;
    if (!IsA(plan, CustomScan)) return false;
    const CustomScanMethods* methods = reinterpret_cast<const CustomScan*>(plan)->methods;
    return methods != &scan_methods && methods != &group_methods && methods != &complete_groups_methods;
}

bool reads_tables_alone(const Plan* plan) {
    if (!plan) return true;
    check_stack_depth();
    if (is_of_others(plan)) return false;
    ListCell* cell;
    foreach (cell, children_of(plan))
        if (!reads_tables_alone(static_cast<const Plan*>(lfirst(cell)))) return false;
    return true;
}

// Those that lock rows are not started, which EXPLAIN shows in read-only transactions, too.
bool may_be_started(const PlannedStmt* statement) {
    if (statement->rowMarks != NIL) return false;
    if (!ActiveSnapshotSet() || !may_read_tables_of(statement) || !reads_tables_alone(statement->planTree))
        return false;
    ListCell* cell;
    foreach (cell, statement->subplans)
        if (!reads_tables_alone(static_cast<const Plan*>(lfirst(cell)))) return false;
    return true;
}

void start_asking(PlannedStmt* statement, const char* text, ParamListInfo parameters, AskingScans* asking) {
    const int jit = std::exchange(statement->jitFlags, 0);
    QueryDesc* query = CreateQueryDesc(statement, text, GetActiveSnapshot(), InvalidSnapshot, None_Receiver,
                                       parameters, nullptr, 0);
    AskingScans* const before = begin_asking(asking);
    PG_TRY();
    { standard_ExecutorStart(query, 0); }
    PG_FINALLY();
    { asking_scans = before; }
    PG_END_TRY();
    statement->jitFlags = jit;
    standard_ExecutorFinish(query);
    standard_ExecutorEnd(query);
    FreeQueryDesc(query);
}

}  // namespace

// Other extensions' hooks for permissions expect to be called for what is run.
bool may_ask_for(const Query* query) {
    return query->commandType == CMD_SELECT && !query->hasModifyingCTE && !ExecutorCheckPerms_hook &&
           (query->hasAggs || query->groupClause || list_length(query->rtable) > 1);
}

bool ask_keeper_for(PlannedStmt* statement, const char* text, ParamListInfo parameters) {
    if (!may_be_started(statement)) return false;
    AskingScans asking = {};
    asking.asks_for_all = asking.may_ask = true;
    start_asking(statement, text, parameters, &asking);
    return !asking.is_refused;
}

TableSet lacking_tables(PlannedStmt* statement, const char* text, ParamListInfo parameters, bool may_ask) {
    if (!may_be_started(statement)) return {};
    AskingScans asking = {};
    asking.may_ask = may_ask;
    start_asking(statement, text, parameters, &asking);
    return asking.lacking;
}

}  // namespace gpujoin
