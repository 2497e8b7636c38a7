#include "pg/planner/plan.h"

#include <initializer_list>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/entry_points.h"
#include "pg/plan_data.h"
#include "pg/planner/cost.h"
#include "pg/planner/kept.h"
#include "pg/planner/groups_input.h"
#include "pg/planner/nulling.h"
#include "pg/planner/row_identity.h"
#include "pg/settings.h"

extern "C" {
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
}

namespace gpujoin {
namespace {

constexpr double kMostOfSource = 0.5;
constexpr double kDearOperators = 50;  // half of what functions in a procedural language are taken for

// Appends copies of a child's entries: copies, because setrefs changes expressions in place.
List* append_target_list(List* scan_tlist, const List* child_tlist) {
    ListCell* cell;
    foreach (cell, child_tlist) {
        TargetEntry* entry = static_cast<TargetEntry*>(copyObjectImpl(lfirst(cell)));
        entry->resno = list_length(scan_tlist) + 1;
        entry->ressortgroupref = 0;
        entry->resjunk = false;
        scan_tlist = lappend(scan_tlist, entry);
    }
    return scan_tlist;
}

// By StageExprs.
List* stage_expressions(const JoinClauses* clauses) {
    List* lists = list_make4(term_clauses(clauses->equalities), term_clauses(clauses->ranges),
                             term_clauses(clauses->filters), get_actual_clauses(clauses->conditions));
    lists = lappend(lists, filter_of(clauses).probe.expressions);
    lists = lappend(lists, filter_of(clauses).build.expressions);
    lists = lappend(lists, get_actual_clauses(clauses->residual));
    for (const List* terms : {clauses->equalities, clauses->ranges, clauses->filters})
        lists = lappend(lists, written_conditions(terms));
    Assert(list_length(lists) == kStageExprsCount);
    return lists;
}

// Whether a plan's own conditions take long, or those of one that setrefs may put in its place. Asked while
// there is a PlannerInfo: PostgreSQL 17.0 crashes when it is to cost some conditions without one.
bool tests_dear_conditions(PlannerInfo* root, const Plan* plan) {
    QualCost cost;
    cost_qual_eval(&cost, plan->qual, root);
    if (cost.per_tuple > kDearOperators * cpu_operator_cost) return true;
    if (IsA(plan, SubqueryScan)) {
        const auto* scan = reinterpret_cast<const SubqueryScan*>(plan);
        return tests_dear_conditions(find_base_rel(root, static_cast<int>(scan->scan.scanrelid))->subroot,
                                     scan->subplan);
    }
    if (!IsA(plan, Append)) return false;
    const List* children = reinterpret_cast<const Append*>(plan)->appendplans;
    return list_length(children) == 1 &&
           tests_dear_conditions(root, static_cast<const Plan*>(linitial(children)));
}

// entries_before: how many of the scan tuple's come before those of the build child.
void set_stage(const Chain* chain, int entries_before, StagePlan* stage) {
    const JoinClauses* clauses = chain->clauses;
    const JoinFilter& filter = filter_of(clauses);
    stage->kind = chain->kind;
    stage->builds_together = chain->builds_together;
    stage->first_entry = entries_before + 1;
    stage->equalities = list_length(clauses->equalities);
    stage->ranges = list_length(clauses->ranges);
    stage->filters = list_length(clauses->filters);
    stage->conditions = list_length(clauses->conditions);
    for (int i = 0; i < stage->conditions; i++)
        stage->residual_before[i] = list_nth_int(clauses->residual_before, i);
    stage->program = filter.program;
    stage->probe_values = filter.probe.values;
    stage->build_values = filter.build.values;
    PlanTerm* next = stage->terms;
    for (const List* terms : {clauses->equalities, clauses->ranges, clauses->filters}) {
        ListCell* cell;
        foreach (cell, terms) *next++ = static_cast<JoinTerm*>(lfirst(cell))->plan;
    }
}

// What the plan is made of: lists with one member for each input, or each stage.
struct PlanParts {
    List* entries;     // of the scan tuple
    List* exprs;       // by stage, then of the groups
    List* conditions;  // above the last join
};

void add_stages(const Chain* chain, const List* children, PlanData* data, PlanParts* parts) {
    if (chain->before)
        add_stages(chain->before, children, data, parts);
    else
        parts->entries = append_target_list(NIL, static_cast<Plan*>(linitial(children))->targetlist);
    if (!chain->build) return;
    set_stage(chain, list_length(parts->entries), &data->stages[chain->length - 1]);
    parts->entries =
        append_target_list(parts->entries, static_cast<Plan*>(list_nth(children, chain->length))->targetlist);
    parts->exprs = lappend(parts->exprs, stage_expressions(chain->clauses));
    parts->conditions = get_actual_clauses(chain->clauses->pushed_down);
}

// The entry of an expression that groups have; one of its own where no child has it.
int entry_of(Expr* expression, PlanParts* parts) {
    ListCell* cell;
    foreach (cell, parts->entries) {
        List* entry = list_make1(lfirst_node(TargetEntry, cell)->expr);
        if (equal(linitial(with_nulling_of(entry, list_make1(expression))), expression))
            return foreach_current_index(cell) + 1;
    }
    int number = list_length(parts->entries) + 1;
    auto* copy = static_cast<Expr*>(copyObjectImpl(expression));
    parts->entries =
        lappend(parts->entries, makeTargetEntry(copy, static_cast<AttrNumber>(number), nullptr, false));
    return number;
}

// Setrefs replaces whatever is an entry's expression by a Var of that entry: an expression that groups have a
// value of would become that very value, where it is to be computed. With its columns relabelled as what they
// are it is another expression.
Node* relabelling_mutator(Node* node, void*) {
    if (!node) return nullptr;
    if (!IsA(node, Var) && !IsA(node, PlaceHolderVar))
        return mutate_expression(node, relabelling_mutator, nullptr);
    return reinterpret_cast<Node*>(makeRelabelType(static_cast<Expr*>(copyObjectImpl(node)), exprType(node),
                                                   exprTypmod(node), exprCollation(node),
                                                   COERCE_IMPLICIT_CAST));
}

// computed: what groups have a value of beyond what the children give. Elsewhere columns stay as they are: a
// child may give no more of them than an expression.
Node* computing_mutator(Node* node, void* computed) {
    if (!node) return nullptr;
    if (list_member(static_cast<List*>(computed), node)) return relabelling_mutator(node, nullptr);
    return mutate_expression(node, computing_mutator, computed);
}

List* relabelled(List* exprs, List* computed) {
    return reinterpret_cast<List*>(computing_mutator(reinterpret_cast<Node*>(exprs), computed));
}

void relabel_what_is_computed(int child_entries, PlanParts* parts) {
    List* computed = NIL;
    for (int i = child_entries; i < list_length(parts->entries); i++)
        computed = lappend(computed, list_nth_node(TargetEntry, parts->entries, i)->expr);
    ListCell* cell;
    foreach (cell, parts->exprs) lfirst(cell) = relabelled(lfirst_node(List, cell), computed);
}

void add_groups(const GroupsInput* groups, PlanData* data, PlanParts* parts) {
    int child_entries = list_length(parts->entries);
    data->groups = unset<GroupsPlan>();
    *data->groups = groups->plan;
    ListCell* cell;
    foreach (cell, groups->target->exprs)
        data->groups->state[foreach_current_index(cell)].entry =
            entry_of(static_cast<Expr*>(lfirst(cell)), parts);
    List* exprs = NIL;
    for (List* list : groups->exprs) exprs = lappend(exprs, list);
    parts->exprs = lappend(parts->exprs, exprs);
    relabel_what_is_computed(child_entries, parts);
}

bool takes_kept_rows(PlannerInfo* root, const Chain* chain) {
    if (chain->length == 0) return true;
    return can_carry_kept_rows(root, chain->kind, chain->clauses, chain->sharing) &&
           kept_share_of_source(root, chain->probe) > 0;
}

PlanData plan_data_of(PlannerInfo* root, const GpuJoinPath* path, const List* children, PlanParts* parts) {
    const Chain* chain = path->chain;
    const Plan* probe = static_cast<Plan*>(linitial(children));
    PlanData data = {};
    data.estimated_probe_rows = static_cast<Path*>(linitial(path->path.custom_paths))->rows *
                                (chain->sharing == Sharing::OneBuild ? parallel_shares(chain->workers) : 1);
    const bool takes_kept = !path->groups && takes_kept_rows(root, chain);
    // All rows are wanted then: it is read from its pages, since only such a scan has kept rows.
    data.has_dear_conditions = !path->groups && !takes_kept && tests_dear_conditions(root, probe);
    data.source_is_kept =
        (path->groups || takes_kept) && kept_share_of_source(root, chain->probe) > kMostOfSource;
    data.estimated_source_rows = data.estimated_probe_rows;
    if (data.source_is_kept)
        data.estimated_source_rows = Max(data.estimated_source_rows, chain->probe->parent->tuples);
    data.may_carry = !path->groups && (setting_carry || takes_kept);
    data.is_bounded = !path->groups && is_bounded(root);
    data.costs = path->costs;
    data.stage_count = chain->length;
    data.stages = zeroed<StagePlan>(data.stage_count);
    add_stages(chain, children, &data, parts);
    if (path->groups) add_groups(path->groups, &data, parts);
    return data;
}

// What is asked of the node. In MERGE that may come later, as the query's target, in which columns of a view
// that rows are merged into tell of fewer outer joins than in the join's.
List* target_of(const PlannerInfo* root, const Path* path, const List* tlist) {
    List* exprs = path->pathtarget->exprs;
    const bool comes_later = tlist == NIL && root->parse->commandType == CMD_MERGE &&
                             bms_is_subset(root->all_baserels, path->parent->relids);
    return comes_later ? list_concat_copy(root->processed_tlist, exprs) : exprs;
}

}  // namespace

Plan* make_join_plan(PlannerInfo* root, RelOptInfo*, CustomPath* best_path, List* tlist, List*,
                     List* custom_plans) {
    const GpuJoinPath* path = reinterpret_cast<GpuJoinPath*>(best_path);
    PlanParts parts = {};
    PlanData data = plan_data_of(root, path, custom_plans, &parts);
    List* entries = parts.entries;
    use_leaf_row_identities(root, entries);
    entries = with_nulling_of_target(entries, target_of(root, &best_path->path, tlist));

    CustomScan* scan = makeNode(CustomScan);
    scan->scan.plan.targetlist = tlist;
    scan->scan.plan.qual = with_nulling_of(parts.conditions, entries);
    scan->flags = best_path->flags;
    scan->custom_plans = custom_plans;
    scan->custom_exprs = with_nulling_of(parts.exprs, entries);
    scan->custom_private = plan_data_to_list(&data);
    scan->custom_scan_tlist = entries;
    scan->methods = path->groups               ? &group_methods
                    : path->chain->length == 0 ? &kept_scan_methods
                                               : &scan_methods;
    return &scan->scan.plan;
}

}  // namespace gpujoin
