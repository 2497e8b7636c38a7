// The hook that adds GpuJoin paths. PostgreSQL calls it for each pair of relations, in both orders; what it
// adds competes by cost with core's own paths. Whatever is not understood is declined in silence, and core
// plans as if nothing were there.
//
// Left out: inputs that depend on rows of other relations (lateral references, parameterised paths), for
// which a build side would have to be made again for each of them.
#include "pg/planner/paths.h"

#include <algorithm>

#include "pg/compat.h"
#include "pg/nodes.h"
#include "pg/planner/cost.h"
#include "pg/planner/lookups.h"
#include "pg/planner/plan.h"
#include "pg/server_state.h"
#include "pg/settings.h"

extern "C" {
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
}

namespace gpujoin {
namespace {

// Which input must be reduced to distinct rows first, so that a semijoin becomes an inner join.
enum class Unique { Neither, Outer, Inner };

// A way to run a join of the type that the hook is called for.
struct Proposal {
    JoinType jointype;
    JoinKind kind;
    bool builds_outer;  // the outer relation is the build side
    Unique unique;
    bool may_copy_build;  // workers may each have a copy of the build side
};

// Join types that are missing here are declined. SEMI and ANTI come in one order only, so both build sides
// are proposed at once. Of a preserved build side there can only be one copy, since workers do not know of
// each other's matches; a part of an input cannot be made unique.
constexpr Proposal kProposals[] = {
    {JOIN_INNER, JoinKind::Inner, false, Unique::Neither, true},
    {JOIN_LEFT, JoinKind::Left, false, Unique::Neither, true},
    {JOIN_RIGHT, JoinKind::Right, false, Unique::Neither, false},
    {JOIN_FULL, JoinKind::Full, false, Unique::Neither, false},
    {JOIN_SEMI, JoinKind::Semi, false, Unique::Neither, true},
    {JOIN_SEMI, JoinKind::RightSemi, true, Unique::Neither, false},
    {JOIN_ANTI, JoinKind::Anti, false, Unique::Neither, true},
    {JOIN_ANTI, JoinKind::RightAnti, true, Unique::Neither, false},
    {JOIN_UNIQUE_OUTER, JoinKind::Inner, false, Unique::Outer, false},
    {JOIN_UNIQUE_INNER, JoinKind::Inner, false, Unique::Inner, true},
};

// gpujoin.force: small enough to win against anything, in proportion so that forced paths compare.
constexpr double kForcedScale = 1e-6;

// What one call of the hook is about.
struct JoinCall {
    PlannerInfo* root;
    RelOptInfo* joinrel;
    RelOptInfo* outer;
    RelOptInfo* inner;
    JoinPathExtraData* extra;
    ServerFacts server;
};

set_join_pathlist_hook_type previous_hook;

const CustomPathMethods path_methods = {kNodeName, make_join_plan, nullptr};

bool is_ours(const Path* path) {
    return IsA(path, CustomPath) && reinterpret_cast<const CustomPath*>(path)->methods == &path_methods;
}

List* only_ours(List* paths) {
    List* kept = NIL;
    ListCell* cell;
    foreach (cell, paths)
        if (is_ours(static_cast<Path*>(lfirst(cell)))) kept = lappend(kept, lfirst(cell));
    return kept;
}

GpuJoinPath* make_path(const JoinCall& call, const JoinInputs& inputs, const JoinEstimate& estimate) {
    GpuJoinPath* result = static_cast<GpuJoinPath*>(palloc0(sizeof(GpuJoinPath)));
    CustomPath* custom = &result->path;
    double scale = setting_force ? kForcedScale : 1;
    custom->path.type = T_CustomPath;
    custom->path.pathtype = T_CustomScan;
    custom->path.parent = call.joinrel;
    custom->path.pathtarget = call.joinrel->reltarget;
    custom->path.parallel_safe =
        call.joinrel->consider_parallel && inputs.probe->parallel_safe && inputs.build->parallel_safe;
    custom->path.parallel_aware = inputs.sharing == Sharing::OneBuild;
    custom->path.parallel_workers = inputs.workers;
    custom->path.rows = inputs.rows;
    custom->path.startup_cost = estimate.startup_cost * scale;
    custom->path.total_cost = estimate.total_cost * scale;
    custom->flags = kProjects;
    custom->custom_paths = list_make2(inputs.probe, inputs.build);
    custom->methods = &path_methods;
    set_join_conditions(custom, call.extra->restrictlist);
    if (!setting_force) {
        add_disabled_nodes(&custom->path, inputs.probe);
        add_disabled_nodes(&custom->path, inputs.build);
    }
    result->kind = inputs.kind;
    result->clauses = inputs.clauses;
    result->costs = estimate.terms;
    result->shares = inputs.sharing == Sharing::OneBuild ? parallel_shares(inputs.workers) : 1;
    return result;
}

// A join that would be refused for want of memory is not planned, unless there is no other way to run it.
bool fits_server(const JoinCall& call, const JoinEstimate& estimate) {
    return setting_force || call.server.host_memory == 0 || call.joinrel->pathlist == NIL ||
           estimate.server_bytes <= static_cast<double>(call.server.host_memory);
}

// A join on ranges alone that a nested loop with an index would do better.
bool is_for_lookups(const JoinCall& call, const Proposal& proposal, const JoinInputs& inputs) {
    if (setting_force || inputs.clauses->equalities != NIL || inputs.clauses->ranges == NIL) return false;
    JoinEstimate estimate = estimate_join(call.root, call.joinrel->reltarget, inputs, call.server.rates);
    bool may_loop_inner = proposal.jointype == JOIN_INNER || proposal.jointype == JOIN_RIGHT;
    bool may_loop_outer = proposal.jointype != JOIN_RIGHT && proposal.jointype != JOIN_FULL;
    return (may_loop_outer && is_beaten_by_lookups(&estimate, call.outer, call.inner)) ||
           (may_loop_inner && is_beaten_by_lookups(&estimate, call.inner, call.outer));
}

void add_serial_path(const JoinCall& call, JoinInputs inputs) {
    if (PATH_REQ_OUTER(inputs.probe) || PATH_REQ_OUTER(inputs.build)) return;
    inputs.workers = 0;
    inputs.sharing = Sharing::Nothing;
    JoinEstimate estimate = estimate_join(call.root, call.joinrel->reltarget, inputs, call.server.rates);
    if (!fits_server(call, estimate)) return;
    add_path(call.joinrel, &make_path(call, inputs, estimate)->path.path);
}

void add_parallel_path(const JoinCall& call, const JoinInputs& inputs) {
    JoinEstimate estimate = estimate_join(call.root, call.joinrel->reltarget, inputs, call.server.rates);
    if (!fits_server(call, estimate)) return;
    add_partial_path(call.joinrel, &make_path(call, inputs, estimate)->path.path);
}

// Each participant reads all of the build side, so that this only pays where the build side is small: the
// copies together may not be larger than the probe side.
void add_copied_build(const JoinCall& call, JoinInputs inputs, RelOptInfo* probe_rel) {
    if (PATH_REQ_OUTER(inputs.build) || !inputs.build->parallel_safe) return;
    inputs.probe = static_cast<Path*>(linitial(probe_rel->partial_pathlist));
    inputs.workers = inputs.probe->parallel_workers;
    inputs.sharing = Sharing::Probe;
    if (!setting_force && participants(inputs) * inputs.build->rows > probe_rel->rows) return;
    inputs.rows = clamp_row_est(call.joinrel->rows * inputs.probe->rows / std::max(probe_rel->rows, 1.0));
    add_parallel_path(call, inputs);
}

// Every participant reads a part of both inputs, and all build one build side.
void add_shared_build(const JoinCall& call, JoinInputs inputs, RelOptInfo* probe_rel, RelOptInfo* build_rel) {
    if (build_rel->partial_pathlist == NIL) return;
    inputs.probe = static_cast<Path*>(linitial(probe_rel->partial_pathlist));
    inputs.build = static_cast<Path*>(linitial(build_rel->partial_pathlist));
    inputs.workers = std::max(inputs.probe->parallel_workers, inputs.build->parallel_workers);
    inputs.sharing = Sharing::OneBuild;
    inputs.rows = clamp_row_est(call.joinrel->rows / parallel_shares(inputs.workers));
    add_parallel_path(call, inputs);
}

Path* unique_path(const JoinCall& call, RelOptInfo* rel, Path* path) {
    return reinterpret_cast<Path*>(create_unique_path(call.root, rel, path, call.extra->sjinfo));
}

// The cheapest path of the build side that workers may run too, where there is one.
Path* parallel_safe_path(RelOptInfo* rel) {
    return rel->cheapest_total_path->parallel_safe ? rel->cheapest_total_path
                                                   : get_cheapest_parallel_safe_total_inner(rel->pathlist);
}

// What is above a semijoin may refer to the row that was matched: its columns stand for the outer ones that
// they equal. Only joins that probe with the outer rows know that row.
bool wants_matched_row(const JoinCall& call) {
    Relids wanted = pull_varnos(call.root, reinterpret_cast<Node*>(call.joinrel->reltarget->exprs));
    return bms_overlap(wanted, call.inner->relids);
}

// A batch of the build side has a column for each key and each column that may be wanted above.
bool fits_batches(const JoinInputs& inputs) {
    const JoinClauses* clauses = inputs.clauses;
    const JoinFilter& filter = filter_of(clauses);
    int keys = list_length(clauses->equalities) + list_length(clauses->ranges) +
               list_length(clauses->filters) + Max(filter.probe.values.count, filter.build.values.count);
    return keys + list_length(inputs.build->pathtarget->exprs) <= int{kMaxColumns};
}

void propose(const JoinCall& call, const Proposal& proposal) {
    if (proposal.kind == JoinKind::RightSemi && wants_matched_row(call)) return;
    RelOptInfo* probe_rel = proposal.builds_outer ? call.inner : call.outer;
    RelOptInfo* build_rel = proposal.builds_outer ? call.outer : call.inner;
    JoinInputs inputs = {};
    inputs.kind = proposal.kind;
    inputs.clauses = classify_clauses(
        call.extra->restrictlist,
        {call.root, proposal.jointype, call.joinrel->relids, probe_rel->relids, build_rel->relids});
    if (!inputs.clauses) return;

    inputs.probe = probe_rel->cheapest_total_path;
    inputs.build = build_rel->cheapest_total_path;
    if (proposal.unique == Unique::Outer) inputs.probe = unique_path(call, probe_rel, inputs.probe);
    if (proposal.unique == Unique::Inner) inputs.build = unique_path(call, build_rel, inputs.build);
    if (!inputs.probe || !inputs.build || !fits_batches(inputs)) return;
    inputs.rows = call.joinrel->rows;
    if (is_for_lookups(call, proposal, inputs)) return;
    add_serial_path(call, inputs);

    Path* quick = probe_rel->cheapest_startup_path;
    if (proposal.unique == Unique::Neither && quick && quick != inputs.probe) {
        JoinInputs quick_inputs = inputs;
        quick_inputs.probe = quick;
        add_serial_path(call, quick_inputs);
    }
    if (!call.joinrel->consider_parallel || probe_rel->partial_pathlist == NIL) return;
    if (proposal.unique == Unique::Neither) add_shared_build(call, inputs, probe_rel, build_rel);
    if (!proposal.may_copy_build) return;
    if (proposal.unique == Unique::Neither) inputs.build = parallel_safe_path(build_rel);
    if (inputs.build) add_copied_build(call, inputs, probe_rel);
}

// What a participant of a parallel join may have to read at least.
Cost least_reading_cost(const RelOptInfo* rel) {
    Cost whole = reading_cost(rel->cheapest_total_path);
    if (rel->partial_pathlist == NIL) return whole;
    return std::min(whole, reading_cost(static_cast<Path*>(linitial(rel->partial_pathlist))));
}

// Whether the cheapest join that is conceivable might be kept. Asked first, as core asks before it costs a
// join of its own: small relations have a better path already, and their conditions take longer to look at.
bool may_win(const JoinCall& call) {
    Cost setup = set_up_cost(call.server.rates);
    Cost reading =
        reading_cost(call.outer->cheapest_total_path) + reading_cost(call.inner->cheapest_total_path);
    if (passes_precheck(call.joinrel, setup, setup + reading)) return true;
    if (!call.joinrel->consider_parallel) return false;
    if (call.outer->partial_pathlist == NIL && call.inner->partial_pathlist == NIL) return false;
    reading = least_reading_cost(call.outer) + least_reading_cost(call.inner);
    return passes_partial_precheck(call.joinrel, 2 * setup + reading);
}

// Conditions that the planner would forget if the join were made here.
bool loses_conditions(const List* restrictlist) {
    if (kTestsPseudoconstants) return false;
    ListCell* cell;
    foreach (cell, restrictlist)
        if (lfirst_node(RestrictInfo, cell)->pseudoconstant) return true;
    return false;
}

void add_gpu_joins(PlannerInfo* root, RelOptInfo* joinrel, RelOptInfo* outerrel, RelOptInfo* innerrel,
                   JoinType jointype, JoinPathExtraData* extra) {
    if (previous_hook) previous_hook(root, joinrel, outerrel, innerrel, jointype, extra);
    if (!setting_enabled || !server_is_ready()) return;
    if (!bms_is_empty(joinrel->lateral_relids) || loses_conditions(extra->restrictlist)) return;

    JoinCall call = {root, joinrel, outerrel, innerrel, extra, {}};
    read_server_facts(&call.server);
    if (setting_force) call.server.rates = {};  // a forced plan has the same shape on every machine
    if (!setting_force && !may_win(call)) return;
    List *paths = joinrel->pathlist, *partial_paths = joinrel->partial_pathlist;
    if (setting_force) {
        joinrel->pathlist = only_ours(paths);
        joinrel->partial_pathlist = only_ours(partial_paths);
    }
    for (const Proposal& proposal : kProposals)
        if (proposal.jointype == jointype) propose(call, proposal);
    if (joinrel->pathlist == NIL) {
        joinrel->pathlist = paths;
        joinrel->partial_pathlist = partial_paths;
    }
}

}  // namespace

void install_join_hook() {
    previous_hook = set_join_pathlist_hook;
    set_join_pathlist_hook = add_gpu_joins;
}

}  // namespace gpujoin
