// Aggregates above a chain of joins, in the same node, or above any other input: the node gives groups with
// partial transition states, which core's Finalize Aggregate above it combines and finishes. So HAVING,
// rounding, scale and output are core's own, and a group may come several times: from each process of a
// parallel plan, and when a table is full.
//
// Taken are count, sum, avg, min and max of integers, floats and numerics of a known scale, and min and max
// of dates and times, with FILTER, over expressions that the filter machine computes (filters.h); GROUP BY
// whatever has an equality that can be encoded. SELECT DISTINCT without groups, aggregates and window
// functions groups by all that it gives. A row of which an argument cannot be computed (because PostgreSQL
// would raise an error, or for NaN, or too many digits) comes back, and PostgreSQL computes it. Everything
// else is left to core: DISTINCT and ORDER BY within aggregates, aggregates without partial states. Of
// grouping sets and of complete groups: grouping_sets.h, complete_groups.h.
//
// The hook comes when core has made its own paths for the grouping; ours compete with them.
#include <algorithm>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/entry_points.h"
#include "pg/kept_expression.h"
#include "pg/planner/chains.h"
#include "pg/planner/complete_groups.h"
#include "pg/planner/computed_keys.h"
#include "pg/planner/core_alone.h"
#include "pg/planner/forced_paths.h"
#include "pg/planner/group_choice.h"
#include "pg/planner/group_collector.h"
#include "pg/planner/grouping_sets.h"
#include "pg/planner/kept.h"
#include "pg/planner/refused_groups.h"
#include "pg/planner/rivals.h"
#include "pg/planner/sorted_groups.h"
#include "pg/planner/spilling.h"
#include "pg/server_state.h"
#include "pg/settings.h"

extern "C" {
#include "catalog/pg_aggregate.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
}

namespace gpujoin {
namespace {

create_upper_paths_hook_type previous_hook;

// Below so many rows of an input that is no chain there is nothing to gain.
constexpr double kFewestSourceRows = 10000;
constexpr double kBytesOfGroup = 150;  // about, in the engine's tables

// By how much the costs of reading a table's pages directly are too high, at least.
constexpr double kDirectRead = 1.5;

const SortGroupClause* clause_of(const List* clauses, Index reference) {
    ListCell* cell;
    foreach (cell, clauses)
        if (lfirst_node(SortGroupClause, cell)->tleSortGroupRef == reference)
            return lfirst_node(SortGroupClause, cell);
    return nullptr;
}

List* keys_of(const GroupCall& call) {
    List* keys = get_sortgrouplist_exprs(call.by.clause, call.by.entries);
    return call.distinct ? lappend(keys, call.distinct->value) : keys;
}

double estimate_groups_of(const GroupCall& call, double rows) {
    List* keys = keys_of(call);
    return keys == NIL ? 1 : estimate_num_groups(call.root, keys, rows, nullptr, nullptr);
}

// What groups have: the expressions that are grouped by, the columns that are used otherwise, and the
// aggregates.
PathTarget* final_target(const GroupCall& call) {
    PathTarget* grouping = call.by.target;
    PathTarget* target = create_empty_pathtarget();
    List* others = NIL;
    ListCell* cell;
    foreach (cell, grouping->exprs) {
        auto* expression = static_cast<Expr*>(lfirst(cell));
        Index reference = get_pathtarget_sortgroupref(grouping, foreach_current_index(cell));
        if (reference && clause_of(call.clause, reference))
            add_column_to_pathtarget(target, expression, reference);
        else
            others = lappend(others, expression);
    }
    if (call.distinct)
        add_column_to_pathtarget(target, call.distinct->value, call.distinct->clause->tleSortGroupRef);
    others = list_concat(others, call.by.having);
    List* found =
        pull_var_clause(reinterpret_cast<Node*>(others),
                        PVC_INCLUDE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS | PVC_INCLUDE_PLACEHOLDERS);
    ListCell* column;
    foreach (column, found)  // core's node knows which set a group is of
        if (IsA(lfirst(column), GroupingFunc)) found = foreach_delete_current(found, column);
    add_new_columns_to_pathtarget(target, found);
    return set_pathtarget_cost_width(call.root, target);
}

// As core makes it for itself: the aggregates give their transition states.
PathTarget* partial_target(const GroupCall& call) {
    PathTarget* target = copy_pathtarget(call.final);
    ListCell* cell;
    foreach (cell, target->exprs) {
        if (!IsA(lfirst(cell), Aggref)) continue;
        const auto* aggref = lfirst_node(Aggref, cell);
        auto* partial = makeNode(Aggref);
        *partial = is_distinct_count(static_cast<Node*>(lfirst(cell))) ? *count_of_values(aggref) : *aggref;
        mark_partial_aggref(partial, AGGSPLIT_INITIAL_SERIAL);
        lfirst(cell) = partial;
    }
    return set_pathtarget_cost_width(call.root, target);
}

// nullptr where an engine cannot make these groups.
GroupsInput* collect_groups(const GroupCall& call, const Chain* chain) {
    auto* groups = zeroed<GroupsInput>();
    groups->target = call.target;
    groups->plan.estimated_groups = call.groups;
    GroupCollector collector(call.root, chain, groups);
    int grouped_by = 0;
    ListCell* cell;
    // All keys first: columns of aggregates come behind theirs.
    foreach (cell, call.target->exprs) {
        Index reference = get_pathtarget_sortgroupref(call.target, foreach_current_index(cell));
        if (!reference) continue;
        const SortGroupClause* clause = clause_of(call.clause, reference);
        auto* key = static_cast<Node*>(lfirst(cell));
        if (!collector.add_key(clause, key)) return refuse_key(call.verdict, clause->eqop, key), nullptr;
        grouped_by++;
    }
    if (grouped_by != list_length(call.clause)) return nullptr;
    foreach (cell, call.target->exprs) {
        auto* expression = static_cast<Node*>(lfirst(cell));
        const auto* final = static_cast<Node*>(list_nth(call.final->exprs, foreach_current_index(cell)));
        bool done = is_distinct_count(final)  ? collector.add_presence(reinterpret_cast<Aggref*>(expression))
                    : IsA(expression, Aggref) ? collector.add_aggregate(reinterpret_cast<Aggref*>(expression))
                                              : collector.add_any(expression);
        if (!done) return refuse_entry(call.verdict, expression, reason_against(expression)), nullptr;
    }
    if (collector.finish()) return groups;
    refuse_values(call.verdict, call.target->exprs);
    return nullptr;
}

// Whether a value of the probe input may come from kept columns.
bool may_be_kept(Node* expression) {
    while (IsA(expression, RelabelType))
        expression = reinterpret_cast<Node*>(reinterpret_cast<RelabelType*>(expression)->arg);
    return IsA(expression, Var) || may_keep_expression(expression);
}

// Of the values that are read those that are the probe input's, and how much there is to do for a row.
GroupsShape shape_of(const GroupCall& call, const Chain* chain, const GroupsInput* groups) {
    GroupsShape shape = {};
    shape.may_be_kept = true;
    for (GroupExprs which : {kKeyExprs, kValueExprs, kAnyExprs}) {
        ListCell* cell;
        foreach (cell, groups->exprs[which]) {
            int child;
            auto* expression = static_cast<Node*>(lfirst(cell));
            find_child(call.root, chain, expression, &child);
            if (child != kProbeChild) continue;
            shape.may_be_kept = shape.may_be_kept && may_be_kept(expression);
            shape.source.values++;
            shape.source.bytes += get_typavgwidth(exprType(expression), exprTypmod(expression));
        }
    }
    shape.work = 1 + groups->plan.keys + groups->plan.aggregates;
    shape.columns = groups->plan.states;
    // Each partition gives groups of its own, of its rows.
    const double of_partitions = call.groups * chain->costs.partitions;
    const double most = std::max(chain->costs.rows * parallel_shares(chain->workers), call.groups);
    shape.groups = clamp_row_est(std::min(of_partitions, most) / parallel_shares(chain->workers));
    return shape;
}

Path* make_partial_path(const GroupCall& call, const Chain* chain, RelOptInfo* partial_rel) {
    const GroupsInput* groups = collect_groups(call, chain);
    if (!groups) return nullptr;
    GroupsShape shape = shape_of(call, chain, groups);
    JoinEstimate estimate = estimate_groups(chain, shape, call.engine);
    GpuJoinPath* result = make_chain_path(chain);
    Path* path = &result->path.path;
    path->parent = partial_rel;
    path->pathtarget = call.target;
    path->parallel_safe = chain->workers > 0;
    path->rows = shape.groups;
    path->startup_cost = estimate.startup_cost;
    path->total_cost = estimate.total_cost;
    result->groups = groups;
    result->costs = estimate.terms;
    return path;
}

// The relation that partial groups are of; core may have one already.
RelOptInfo* partial_relation(const GroupCall& call) {
    RelOptInfo* rel = fetch_upper_rel(call.root, call.by.partial, call.grouped->relids);
    if (rel->pathlist == NIL && rel->partial_pathlist == NIL) {
        rel->consider_parallel = call.grouped->consider_parallel;
        rel->reltarget = call.target;
    }
    return rel;
}

// Core's node that makes groups of partial ones, hashed or from sorted input. wins: or it is only asked what
// that costs.
void add_final_paths(const GroupCall& call, Path* partial, bool wins) {
    if (!wins && !call.verdict) return;
    AggClauseCosts costs = {};
    get_agg_clause_costs(call.root, AGGSPLIT_FINAL_DESERIAL, &costs);
    auto add_made = [&](Path* path) {
        if (call.verdict) note_cost(call.verdict, false, path->startup_cost, path->total_cost);
        if (wins) add_our_path(call.grouped, path);
    };
    if (call.sets) return add_made(make_sets_path(call.root, call.sets, partial, &costs));
    auto add = [&](Path* input, AggStrategy strategy) {
        auto* path = reinterpret_cast<Path*>(create_agg_path(call.root, call.grouped, input, call.by.target,
                                                             strategy, AGGSPLIT_FINAL_DESERIAL, call.clause,
                                                             call.by.having, &costs, call.groups));
        // From 16 on core knows of the order that GROUP BY needs, not DISTINCT.
        if (strategy == AGG_SORTED && call.by.partial == UPPERREL_PARTIAL_DISTINCT)
            path->pathkeys = input->pathkeys;
        add_made(path);
    };
    if (!call.by.has_keys) return add(partial, AGG_PLAIN);
    if (call.by.can_hash) add(partial, AGG_HASHED);
    if (call.by.can_sort) add(sort_groups(call.root, call.by.pathkeys, partial), AGG_SORTED);
}

// Of how many rows there are groups if no join and no condition leaves any out.
double most_rows(const Chain* chain) {
    const Path* probe = chain->probe;
    return std::max(probe->rows, IS_SIMPLE_REL(probe->parent) ? probe->parent->tuples : 0);
}

// Or there may well be, where estimates of joins are too low.
bool may_be_many_groups(const GroupCall& call, const Chain* chain) {
    return are_many_groups(call.groups) || are_many_groups(estimate_groups_of(call, most_rows(chain)));
}

// Many groups that one process gives, and core's node could hash.
bool comes_complete(const GroupCall& call, const Chain* chain) {
    return !call.sets && call.by.has_keys && call.by.can_hash && enable_hashagg &&
           chain->costs.partitions == 1 && may_be_many_groups(call, chain);
}

// A copy, for a node that asks for complete groups.
Path* completing(const GpuJoinPath* partial) {
    auto* groups = unset<GroupsInput>();
    *groups = *partial->groups;
    groups->plan.completes = true;
    auto* path = unset<GpuJoinPath>();
    *path = *partial;
    path->groups = groups;
    return &path->path.path;
}

void add_complete_path(const GroupCall& call, const GpuJoinPath* partial) {
    AggClauseCosts costs = {};
    get_agg_clause_costs(call.root, AGGSPLIT_FINAL_DESERIAL, &costs);
    const FinalGroups groups = {call.grouped,   call.by.target, call.final, call.clause,
                                call.by.having, &costs,         call.groups};
    Path* path = make_complete_groups_path(call.root, completing(partial), groups);
    if (call.verdict) note_cost(call.verdict, false, path->startup_cost, path->total_cost);
    add_our_path(call.grouped, path);
}

// Distinct values are counted in groups that are complete, or core does it all.
void add_distinct_path(const GroupCall& call, const GpuJoinPath* partial) {
    AggPath* core = cheapest_own_path(call.grouped);
    if (!core) return;
    AggClauseCosts costs = {};
    get_agg_clause_costs(call.root, AGGSPLIT_FINAL_DESERIAL, &costs);
    const AggStrategy strategy = !call.by.has_keys       ? AGG_PLAIN
                                 : call.by.clause == NIL ? AGG_SORTED
                                                         : AGG_HASHED;
    AggPath* combining =
        create_agg_path(call.root, call.grouped, completing(partial), call.by.target, strategy,
                        AGGSPLIT_FINAL_DESERIAL, call.by.clause, call.by.having, &costs, core->numGroups);
    Path* path = make_distinct_path(combining, core);
    if (call.verdict) note_cost(call.verdict, false, path->startup_cost, path->total_cost);
    if (setting_force) call.grouped->pathlist = NIL;
    add_our_path(call.grouped, path);
}

// Of which few may be left, but that need not be read.
bool has_many_kept_rows(PlannerInfo* root, RelOptInfo* input) {
    return IS_SIMPLE_REL(input) && input->tuples >= kFewestSourceRows && kept_share_of_rel(root, input) > 0;
}

// An input that no chain gives is the source itself. Rows that come out of a join of ours do not go back.
const Chain* source_of(const GroupCall& call, RelOptInfo* input, Path* probe) {
    if (gives_rows_of_gpu_join(probe)) return note_refusal(call.verdict, {Reason::RowsComeBack}), nullptr;
    if (PATH_REQ_OUTER(probe)) return note_refusal(call.verdict, {Reason::Lateral}), nullptr;
    if (!setting_force && probe->rows < kFewestSourceRows && !has_many_kept_rows(call.root, input))
        return refuse_few_rows(call.verdict, probe->rows), nullptr;
    auto* source = zeroed<Chain>();
    source->probe = probe;
    source->joinrel = input;
    source->workers = probe->parallel_workers;
    source->sharing = probe->parallel_workers > 0 ? Sharing::OneBuild : Sharing::Nothing;
    source->costs = estimate_source(call.root, probe, source->workers, call.engine);
    source->costs.terms.cost[kSetUpTerm] += call.engine.setup;
    if (IS_SIMPLE_REL(input) && !gives_columns_alone(probe)) source->costs.kept = 0;
    return source;
}

// All rows of a table are quicker to read off its pages than their costs say: an index that has what is
// wanted may cost less, and core keeps no other path then.
Path* quickest_to_read(const GroupCall& call, RelOptInfo* input) {
    Path* cheapest = cheapest_source_scan(call.root, input);
    bool is_by_index = cheapest->pathtype == T_IndexOnlyScan || cheapest->pathtype == T_IndexScan ||
                       cheapest->pathtype == T_BitmapHeapScan;
    if (!is_by_index || PATH_REQ_OUTER(cheapest)) return cheapest;
    Path* scan = create_seqscan_path(call.root, input, nullptr, 0);
    scan->pathtarget = cheapest->pathtarget;
    bool is_direct = !has_disabled_nodes(scan) && reading_cost(scan) < scan->total_cost;
    return is_direct && reading_cost(scan) < kDirectRead * cheapest->total_cost ? scan : cheapest;
}

const Chain* chain_for(const GroupCall& call, RelOptInfo* input, bool is_partial) {
    const Chain* chain = cheapest_chain(input, is_partial);
    if (chain && (setting_force ? !is_far_dearer(least_cost(chain->probe, chain->costs), input->pathlist)
                                : !is_left_to_others(call.root, input, chain)))
        return chain;
    if (!is_partial) return source_of(call, input, quickest_to_read(call, input));
    if (input->partial_pathlist == NIL) return nullptr;
    return source_of(call, input, static_cast<Path*>(linitial(input->partial_pathlist)));
}

// An input without joins, over the columns of its table; nullptr where that makes no difference.
const Chain* over_columns(const GroupCall& call, const Chain* chain) {
    if (chain->length > 0) return nullptr;
    ComputedKeys computed;
    Path* probe = scan_of_columns(call.root, chain->probe, keys_of(call), &computed);
    if (!probe) return nullptr;
    auto* other = unset<Chain>();
    *other = *chain;
    other->probe = probe;
    other->costs = estimate_source(call.root, probe, chain->workers, call.engine);
    other->costs.terms.cost[kSetUpTerm] += call.engine.setup;
    other->costs.terms.cost[kReadProbeTerm] += computed.cost * probe->rows;
    if (!computed.may_be_kept) other->costs.kept = 0;
    return other;
}

// Of the chain, or of the one over columns where that costs less, which becomes the chain then.
Path* make_groups_path(const GroupCall& call, RelOptInfo* partial_rel, const Chain** chain) {
    Path* path = make_partial_path(call, *chain, partial_rel);
    const Chain* other = over_columns(call, *chain);
    if (!other) return path;
    GroupCall silent = call;
    silent.verdict = nullptr;
    Path* over = make_partial_path(silent, other, partial_rel);
    if (!over || (path && !setting_force && path->total_cost <= over->total_cost)) return path;
    *chain = other;
    return over;
}

void add_serial(const GroupCall& call, RelOptInfo* input, RelOptInfo* partial_rel, bool* has_made_way) {
    const Chain* chain = chain_for(call, input, false);
    Path* path = chain ? make_groups_path(call, partial_rel, &chain) : nullptr;
    if (!path) return;
    if (call.distinct && chain->costs.partitions > 1)
        return note_refusal(call.verdict, refusal_for_memory(chain->costs.server_bytes));
    if (call.distinct && is_worthwhile(call, chain, path, kCostOfGroup))
        return add_distinct_path(call, reinterpret_cast<GpuJoinPath*>(path));
    if (call.distinct) return note_refusal(call.verdict, {Reason::NotClearlyCheaper});
    const bool wins = is_worthwhile(call, chain, path, kCostOfGroup);
    const bool completes =
        comes_complete(call, chain) && is_worthwhile(call, chain, path, call.may_repeat ? kCostOfGroup : 0);
    if (wins || completes) make_way(call, input, chain, path, has_made_way);
    // Where few groups are expected the two cost the same, and core's takes long if there are many.
    if (completes)
        add_complete_path(call, reinterpret_cast<GpuJoinPath*>(path));
    else
        add_final_paths(call, path, wins);
    if (!wins && !completes) note_refusal(call.verdict, {Reason::NotClearlyCheaper});
}

void add_parallel(const GroupCall& call, RelOptInfo* input, RelOptInfo* partial_rel, bool* has_made_way) {
    const Chain* chain = chain_for(call, input, true);
    Path* path = chain ? make_groups_path(call, partial_rel, &chain) : nullptr;
    if (!path) return;
    double rows = path->rows * parallel_shares(chain->workers);
    auto* gather = reinterpret_cast<Path*>(
        create_gather_path(call.root, partial_rel, path, path->pathtarget, nullptr, &rows));
    const bool wins = is_worthwhile_in_parallel(call, chain, gather);
    if (wins) make_way(call, input, chain, gather, has_made_way);
    add_final_paths(call, gather, wins);
    Path* merge = wins ? merge_sorted_groups(call.root, call.by.pathkeys, path, rows) : nullptr;
    if (merge) add_final_paths(call, merge, wins);
}

void add_grouped_paths(const GroupCall& call, RelOptInfo* input) {
    RelOptInfo* partial_rel = partial_relation(call);
    bool has_made_way = false;
    add_serial(call, input, partial_rel, &has_made_way);
    if (call.grouped->consider_parallel && !call.distinct)
        add_parallel(call, input, partial_rel, &has_made_way);
}

// Core's node above must be able to hash. The other aggregates are looked at one by one, as ever.
bool counts_distinct(const PlannerInfo* root, const RelOptInfo* input, const GroupPathExtraData* extra) {
    return find_distinct_count(root, extra->targetList, extra->havingQual) && enable_hashagg &&
           grouping_is_hashable(group_clause(root)) && can_be_planned_twice(root, input);
}

// Asked before anything is computed, as most groupings are small.
Reason reason_against_input(PlannerInfo* root, RelOptInfo* input) {
    const bool is_large = setting_force || input->cheapest_total_path->rows >= kFewestSourceRows ||
                          cheapest_chain(input, false) || cheapest_chain(input, true) ||
                          has_many_kept_rows(root, input);
    return is_large ? Reason::None : Reason::FewRows;
}

// What keeps us out of a grouping, whatever it computes.
Reason reason_against(PlannerInfo* root, RelOptInfo* input, const RelOptInfo* output,
                      const GroupPathExtraData* extra) {
    const Query* query = root->parse;
    if (!setting_aggregate) return Reason::AggregatesOff;
    const bool has_sets = query->groupingSets != NIL;
    if (has_sets && (!can_combine_sets() || query->groupClause == NIL || !cheapest_sets_path(output) ||
                     !can_pass_on_sets(output->reltarget, query->groupClause)))
        return Reason::GroupingSets;
    if (query->hasTargetSRFs) return Reason::SetReturning;
    // Core does not say so of grouping sets.
    const bool may_be_partial = has_sets || (extra->flags & GROUPING_CAN_PARTIAL_AGG);
    const bool is_partial = may_be_partial && !root->hasNonPartialAggs && !root->hasNonSerialAggs;
    if (!is_partial && (has_sets || !counts_distinct(root, input, extra))) return Reason::NoPartialStates;
    if (extra->patype != PARTITIONWISE_AGGREGATE_NONE) return Reason::Partitionwise;
    return reason_against_input(root, input);
}

// The same of SELECT DISTINCT.
Reason reason_against(PlannerInfo* root, RelOptInfo* input) {
    if (!setting_aggregate) return Reason::AggregatesOff;
    if (root->parse->hasTargetSRFs) return Reason::SetReturning;
    return reason_against_input(root, input);
}

Grouping grouping_of(const PlannerInfo* root, const RelOptInfo* output, const GroupPathExtraData* extra) {
    return {group_clause(root),
            list_length(group_clause(root)),
            root->parse->groupClause != NIL,
            extra->targetList,
            castNode(List, extra->havingQual),
            output->reltarget,
            root->group_pathkeys,
            (extra->flags & GROUPING_CAN_USE_HASH) != 0,
            (extra->flags & GROUPING_CAN_USE_SORT) != 0,
            UPPERREL_PARTIAL_GROUP_AGG};
}

// By all columns, also by those that core leaves out from 16 on, as the same as others: what these are
// computed of is nothing that the input gives.
Grouping grouping_of_distinct(const PlannerInfo* root, const RelOptInfo* input) {
    List* clause = root->parse->distinctClause;
    return {clause,
            list_length(distinct_clause(root)),
            true,
            root->processed_tlist,
            NIL,
            input->reltarget,
            root->distinct_pathkeys,
            grouping_is_hashable(clause),
            grouping_is_sortable(clause),
            UPPERREL_PARTIAL_DISTINCT};
}

void refuse_whole(const Grouping& by, Verdict* verdict) {
    if (verdict) refuse_aggregates(verdict, by.entries, reinterpret_cast<Node*>(by.having));
}

void propose_groups(PlannerInfo* root, RelOptInfo* input, RelOptInfo* output, const Grouping& by,
                    Verdict* verdict) {
    PlanningFacts server;
    read_planning_facts(&server);
    GroupCall call = {};
    call.root = root;
    call.grouped = output;
    call.by = by;
    call.verdict = verdict;
    call.clause = by.clause;
    call.distinct = find_distinct_count(root, by.entries, reinterpret_cast<Node*>(by.having));
    if (call.distinct)
        call.clause = lappend(list_copy(call.clause), const_cast<SortGroupClause*>(call.distinct->clause));
    if (root->parse->groupingSets != NIL) call.sets = cheapest_sets_path(output);
    call.final = final_target(call);
    call.target = partial_target(call);
    call.groups = estimate_groups_of(call, input->rows);
    call.may_repeat = call.groups * kBytesOfGroup > static_cast<double>(server.engine_memory) / 2;
    call.engine = engine_costs(server);
    if (call.distinct && call.may_repeat && !setting_force) return refuse_whole(by, verdict);
    add_grouped_paths(call, input);
}

void propose_or_refuse(PlannerInfo* root, RelOptInfo* input, RelOptInfo* output, const Grouping& by,
                       Reason against) {
    if (!setting_force) charge_for_comparing(by.pathkeys, input, output);
    Verdict* verdict = is_recording(root) ? zeroed<Verdict>() : nullptr;
    if (against == Reason::None) propose_groups(root, input, output, by, verdict);
    if (!verdict) return;
    if (against == Reason::FewRows) refuse_few_rows(verdict, input->cheapest_total_path->rows);
    if (against == Reason::NoPartialStates) refuse_whole(by, verdict);
    note_refusal(verdict, {against});
    record_groups(root, input, by.named_keys, list_length(by.pathkeys), *verdict);
}

void add_gpu_aggregates(PlannerInfo* root, RelOptInfo* input, RelOptInfo* output,
                        const GroupPathExtraData* extra) {
    if (IS_OTHER_REL(input) || (!root->parse->hasAggs && root->parse->groupClause == NIL)) return;
    propose_or_refuse(root, input, output, grouping_of(root, output, extra),
                      reason_against(root, input, output, extra));
}

// Core makes do with a row where all columns are the same in all of them.
void add_gpu_distinct(PlannerInfo* root, RelOptInfo* input, RelOptInfo* output) {
    const Query* query = root->parse;
    const bool is_plain = !query->hasDistinctOn && !query->hasAggs && !query->hasWindowFuncs &&
                          query->groupClause == NIL && query->groupingSets == NIL && !root->hasHavingQual;
    if (!is_plain || distinct_clause(root) == NIL) return;
    propose_or_refuse(root, input, output, grouping_of_distinct(root, input), reason_against(root, input));
}

void add_gpu_groups(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output,
                    void* extra) {
    if (previous_hook) previous_hook(root, stage, input, output, extra);
    if (!setting_enabled || !server_is_ready() || left_out() != LeftOut::Nothing) return;
    if (stage == UPPERREL_GROUP_AGG)
        add_gpu_aggregates(root, input, output, static_cast<const GroupPathExtraData*>(extra));
    else if (stage == UPPERREL_DISTINCT)
        add_gpu_distinct(root, input, output);
}

}  // namespace

void install_groups_hook() {
    previous_hook = create_upper_paths_hook;
    create_upper_paths_hook = add_gpu_groups;
}

}  // namespace gpujoin
