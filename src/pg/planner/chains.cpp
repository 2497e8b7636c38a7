// See chains.h.
#include "pg/planner/chains.h"

#include <algorithm>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/overflow.h"
#include "pg/error_free.h"
#include "pg/planner/relation_notes.h"
#include "pg/planner/rivals.h"
#include "pg/planner/row_identity.h"
#include "pg/planner/search_bounds.h"
#include "pg/planner/spilling.h"
#include "pg/settings.h"

extern "C" {
#include "optimizer/optimizer.h"
#include "utils/memutils.h"
}

namespace gpujoin {
namespace {

// A chain whose cost, without what becomes of its rows, is beyond so many times that of the relation's
// cheapest path will not make up for it later.
constexpr double kWorthRemembering = 1.25;

// Below so many rows of the probe input nothing is gained by keeping them in the engine.
constexpr double kFewestProbeRows = 10000;

void remember(RelOptInfo* rel, const Chain& chain) {
    auto* copy = unset_in<Chain>(GetMemoryChunkContext(rel));
    *copy = chain;
    make_notes(rel)->chains[chain.workers > 0] = copy;
}

bool may_be_in_chain(const JoinCall& call, const Proposal& proposal) {
    if (proposal.builds_outer || proposal.unique == Unique::Outer) return false;
    switch (proposal.kind) {
        case JoinKind::Inner:
        case JoinKind::Left:
        case JoinKind::Anti:
            return true;
        case JoinKind::Semi:
            return !wants_matched_row(call);
        case JoinKind::Right:
        case JoinKind::Full:
        case JoinKind::RightSemi:
        case JoinKind::RightAnti:
            return false;
    }
    return false;
}

// Something that is computed between two joins is for the node between them.
bool computes_between_joins(const JoinCall& call) {
    ListCell* cell;
    foreach (cell, call.root->placeholder_list) {
        Relids at = lfirst_node(PlaceHolderInfo, cell)->ph_eval_at;
        if (bms_membership(at) == BMS_MULTIPLE && bms_is_subset(at, call.joinrel->relids)) return true;
    }
    return false;
}

Cost cheapest_cost(const List* paths) {
    Cost cheapest = -1;
    ListCell* cell;
    foreach (cell, paths) {
        Cost cost = static_cast<Path*>(lfirst(cell))->total_cost;
        if (cheapest < 0 || cost < cheapest) cheapest = cost;
    }
    return cheapest;
}

Cost cost_with_risk(const Chain* chain) {
    return least_cost(chain->probe, chain->costs) + chain->risk;
}

// A chain that is cheaper by less is not worth a look at its conditions: many orders of joins cost about the
// same.
constexpr double kFuzz = 1.01;

// Whether the chain can be the cheapest, and be of use, whatever its conditions are.
bool is_worthwhile(const JoinCall& call, const JoinInputs& step) {
    double rows = step.before ? step.before->costs.source_rows : step.probe->rows;
    if (!setting_force && rows < kFewestProbeRows) return false;
    if (call.verdict) return true;
    const Cost least = least_cost(step.probe, chain_costs(call.root, step, call.engine));
    if (is_too_dear(call.root, least)) return false;
    const Chain* known = cheapest_chain(call.joinrel, step.workers > 0);
    if (known && kFuzz * (least + risk_of_step(step.before, step.probe, step.build)) >= cost_with_risk(known))
        return false;
    const List* rivals = step.workers > 0 && call.joinrel->partial_pathlist != NIL
                             ? call.joinrel->partial_pathlist
                             : call.joinrel->pathlist;
    Cost rival = cheapest_cost(rivals);
    return setting_force || rival < 0 || least <= kWorthRemembering * rival;
}

void add_step(const JoinCall& call, ChainSteps* steps, const JoinInputs& step) {
    if (step.before && step.before->length == int{kMaxStages}) return;
    if (PATH_REQ_OUTER(step.probe) || PATH_REQ_OUTER(step.build)) return;
    if (is_worthwhile(call, step)) steps->inputs[steps->count++] = step;
}

// The build side of a parallel chain: read by all participants, or as a whole by one of them.
Path* shared_build(const Proposal& proposal, RelOptInfo* build_rel, Path* build, bool* builds_together) {
    *builds_together = proposal.unique == Unique::Neither && build_rel->partial_pathlist != NIL;
    if (*builds_together) return static_cast<Path*>(linitial(build_rel->partial_pathlist));
    if (proposal.unique == Unique::Neither) build = parallel_safe_path(build_rel);
    return build && build->parallel_safe ? build : nullptr;
}

bool is_bare_column(const Node* expression) {
    while (expression && IsA(expression, RelabelType))
        expression = reinterpret_cast<const Node*>(reinterpret_cast<const RelabelType*>(expression)->arg);
    return expression && IsA(expression, Var);
}

// Keys of the probe side, and values that conditions read.
List* searched_by(const JoinClauses* clauses) {
    List* expressions = list_copy(filter_of(clauses).probe.expressions);
    for (const List* terms : {clauses->equalities, clauses->ranges, clauses->filters}) {
        ListCell* cell;
        foreach (cell, terms)
            expressions = lappend(expressions, linitial(static_cast<JoinTerm*>(lfirst(cell))->clause->args));
    }
    return expressions;
}

// Each where it is read. before: nullptr for a chain's first stage, of which all are over the probe input.
// Where memory is short (executor/pieces.h), rows of one input must tell whether rows of other joins than
// inner ones have a match.
bool are_computed_early(PlannerInfo* root, const Chain* before, JoinKind kind, const JoinClauses* clauses) {
    int input = kProbeChild;
    ListCell* cell;
    List* expressions = searched_by(clauses);
    foreach (cell, expressions) {
        auto* expression = static_cast<Node*>(lfirst(cell));
        int child = kProbeChild;
        if (before && !find_child(root, before, expression, &child)) return false;
        if (!cannot_fail(expression) || may_overflow(expression)) return false;
        if (cell != list_head(expressions) && child != input && kind != JoinKind::Inner) return false;
        input = child;
    }
    return true;
}

bool is_decided_by_engine(const JoinClauses* clauses) {
    return clauses->residual == NIL && clauses->pushed_down == NIL && clauses->searchable &&
           !may_be_undecided(filter_of(clauses).program);
}

}  // namespace

const Chain* cheapest_chain(const RelOptInfo* rel, bool is_partial) {
    const RelationNotes* notes = find_notes(rel);
    return notes ? notes->chains[is_partial] : nullptr;
}

bool may_chain(const JoinCall& call, JoinType jointype) {
    if (!setting_chain || jointype == JOIN_RIGHT || jointype == JOIN_FULL || jointype == JOIN_UNIQUE_OUTER)
        return false;
    if (call.outer_chains[0] || call.outer_chains[1]) return true;
    return setting_force || call.outer->cheapest_total_path->rows >= kFewestProbeRows;
}

ChainSteps chain_steps(const JoinCall& call, const Proposal& proposal, const JoinInputs& inputs,
                       RelOptInfo* build_rel) {
    ChainSteps steps;
    if (!setting_chain || !may_be_in_chain(call, proposal) || computes_between_joins(call)) return steps;
    // Of a path core tests the pseudoconstant conditions of its own join alone, and of groups none.
    if (kTestsPseudoconstants && call.root->hasPseudoConstantQuals) return steps;
    JoinInputs step = inputs;
    step.before = call.outer_chains[0];
    step.probe = step.before ? step.before->probe : cheapest_source_scan(call.root, call.outer);
    add_step(call, &steps, step);
    if (!call.joinrel->consider_parallel) return steps;

    step.before = call.outer_chains[1];
    if (!step.before && call.outer->partial_pathlist == NIL) return steps;
    step.probe =
        step.before ? step.before->probe : static_cast<Path*>(linitial(call.outer->partial_pathlist));
    step.workers = step.before ? step.before->workers : step.probe->parallel_workers;
    step.sharing = Sharing::OneBuild;
    step.build = shared_build(proposal, build_rel, inputs.build, &step.builds_together);
    // A large build side takes as many processes as its cost says, however small the probe input is.
    if (step.builds_together && step.workers > 0)
        step.workers = std::max(step.workers, step.build->parallel_workers);
    step.rows = clamp_row_est(call.joinrel->rows / parallel_shares(step.workers));
    if (step.build && step.workers > 0) add_step(call, &steps, step);
    return steps;
}

void add_chain(const JoinCall& call, const JoinInputs& step) {
    const JoinClauses* clauses = step.facts->clauses;
    if (!is_decided_by_engine(clauses)) return;
    if (!are_computed_early(call.root, step.before, step.facts->kind, clauses)) return;
    ChainCosts costs = chain_costs(call.root, step, call.engine);
    if (!finds_memory(call, step, costs.server_bytes)) return refuse_memory(call, costs.server_bytes);
    if (call.verdict) {
        if (step.before) add_join_path(call, step);
        return;
    }
    const Chain* known = cheapest_chain(call.joinrel, step.workers > 0);
    const Chain chain = chain_of(call, step, costs);
    if (known && cost_with_risk(known) <= cost_with_risk(&chain)) return;
    remember(call.joinrel, chain);
    if (step.before) add_join_path(call, step);
}

bool find_child(PlannerInfo* root, const Chain* chain, Node* expression, int* child) {
    Relids relids = without_outer_joins(root, pull_varnos(root, expression));
    *child = kProbeChild;
    if (bms_is_empty(relids)) return true;
    for (; chain; chain = chain->before) {
        if (chain->build && bms_is_subset(relids, chain->build->parent->relids)) {
            *child = chain->length - 1;
            JoinRows rows = rows_of(chain->kind);
            return rows.pairs && (!rows.unmatched_probe_rows || is_bare_column(expression));
        }
        if (!chain->before) return bms_is_subset(relids, chain->probe->parent->relids);
    }
    return false;
}

}  // namespace gpujoin
