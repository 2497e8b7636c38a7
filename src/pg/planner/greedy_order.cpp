// See greedy_order.h.
#include "pg/planner/greedy_order.h"

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/planner/core_calls.h"

extern "C" {
#include "optimizer/joininfo.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "utils/memutils.h"
}

namespace gpujoin {
namespace {

// Two relations that may be joined, and what they give.
struct Candidate {
    RelOptInfo* first;
    RelOptInfo* second;
    RelOptInfo* joined;

    bool has(const RelOptInfo* rel) const { return first == rel || second == rel; }
};

// nullptr: they may not be joined, in this order.
RelOptInfo* join(PlannerInfo* root, RelOptInfo* first, RelOptInfo* second) {
    RelOptInfo* joined = make_join_rel(root, first, second);
    if (!joined) return nullptr;
    generate_partitionwise_join_paths(root, joined);
    generate_useful_gather_paths(root, joined, false);
    if (joined->pathlist == NIL) return nullptr;
    set_cheapest(joined);
    return joined;
}

List* with_candidates(PlannerInfo* root, List* candidates, RelOptInfo* rel, const List* others,
                      bool by_conditions) {
    ListCell* cell;
    foreach (cell, others) {
        auto* other = static_cast<RelOptInfo*>(lfirst(cell));
        if (by_conditions && !have_relevant_joinclause(root, rel, other) &&
            !have_join_order_restriction(root, rel, other))
            continue;
        RelOptInfo* joined = join(root, rel, other);
        if (!joined) continue;
        auto* candidate = unset<Candidate>();
        *candidate = {rel, other, joined};
        candidates = lappend(candidates, candidate);
    }
    return candidates;
}

List* candidates_among(PlannerInfo* root, const List* rels, bool by_conditions) {
    List* candidates = NIL;
    List* before = NIL;
    ListCell* cell;
    foreach (cell, rels) {
        auto* rel = static_cast<RelOptInfo*>(lfirst(cell));
        candidates = with_candidates(root, candidates, rel, before, by_conditions);
        before = lappend(before, rel);
    }
    return candidates;
}

// By which the next pair is chosen.
using Measure = double (*)(const RelOptInfo* joined);

double cost_of(const RelOptInfo* joined) {
    return joined->cheapest_total_path->total_cost;
}

double rows_of(const RelOptInfo* joined) {
    return joined->rows;
}

const Candidate* least_of(const List* candidates, Measure measure) {
    const Candidate* least = nullptr;
    ListCell* cell;
    foreach (cell, candidates) {
        const auto* candidate = static_cast<const Candidate*>(lfirst(cell));
        if (!least || measure(candidate->joined) < measure(least->joined)) least = candidate;
    }
    return least;
}

// Those of which neither relation has been joined.
List* left_of(List* candidates, const Candidate& taken) {
    ListCell* cell;
    foreach (cell, candidates) {
        const auto* candidate = static_cast<const Candidate*>(lfirst(cell));
        if (candidate->has(taken.first) || candidate->has(taken.second))
            candidates = foreach_delete_current(candidates, cell);
    }
    return candidates;
}

// nullptr: it leads nowhere.
const RelOptInfo* join_all(PlannerInfo* root, List* rels, Measure measure) {
    List* candidates = candidates_among(root, rels, true);
    while (list_length(rels) > 1) {
        if (candidates == NIL) candidates = candidates_among(root, rels, false);
        const Candidate* least = least_of(candidates, measure);
        if (!least) return nullptr;
        const Candidate taken = *least;
        rels = list_delete_ptr(list_delete_ptr(rels, taken.first), taken.second);
        candidates = with_candidates(root, left_of(candidates, taken), taken.joined, rels, true);
        rels = lappend(rels, taken.joined);
    }
    return static_cast<const RelOptInfo*>(linitial(rels));
}

struct Trial {
    PlannerInfo* root;
    List* rels;
    Measure measure;
    GreedyOrder order;
};

void try_order(void* argument) {
    auto* trial = static_cast<Trial*>(argument);
    const RelOptInfo* joined = join_all(trial->root, list_copy(trial->rels), trial->measure);
    if (!joined || is_disabled(joined->cheapest_total_path)) return;
    trial->order = {true, cost_of(joined), joined->rows};
}

// In a memory context of its own, as GEQO has one for each order that it tries.
GreedyOrder order_by(PlannerInfo* root, List* rels, Measure measure) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpujoin greedy order", ALLOCSET_DEFAULT_SIZES);
    MemoryContext before = MemoryContextSwitchTo(context);
    Trial trial = {root, rels, measure, {}};
    const JoinRelations others = join_relations_of(root);
    root->join_rel_hash = nullptr;
    call_as_core(root, try_order, &trial);
    restore_join_relations(root, others);
    MemoryContextSwitchTo(before);
    MemoryContextDelete(context);
    return trial.order;
}

}  // namespace

GreedyOrder find_greedy_order(PlannerInfo* root, List* rels) {
    const GreedyOrder by_cost = order_by(root, rels, cost_of);
    const GreedyOrder by_rows = order_by(root, rels, rows_of);
    if (!by_cost.is_found || !by_rows.is_found) return by_cost.is_found ? by_cost : by_rows;
    return by_cost.cost <= by_rows.cost ? by_cost : by_rows;
}

}  // namespace gpujoin
