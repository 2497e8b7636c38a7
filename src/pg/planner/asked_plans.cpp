// See asked_plans.h. What a scan wants depends on the nodes above it, which say so when they are started:
// the plan is started and ended, or parts of it where nodes of others are in it.
#include "pg/planner/asked_plans.h"

#include <utility>

#include "pg/compat.h"
#include "pg/keep_requests.h"
#include "pg/planner/grouped_query.h"
#include "pg/planner/planned_joins.h"
#include "pg/planner/scanned_table.h"

extern "C" {
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"
}

namespace gpujoin {

namespace {

// A trigger's transition tables are known to what it runs alone. Of other extensions' nodes nobody knows what
// they do when they are started.
bool is_of_others(const Plan* plan) {
    return IsA(plan, NamedTuplestoreScan) || (IsA(plan, CustomScan) && !is_node_of_ours(plan));
}

bool may_be_started(const Plan* plan) {
    if (!plan) return true;
    check_stack_depth();
    if (is_of_others(plan)) return false;
    ListCell* cell;
    foreach (cell, children_of(plan))
        if (!may_be_started(static_cast<const Plan*>(lfirst(cell)))) return false;
    return true;
}

// They are started with each part of the plan.
bool may_start_subplans(const PlannedStmt* statement) {
    ListCell* cell;
    foreach (cell, statement->subplans)
        if (!may_be_started(static_cast<const Plan*>(lfirst(cell)))) return false;
    return true;
}

struct Asking {
    const PlannedStmt* statement;
    const char* text;
    ParamListInfo parameters;
    AskingScans scans;
};

// As for EXPLAIN: nothing but nodes of ours takes it for more, and what is written to stays as it is.
void start(Asking* asking, Plan* plan) {
    PlannedStmt part = *asking->statement;
    part.commandType = CMD_SELECT;
    part.hasReturning = false;
    part.resultRelations = NIL;
    part.jitFlags = 0;
    part.planTree = plan;
    QueryDesc* query = CreateQueryDesc(&part, asking->text, GetActiveSnapshot(), InvalidSnapshot,
                                       None_Receiver, asking->parameters, nullptr, 0);
    AskingScans* const before = begin_asking(&asking->scans);
    PG_TRY();
    { standard_ExecutorStart(query, EXEC_FLAG_EXPLAIN_ONLY); }
    PG_FINALLY();
    { asking_scans = before; }
    PG_END_TRY();
    standard_ExecutorEnd(query);
    FreeQueryDesc(query);
}

// Nodes of ours below those of others.
void start_parts(Asking* asking, Plan* plan) {
    if (!plan) return;
    check_stack_depth();
    if (is_node_of_ours(plan) && may_be_started(plan)) return start(asking, plan);
    ListCell* cell;
    foreach (cell, children_of(plan)) start_parts(asking, static_cast<Plan*>(lfirst(cell)));
}

// False where not all of it may be.
bool start(Asking* asking) {
    const PlannedStmt* statement = asking->statement;
    if (!ActiveSnapshotSet() || !may_read_tables_of(statement) || !may_start_subplans(statement))
        return false;
    Plan* top = statement->planTree;
    if (IsA(top, ModifyTable)) top = outerPlan(top);
    const bool is_whole = may_be_started(top);
    if (is_whole)
        start(asking, top);
    else
        start_parts(asking, top);
    return is_whole;
}

// What is started is not run, which other extensions' hooks for permissions would take it to be.
bool ask(Asking* asking) {
    const ExecutorCheckPerms_hook_type hook = std::exchange(ExecutorCheckPerms_hook, nullptr);
    bool is_whole = false;
    PG_TRY();
    { is_whole = start(asking); }
    PG_FINALLY();
    { ExecutorCheckPerms_hook = hook; }
    PG_END_TRY();
    return is_whole;
}

// A statement that may be planned again costs more to plan: not one that looks up a row of a table or a view.
bool may_read_much(const Query* query) {
    if (has_groups(query) || query->hasSubLinks || query->cteList != NIL || list_length(query->rtable) > 1)
        return true;
    if (query->rtable == NIL) return false;
    const auto* only = linitial_node(RangeTblEntry, query->rtable);
    return only->rtekind == RTE_SUBQUERY ? may_read_much(only->subquery) : may_scan_table(query);
}

bool has_subquery(const Query* query) {
    ListCell* cell;
    foreach (cell, query->rtable)
        if (lfirst_node(RangeTblEntry, cell)->rtekind == RTE_SUBQUERY) return true;
    return false;
}

}  // namespace

bool may_ask_for(const Query* query) {
    switch (query->commandType) {
        case CMD_SELECT:
            return may_read_much(query);
        case CMD_INSERT:  // rows that are written out may be many
            return query->hasSubLinks || has_subquery(query);
        default:
            return query->hasSubLinks || list_length(query->rtable) > 1;
    }
}

void ask_keeper_for(const PlannedStmt* statement, const char* text, ParamListInfo parameters) {
    Asking asking = {statement, text, parameters, {}};
    asking.scans.asks_for_all = asking.scans.may_ask = true;
    ask(&asking);
}

bool find_lacking_tables(const PlannedStmt* statement, const char* text, ParamListInfo parameters,
                         bool may_ask, TableSet* lacking) {
    Asking asking = {statement, text, parameters, {}};
    asking.scans.may_ask = may_ask;
    const bool are_all_known = ask(&asking);
    *lacking = asking.scans.lacking;
    return are_all_known;
}

}  // namespace gpujoin
