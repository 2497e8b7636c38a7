// See asked_plans.h. What a scan wants depends on the nodes above it, which say so when they are started:
// the plan is started and ended, or parts of it where it does more than to read tables.
#include "pg/planner/asked_plans.h"

#include <utility>

#include "pg/compat.h"
#include "pg/entry_points.h"
#include "pg/keep_requests.h"
#include "pg/planner/planned_joins.h"

extern "C" {
#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"
}

namespace gpujoin {

namespace {

bool is_ours(const Plan* plan) {
    if (!IsA(plan, CustomScan)) return false;
    const CustomScanMethods* methods = reinterpret_cast<const CustomScan*>(plan)->methods;
    return methods == &scan_methods || methods == &group_methods || methods == &complete_groups_methods;
}

// A trigger's transition tables are known to what it runs alone.
bool is_of_others(const Plan* plan) {
    return IsA(plan, ForeignScan) || IsA(plan, ModifyTable) || IsA(plan, LockRows) ||
           IsA(plan, NamedTuplestoreScan) || prunes_partitions(plan) ||
           (IsA(plan, CustomScan) && !is_ours(plan));
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

// Its parts are started with all of its subplans.
bool may_be_started(const PlannedStmt* statement) {
    if (!ActiveSnapshotSet() || !may_read_tables_of(statement)) return false;
    ListCell* cell;
    foreach (cell, statement->subplans)
        if (!reads_tables_alone(static_cast<const Plan*>(lfirst(cell)))) return false;
    return true;
}

struct Asking {
    const PlannedStmt* statement;
    const char* text;
    ParamListInfo parameters;
    AskingScans scans;
};

// As a query that reads alone.
void start(Asking* asking, Plan* plan) {
    PlannedStmt part = *asking->statement;
    part.commandType = CMD_SELECT;
    part.hasReturning = false;
    part.resultRelations = part.rowMarks = NIL;
    part.jitFlags = 0;
    part.planTree = plan;
    prune_nothing(&part);
    QueryDesc* query = CreateQueryDesc(&part, asking->text, GetActiveSnapshot(), InvalidSnapshot,
                                       None_Receiver, asking->parameters, nullptr, 0);
    AskingScans* const before = begin_asking(&asking->scans);
    PG_TRY();
    { standard_ExecutorStart(query, 0); }
    PG_FINALLY();
    { asking_scans = before; }
    PG_END_TRY();
    standard_ExecutorFinish(query);
    standard_ExecutorEnd(query);
    FreeQueryDesc(query);
}

// Nodes of ours that read nothing but tables, below what does more.
void start_parts(Asking* asking, Plan* plan) {
    if (!plan) return;
    check_stack_depth();
    if (is_ours(plan) && reads_tables_alone(plan)) return start(asking, plan);
    ListCell* cell;
    foreach (cell, children_of(plan)) start_parts(asking, static_cast<Plan*>(lfirst(cell)));
}

// Statements that lock rows or write may be shown by EXPLAIN in read-only transactions.
void start(Asking* asking) {
    const PlannedStmt* statement = asking->statement;
    if (!may_be_started(statement)) return;
    if (reads_tables_alone(statement->planTree))
        start(asking, statement->planTree);
    else if (!XactReadOnly)
        start_parts(asking, statement->planTree);
}

// What is started is not run, which other extensions' hooks for permissions would take it to be.
AskingScans ask(const PlannedStmt* statement, const char* text, ParamListInfo parameters,
                const AskingScans& scans) {
    Asking asking = {statement, text, parameters, scans};
    const ExecutorCheckPerms_hook_type hook = std::exchange(ExecutorCheckPerms_hook, nullptr);
    PG_TRY();
    { start(&asking); }
    PG_FINALLY();
    { ExecutorCheckPerms_hook = hook; }
    PG_END_TRY();
    return asking.scans;
}

bool has_subquery(const Query* query) {
    ListCell* cell;
    foreach (cell, query->rtable)
        if (lfirst_node(RangeTblEntry, cell)->rtekind == RTE_SUBQUERY) return true;
    return false;
}

// A statement that is read again costs more to plan: not one that looks up a row of a table.
bool may_read_much(const Query* query) {
    return query->hasAggs || query->groupClause || query->hasSubLinks || query->cteList != NIL ||
           list_length(query->rtable) > 1 || has_subquery(query);
}

}  // namespace

bool may_ask_for(const Query* query) {
    switch (query->commandType) {
        case CMD_SELECT:
            return may_read_much(query);
        case CMD_INSERT:  // rows that are written out may be many
            return has_subquery(query);
        default:
            return list_length(query->rtable) > 1 || query->hasSubLinks;
    }
}

void ask_keeper_for(const PlannedStmt* statement, const char* text, ParamListInfo parameters) {
    AskingScans scans = {};
    scans.asks_for_all = scans.may_ask = true;
    ask(statement, text, parameters, scans);
}

TableSet lacking_tables(const PlannedStmt* statement, const char* text, ParamListInfo parameters,
                        bool may_ask) {
    AskingScans scans = {};
    scans.may_ask = may_ask;
    return ask(statement, text, parameters, scans).lacking;
}

}  // namespace gpujoin
