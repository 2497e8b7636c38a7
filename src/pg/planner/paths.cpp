// The hook that adds GPU Join paths. PostgreSQL calls it for each pair of relations, in both orders; what it
// adds competes by cost with core's own paths. Whatever is not understood is declined in silence, and core
// plans as if nothing were there.
//
// Left out: inputs that depend on rows of other relations (lateral references, parameterised paths) or on the
// working table of a recursive query, for which a build side would have to be made again for each of them.
#include "pg/planner/join_call.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/entry_points.h"
#include "pg/planner/blind_loops.h"
#include "pg/planner/chains.h"
#include "pg/planner/core_alone.h"
#include "pg/planner/core_calls.h"
#include "pg/planner/core_paths.h"
#include "pg/planner/forced_paths.h"
#include "pg/planner/kept.h"
#include "pg/planner/lookups.h"
#include "pg/planner/plan.h"
#include "pg/planner/records.h"
#include "pg/planner/recursion.h"
#include "pg/planner/refused_conditions.h"
#include "pg/planner/path_facts.h"
#include "pg/planner/rivals.h"
#include "pg/planner/row_identity.h"
#include "pg/planner/search_bounds.h"
#include "pg/planner/shared_hashes.h"
#include "pg/planner/spilling.h"
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

// The most ways in which one proposal is costed: serial with the cheapest or the quickest probe side, with
// one build side for all workers, and with a copy for each.
constexpr int kMaxWays = 4;

set_join_pathlist_hook_type previous_hook;

const CustomPathMethods path_methods = {kNodeName, make_join_plan, nullptr};

// A worker does not know what its leader's transaction has locked or made: a plan of its own reads there what
// is kept, at the price of not reading it.
bool counts_on_kept_rows(PlannerInfo* root, const Chain* chain) {
    if (chain->workers > 0) return false;
    if (chain->costs.kept > 0) return true;
    for (; chain; chain = chain->before)
        if (chain->build && kept_share_of(root, chain->build) > 0) return true;
    return false;
}

// One path of each input that a chain has.
bool is_parallel_safe(const Chain* chain) {
    for (; chain; chain = chain->before)
        if (!chain->build->parallel_safe || (!chain->before && !chain->probe->parallel_safe)) return false;
    return true;
}

GpuJoinPath* make_path(const JoinCall& call, const JoinInputs& inputs, const JoinEstimate& estimate) {
    auto* chain = unset<Chain>();
    *chain = chain_of(call, inputs, chain_costs(call.root, inputs, call.engine));
    GpuJoinPath* result = make_chain_path(chain);
    CustomPath* custom = &result->path;
    custom->path.parent = call.joinrel;
    custom->path.pathtarget = call.target;
    custom->path.parallel_safe =
        call.joinrel->consider_parallel && is_parallel_safe(chain) && !counts_on_kept_rows(call.root, chain);
    custom->path.rows = inputs.rows;
    custom->path.startup_cost = estimate.startup_cost;
    custom->path.total_cost = estimate.total_cost;
    set_join_conditions(custom, call.extra->restrictlist);
    result->costs = estimate.terms;
    return result;
}

JoinEstimate estimate(const JoinCall& call, const JoinInputs& inputs) {
    return estimate_join(call.root, call.joinrel->reltarget, inputs,
                         chain_costs(call.root, inputs, call.engine), call.engine);
}

// Of paths in several processes, which are there to be gathered: core's are about as quick where a few rows
// are looked up in a small table.
constexpr double kPartialGain = 0.1;

// What core gathers is compared when ours could be, too.
bool is_rival(const Path* path) {
    return !PATH_REQ_OUTER(path) && !IsA(path, GatherPath) && !IsA(path, GatherMergePath) &&
           !has_disabled_nodes(path);
}

bool gains_next_to(const JoinCall& call, const RelOptInfo* rel, bool is_partial, Cost total) {
    const List* paths = is_partial ? rel->partial_pathlist : rel->pathlist;
    const double gain = is_partial ? kPartialGain : kGain;
    const Cost least = least_saving(call.root);
    ListCell* cell;
    foreach (cell, paths) {
        const auto* path = static_cast<const Path*>(lfirst(cell));
        if (!is_rival(path) || total + std::max(least, gain * path->total_cost) <= path->total_cost) continue;
        if (call.root->tuple_fraction > 0) continue;  // what it takes up to the first rows may count
        if (!has_gpu_join(path)) return false;
    }
    return true;
}

// Also next to those that core finds for pairs that are still to come, where that is known: they cost little
// more than ours, which ousts them then.
bool gains(const JoinCall& call, bool is_partial, Cost total) {
    if (!gains_next_to(call, call.joinrel, is_partial, total)) return false;
    const RelOptInfo* by_core = found_by_core(call.root, call.joinrel->relids);
    return !by_core || gains_next_to(call, by_core, is_partial, total);
}

// Next to another path: enough to be taken in its place.
constexpr double kBarelyLess = 0.97;
// Of what is between the two, that may be charged.
constexpr double kChargedShare = 0.85;

// Whether a path of these costs might stay, of those that core has.
bool may_stay(const JoinCall& call, const JoinInputs& inputs, const JoinEstimate& cost) {
    if (setting_force) return true;
    if (is_too_dear(call.root, cost.total_cost)) return false;
    if (!gains(call, inputs.workers > 0, cost.total_cost)) return false;
    return inputs.workers == 0 ? passes_precheck(call.joinrel, cost.startup_cost, cost.total_cost)
                               : passes_partial_precheck(call.joinrel, cost.total_cost);
}

// Before paths of ours may oust it.
void note_serial_paths(RelOptInfo* joinrel) {
    RelationNotes* notes = make_notes(joinrel);
    ListCell* cell;
    foreach (cell, joinrel->pathlist) {
        const auto* path = static_cast<const Path*>(lfirst(cell));
        if (PATH_REQ_OUTER(path) || (notes->serial > 0 && path->total_cost >= notes->serial)) continue;
        const PathFacts facts = quick_facts_of(path);
        if (!facts.has_gpu_join && !facts.gathers) notes->serial = path->total_cost;
    }
}

// What one process reads alone counts next to plans in which several do, and not next to core's of one: what
// costs less than these still does, and the cheaper of two of ours is cheaper still.
void charge_for_reading_alone(const JoinCall& call, JoinEstimate* cost) {
    Cost most = cost->total_cost + cost->lone_reading;
    const RelationNotes* notes = find_notes(call.joinrel);
    const Cost below_serial = kBarelyLess * (notes ? notes->serial : 0);
    if (below_serial > 0)
        most = std::min(most, kChargedShare * below_serial + (1 - kChargedShare) * cost->total_cost);
    cost->total_cost = std::max(cost->total_cost, most);
}

// A join on ranges alone that a nested loop with an index would do better.
bool is_for_lookups(const JoinCall& call, const Proposal& proposal, const JoinInputs& inputs) {
    if (setting_force || inputs.facts->clauses->equalities != NIL || inputs.facts->clauses->ranges == NIL)
        return false;
    JoinEstimate cost = estimate(call, inputs);
    bool may_loop_inner = proposal.jointype == JOIN_INNER || proposal.jointype == JOIN_RIGHT;
    bool may_loop_outer = proposal.jointype != JOIN_RIGHT && proposal.jointype != JOIN_FULL;
    return (may_loop_outer && is_beaten_by_lookups(&cost, call.outer, call.inner)) ||
           (may_loop_inner && is_beaten_by_lookups(&cost, call.inner, call.outer));
}

// The ways to run one proposal that are worth a look at its conditions, which are not known yet: those whose
// least conceivable cost does not rule them out.
struct Ways {
    JoinInputs inputs[kMaxWays];
    int count = 0;
};

void add_way(const JoinCall& call, Ways* ways, const JoinInputs& inputs) {
    if (PATH_REQ_OUTER(inputs.probe) || PATH_REQ_OUTER(inputs.build))
        return note_refusal(call.verdict, {Reason::Lateral});
    if (!setting_force && !call.verdict && !may_stay(call, inputs, estimate(call, inputs))) return;
    ways->inputs[ways->count++] = inputs;
}

// Each participant reads all of the build side, so that this only pays where the build side is small: the
// copies together may not be larger than the probe side.
void add_copied_build(const JoinCall& call, Ways* ways, JoinInputs inputs, RelOptInfo* probe_rel) {
    if (!inputs.build->parallel_safe) return;
    inputs.probe = static_cast<Path*>(linitial(probe_rel->partial_pathlist));
    inputs.workers = inputs.probe->parallel_workers;
    inputs.sharing = Sharing::Probe;
    if (!setting_force && participants(inputs) * inputs.build->rows > probe_rel->rows) return;
    inputs.rows = clamp_row_est(call.joinrel->rows * inputs.probe->rows / std::max(probe_rel->rows, 1.0));
    add_way(call, ways, inputs);
}

// Every participant reads a part of both inputs, and all build one build side.
void add_shared_build(const JoinCall& call, Ways* ways, JoinInputs inputs, RelOptInfo* probe_rel,
                      RelOptInfo* build_rel) {
    if (build_rel->partial_pathlist == NIL) return;
    inputs.probe = static_cast<Path*>(linitial(probe_rel->partial_pathlist));
    inputs.build = static_cast<Path*>(linitial(build_rel->partial_pathlist));
    inputs.workers = std::max(inputs.probe->parallel_workers, inputs.build->parallel_workers);
    inputs.sharing = Sharing::OneBuild;
    inputs.builds_together = true;
    inputs.rows = clamp_row_est(call.joinrel->rows / parallel_shares(inputs.workers));
    add_way(call, ways, inputs);
}

Path* unique_path(const JoinCall& call, RelOptInfo* rel, Path* path) {
    return reinterpret_cast<Path*>(create_unique_path(call.root, rel, path, call.extra->sjinfo));
}

// A batch of the build side has a column for each key and each column that may be wanted above.
bool fits_batches(const JoinInputs& inputs) {
    const JoinClauses* clauses = inputs.facts->clauses;
    const JoinFilter& filter = filter_of(clauses);
    int keys = list_length(clauses->equalities) + list_length(clauses->ranges) +
               list_length(clauses->filters) + Max(filter.probe.values.count, filter.build.values.count);
    return keys + list_length(inputs.build->pathtarget->exprs) <= int{kMaxColumns};
}

Ways ways_to_run(const JoinCall& call, const Proposal& proposal, JoinInputs inputs, RelOptInfo* probe_rel,
                 RelOptInfo* build_rel) {
    Ways ways;
    add_way(call, &ways, inputs);
    Path* quick = probe_rel->cheapest_startup_path;
    if (proposal.unique == Unique::Neither && quick && quick != inputs.probe) {
        JoinInputs quick_inputs = inputs;
        quick_inputs.probe = quick;
        add_way(call, &ways, quick_inputs);
    }
    if (!call.joinrel->consider_parallel || probe_rel->partial_pathlist == NIL) return ways;
    if (proposal.unique == Unique::Neither) add_shared_build(call, &ways, inputs, probe_rel, build_rel);
    if (!proposal.may_copy_build) return ways;
    if (proposal.unique == Unique::Neither) inputs.build = parallel_safe_path(build_rel);
    if (inputs.build) add_copied_build(call, &ways, inputs, probe_rel);
    return ways;
}

// EXPLAIN could not name the fields of a column, and there is another way to run the join.
bool hides_names(const JoinCall& call) {
    return call.has_core_paths &&
           (has_unnamed_record(call.root, call.outer) || has_unnamed_record(call.root, call.inner));
}

void refuse_conditions(const JoinCall& call, const JoinSides& sides) {
    if (call.verdict) note_refusal(call.verdict, refusal_of_conditions(call.extra->restrictlist, sides));
}

void propose(const JoinCall& call, const Proposal& proposal) {
    if (proposal.kind == JoinKind::RightSemi && wants_matched_row(call)) return;
    RelOptInfo* probe_rel = proposal.builds_outer ? call.inner : call.outer;
    RelOptInfo* build_rel = proposal.builds_outer ? call.outer : call.inner;
    JoinFacts facts = {};
    facts.kind = proposal.kind;
    facts.underestimate = underestimate_of(call.joinrel);
    facts.probe_columns = proposal.builds_outer ? call.inner_columns : call.outer_columns;
    facts.build_columns = proposal.builds_outer ? call.outer_columns : call.inner_columns;
    JoinInputs inputs = {};
    inputs.facts = &facts;
    inputs.probe = proposal.unique == Unique::Outer ? probe_rel->cheapest_total_path
                                                    : cheapest_probe_scan(call.root, probe_rel);
    // Core makes rows unique of its cheapest path alone, and remembers what it has made.
    inputs.build = proposal.unique == Unique::Inner ? build_rel->cheapest_total_path
                                                    : cheapest_build_scan(call.root, build_rel);
    inputs.rows = call.joinrel->rows;
    if (proposal.unique == Unique::Outer) inputs.probe = unique_path(call, probe_rel, inputs.probe);
    if (proposal.unique == Unique::Inner) inputs.build = unique_path(call, build_rel, inputs.build);
    if (!inputs.probe || !inputs.build) return;
    Ways ways = call.may_win ? ways_to_run(call, proposal, inputs, probe_rel, build_rel) : Ways{};
    ChainSteps steps = chain_steps(call, proposal, inputs, build_rel);
    if (ways.count + steps.count == 0) return;
    if (hides_names(call)) return note_refusal(call.verdict, {Reason::RecordColumn});

    const JoinSides sides = {call.root, proposal.jointype, call.joinrel->relids, probe_rel->relids,
                             build_rel->relids};
    facts.clauses = classify_clauses(call.extra->restrictlist, sides);
    if (!facts.clauses) return refuse_conditions(call, sides);
    if (!fits_batches(inputs)) return note_refusal(call.verdict, {Reason::TooManyColumns});
    facts.probe_keys = key_shape(call.root, facts.clauses, false);
    facts.build_keys = key_shape(call.root, facts.clauses, true);
    if (is_for_lookups(call, proposal, inputs)) return note_refusal(call.verdict, {Reason::RangeLookups});
    for (const JoinInputs& way : std::span(ways.inputs, ways.count)) add_join_path(call, way);
    for (const JoinInputs& step : std::span(steps.inputs, steps.count)) add_chain(call, step);
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
    Cost setup = set_up_cost(call.engine);
    Cost reading =
        reading_cost(call.outer->cheapest_total_path) + reading_cost(call.inner->cheapest_total_path);
    if (passes_precheck(call.joinrel, setup, setup + reading) && !is_too_dear(call.root, setup + reading))
        return true;
    if (!call.joinrel->consider_parallel) return false;
    if (call.outer->partial_pathlist == NIL && call.inner->partial_pathlist == NIL) return false;
    reading = least_reading_cost(call.outer) + least_reading_cost(call.inner);
    const Cost least = 2 * setup + reading;
    return passes_partial_precheck(call.joinrel, least) && !is_too_dear(call.root, least);
}

// Conditions that the planner would forget if the join were made here.
bool loses_conditions(const List* restrictlist) {
    if (kTestsPseudoconstants) return false;
    ListCell* cell;
    foreach (cell, restrictlist)
        if (lfirst_node(RestrictInfo, cell)->pseudoconstant) return true;
    return false;
}

// What keeps us out of a join whatever its conditions are.
Reason reason_against(PlannerInfo* root, const RelOptInfo* joinrel, const JoinPathExtraData* extra) {
    if (!bms_is_empty(joinrel->lateral_relids)) return Reason::Lateral;
    if (loses_conditions(extra->restrictlist)) return Reason::TablelessCondition;
    if (!setting_force && depends_on_working_table(root, joinrel)) return Reason::WorkingTable;
    return Reason::None;
}

void propose_all(const JoinCall& call, JoinType jointype) {
    for (const Proposal& proposal : kProposals)
        if (proposal.jointype == jointype) propose(call, proposal);
}

// The same again, for the sake of what comes of it.
void judge(JoinCall call, JoinType jointype, Verdict* verdict) {
    call.verdict = verdict;
    call.may_win = true;
    propose_all(call, jointype);
}

void add_proposed(const JoinCall& call, JoinType jointype) {
    ForcedPaths* forced = setting_force ? take_forced_paths(call.joinrel) : nullptr;
    propose_all(call, jointype);
    if (forced) keep_forced_paths(forced);
}

// verdict: nullptr unless it is asked for.
void propose_gpu_joins(const JoinPair& pair, JoinPathExtraData* extra, Verdict* verdict) {
    RelOptInfo* joinrel = pair.joinrel;
    Reason against = reason_against(pair.root, joinrel, extra);
    if (against != Reason::None) return note_refusal(verdict, {against});

    note_undeclared_keys(pair.root, joinrel);
    PlanningFacts server;
    read_planning_facts(&server);
    JoinCall call = {};
    call.root = pair.root;
    call.joinrel = joinrel;
    call.outer = pair.outer;
    call.inner = pair.inner;
    call.extra = extra;
    call.has_core_paths = joinrel->pathlist != NIL;
    call.engine = engine_costs(server);
    call.may_win = setting_force || may_win(call);
    for (bool is_partial : {false, true})
        call.outer_chains[is_partial] = cheapest_chain(pair.outer, is_partial);
    const bool is_of_use = call.may_win || may_chain(call, pair.jointype);
    if (!is_of_use && !verdict) return;
    if (!setting_force) note_serial_paths(joinrel);
    call.target = with_leaf_row_identities(pair.root, joinrel->reltarget);
    call.outer_columns = wanted_shape(pair.outer->reltarget);
    call.inner_columns = wanted_shape(pair.inner->reltarget);
    if (is_of_use) add_proposed(call, pair.jointype);
    if (verdict) judge(call, pair.jointype, verdict);
}

// Compared by cost alone, and with core's plan as it is.
void add_roughly(const JoinPair& pair, JoinPathExtraData* extra) {
    const SearchMode mode = search_mode(pair.root);
    if (mode == SearchMode::Rough) propose_gpu_joins(pair, extra, nullptr);
    if (mode != SearchMode::Geqo) replace_blind_loops(pair);
    widen_shared_hashes(pair.joinrel);
    if (mode == SearchMode::Core) note_found(pair);
}

void add_gpu_joins(PlannerInfo* root, RelOptInfo* joinrel, RelOptInfo* outerrel, RelOptInfo* innerrel,
                   JoinType jointype, JoinPathExtraData* extra) {
    if (previous_hook) previous_hook(root, joinrel, outerrel, innerrel, jointype, extra);
    if (!setting_enabled || !server_is_ready() || are_core_paths_made(root)) return;
    const JoinPair pair = {
        root, joinrel, outerrel, innerrel, jointype, extra->sjinfo, extra->restrictlist, extra->inner_unique};
    if (left_out() == LeftOut::Everything) return;
    if (left_out() == LeftOut::OurPaths) return replace_blind_loops(pair);
    if (search_mode(root) != SearchMode::Careful) return add_roughly(pair, extra);
    if (!setting_force) {
        note_pair(pair);
        call_rivals_back(pair);
    }
    const bool is_asked = is_recording(root);
    Verdict verdict = {};
    propose_gpu_joins(pair, extra, is_asked ? &verdict : nullptr);
    if (!setting_force) {
        set_rivals_aside(root, joinrel);
        replace_blind_loops(root, joinrel);
    }
    widen_shared_hashes(joinrel);
    if (!is_asked) return;
    verdict.is_beaten_by_lookups = are_readers_aside(joinrel);
    record_join(root, joinrel, verdict);
}

}  // namespace

bool is_gpu_join(const Path* path) {
    return IsA(path, CustomPath) && reinterpret_cast<const CustomPath*>(path)->methods == &path_methods;
}

Path* parallel_safe_path(RelOptInfo* rel) {
    return rel->cheapest_total_path->parallel_safe ? rel->cheapest_total_path
                                                   : get_cheapest_parallel_safe_total_inner(rel->pathlist);
}

bool wants_matched_row(const JoinCall& call) {
    Relids wanted = pull_varnos(call.root, reinterpret_cast<Node*>(call.target->exprs));
    return bms_overlap(wanted, call.inner->relids);
}

bool finds_memory(const JoinCall& call, const JoinInputs& inputs, double server_bytes) {
    return !is_spilled(call.engine, server_bytes) || call.joinrel->pathlist == NIL ||
           may_spill(call.root, inputs, call.engine, server_bytes);
}

void refuse_memory(const JoinCall& call, double server_bytes) {
    if (call.verdict) note_refusal(call.verdict, refusal_for_memory(server_bytes));
}

Chain chain_of(const JoinCall& call, const JoinInputs& inputs, const ChainCosts& costs) {
    Chain chain = {};
    chain.before = inputs.before;
    chain.probe = inputs.probe;
    chain.build = inputs.build;
    chain.joinrel = call.joinrel;
    chain.clauses = inputs.facts->clauses;
    chain.kind = inputs.facts->kind;
    chain.builds_together = inputs.builds_together;
    chain.sharing = inputs.sharing;
    chain.length = inputs.before ? inputs.before->length + 1 : 1;
    chain.workers = inputs.workers;
    chain.costs = costs;
    chain.risk = risk_of_step(inputs.before, inputs.probe, inputs.build);
    return chain;
}

GpuJoinPath* make_chain_path(const Chain* chain) {
    GpuJoinPath* result = zeroed<GpuJoinPath>();
    CustomPath* custom = &result->path;
    custom->path.type = T_CustomPath;
    custom->path.pathtype = T_CustomScan;
    custom->path.parallel_aware = chain->sharing == Sharing::OneBuild;
    custom->path.parallel_workers = chain->workers;
    custom->flags = CUSTOMPATH_SUPPORT_PROJECTION;
    custom->methods = &path_methods;
    result->chain = chain;
    for (; chain; chain = chain->before) {
        if (chain->build) {
            custom->custom_paths = lcons(chain->build, custom->custom_paths);
            add_disabled_nodes(&custom->path, chain->build);
        }
        if (chain->before) continue;
        custom->custom_paths = lcons(chain->probe, custom->custom_paths);
        add_disabled_nodes(&custom->path, chain->probe);
    }
    return result;
}

void add_join_path(const JoinCall& call, const JoinInputs& inputs) {
    JoinEstimate cost = estimate(call, inputs);
    if (!finds_memory(call, inputs, cost.server_bytes)) return refuse_memory(call, cost.server_bytes);
    if (!setting_force && inputs.workers == 0) charge_for_reading_alone(call, &cost);
    if (call.verdict) return note_cost(call.verdict, inputs.workers > 0, cost.startup_cost, cost.total_cost);
    // Where a table is written, what is above needs more than the bare path (see row_identity.h).
    const bool is_steady_chain = inputs.before && call.target == call.joinrel->reltarget &&
                                 risk_of_step(inputs.before, inputs.probe, inputs.build) == 0;
    const bool stays = may_stay(call, inputs, cost);
    if (!stays && !is_steady_chain) return;
    Path* path = &make_path(call, inputs, cost)->path.path;
    if (is_steady_chain) note_steady_path(call.joinrel, path);
    if (!stays) return;
    if (inputs.workers == 0)
        add_our_path(call.joinrel, with_row_identities(call.root, path));
    else
        add_our_partial_path(call.joinrel, path);
}

void install_join_hook() {
    previous_hook = set_join_pathlist_hook;
    set_join_pathlist_hook = add_gpu_joins;
}

}  // namespace gpujoin
