// The rows of a single table that meet conditions, without a join or groups above: from kept columns, where
// most of what is wanted and tested is kept. The engine tests the conditions; rows of blocks that are not
// kept come from the scan below (executor/state.h, is_scan()).
//
// The hook comes when core has made its own paths for the table; ours competes with them. Cursors of DECLARE
// and of PL/pgSQL keep the scan of the table: UPDATE ... WHERE CURRENT OF finds rows by it.
#include <limits>
#include <utility>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/entry_points.h"
#include "pg/planner/core_alone.h"
#include "pg/planner/cost.h"
#include "pg/planner/grouped_query.h"
#include "pg/planner/kept.h"
#include "pg/planner/path_facts.h"
#include "pg/planner/scanned_table.h"
#include "pg/server_state.h"
#include "pg/settings.h"

extern "C" {
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
}

namespace gpujoin {
namespace {

set_rel_pathlist_hook_type previous_hook;
planner_hook_type next_planner;
bool is_of_cursor;  // what is planned

// Less than that of a table is not worth a session.
constexpr double kLeastKept = 0.5;
// Rows that come out cost more than core's: they are to be few of those that there are.
constexpr double kMostRows = 0.25;
// Ours has to cost so much less than core's, which may be quicker than its costs tell.
constexpr double kClearlyCheaper = 0.5;
constexpr Cost kLeastWork = 100;

// Rows as they are wanted, which nothing locks or writes to.
bool is_plain(const PlannerInfo* root) {
    const Query* query = root->parse;
    return query->commandType == CMD_SELECT && !has_groups(query) && query->groupingSets == NIL &&
           query->rowMarks == NIL && root->rowMarks == NIL;
}

bool has_result_of_subplan(Node* node, void* context) {
    if (!node) return false;
    if (IsA(node, Param) && reinterpret_cast<Param*>(node)->paramkind == PARAM_EXEC) return true;
    return walk_expression(node, has_result_of_subplan, context);
}

// Core tests a condition on no table in a node of its own above the scan, which then is none that can be read
// from kept columns; and results of subqueries are asked for when the conditions before have left a row.
bool has_conditions_for_others(const PlannerInfo* root, const RelOptInfo* rel) {
    if (root->hasPseudoConstantQuals) return true;
    ListCell* cell;
    foreach (cell, rel->baserestrictinfo)
        if (has_result_of_subplan(reinterpret_cast<Node*>(lfirst_node(RestrictInfo, cell)->clause), nullptr))
            return true;
    return false;
}

bool may_be_taken(const PlannerInfo* root, RelOptInfo* rel, const RangeTblEntry* entry) {
    return !is_of_cursor && !IS_DUMMY_REL(rel) && entry->rtekind == RTE_RELATION && !entry->inh &&
           rel->reloptkind == RELOPT_BASEREL && bms_equal(rel->relids, root->all_baserels) &&
           rel->lateral_relids == nullptr && is_plain(root) && rel->reltarget->exprs != NIL &&
           list_length(rel->reltarget->exprs) <= int{kMaxColumns};
}

// What would be clearly cheaper than core's paths, which there are.
Cost most_cost(const RelOptInfo* rel) {
    return kClearlyCheaper * least_total_cost(rel->pathlist, std::numeric_limits<Cost>::max());
}

// Asked first of all: most tables are small, and most rows are found by an index.
bool may_pay(const RelOptInfo* rel) {
    return rel->pages >= kFewestScannedPages && rel->rows <= kMostRows * rel->tuples &&
           most_cost(rel) > setting_startup_cost + kLeastWork;
}

Path* make_path(PlannerInfo* root, RelOptInfo* rel, double kept) {
    PlanningFacts server;
    read_planning_facts(&server);
    const EngineCosts engine = engine_costs(server);
    auto* chain = zeroed<Chain>();
    chain->probe = create_seqscan_path(root, rel, nullptr, 0);
    chain->joinrel = rel;
    chain->sharing = Sharing::Nothing;
    chain->costs = estimate_source(root, chain->probe, 0, engine);
    chain->costs.kept = kept;
    chain->costs.terms.cost[kSetUpTerm] += engine.setup;
    const JoinEstimate estimate = estimate_rows(chain, rel->reltarget, engine);
    GpuJoinPath* result = make_chain_path(chain);
    Path* path = &result->path.path;
    path->parent = rel;
    path->pathtarget = rel->reltarget;
    path->rows = rel->rows;
    path->startup_cost = estimate.startup_cost;
    path->total_cost = estimate.total_cost;
    result->costs = estimate.terms;
    return path;
}

void add_kept_scan(PlannerInfo* root, RelOptInfo* rel, Index number, RangeTblEntry* entry) {
    if (previous_hook) previous_hook(root, rel, number, entry);
    if (!setting_enabled || !server_is_ready() || left_out() != LeftOut::Nothing) return;
    if (!may_be_taken(root, rel, entry)) return;
    if (!setting_force && !may_pay(rel)) return;
    if (has_conditions_for_others(root, rel)) return;
    const double kept = kept_share_of_rel(root, rel);
    if (kept < kLeastKept) return;
    Path* path = make_path(root, rel, kept);
    if (setting_force)
        rel->pathlist = rel->partial_pathlist = NIL;
    else if (path->total_cost > most_cost(rel))
        return;
    add_our_path(rel, path);
}

PlannedStmt* plan(Query* query, const char* text, int options, ParamListInfo parameters) {
    const bool before = std::exchange(is_of_cursor, (options & CURSOR_OPT_FAST_PLAN) != 0);
    PlannedStmt* statement = nullptr;
    PG_TRY();
    {
        statement = next_planner ? next_planner(query, text, options, parameters)
                                 : standard_planner(query, text, options, parameters);
    }
    PG_FINALLY();
    { is_of_cursor = before; }
    PG_END_TRY();
    return statement;
}

}  // namespace

void install_kept_scan_hook() {
    next_planner = planner_hook;
    planner_hook = plan;
    previous_hook = set_rel_pathlist_hook;
    set_rel_pathlist_hook = add_kept_scan;
}

}  // namespace gpujoin
