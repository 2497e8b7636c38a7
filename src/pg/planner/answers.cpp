// See answers.h. Each join of the plan looks for the verdict on its relations. Numbers in the plan's range
// table are not those that the planner had for each query, but the entries' aliases are the same objects.
#include "pg/planner/answers.h"

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/server_state.h"
#include "pg/settings.h"

extern "C" {
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/ruleutils.h"
}

namespace gpujoin {
namespace {

// Where a range table entry of the statement was when it was planned.
struct Place {
    const PlannedQuery* query;
    int number;
};

// What is known of a statement once it is planned.
struct Planned {
    const PlannedStmt* statement;
    const Recorder* record;
    PlannedJoins plan;
    Place* places;    // of the range table's entries, which count from 1
    List* names;      // of them, as EXPLAIN has them
    List* deparsing;  // context
};

Place find_place(const PlannedStmt* statement, const Recorder* record, int entry) {
    const Alias* alias = rt_fetch(entry, statement->rtable)->eref;
    ListCell* cell;
    foreach (cell, record->queries) {
        const auto* query = static_cast<const PlannedQuery*>(lfirst(cell));
        for (int number = 1; number < query->size; number++)
            if (query->alias[number] == alias) return {query, number};
    }
    return {nullptr, 0};
}

Place* find_places(const PlannedStmt* statement, const Recorder* record) {
    auto* places = zeroed<Place>(list_length(statement->rtable) + 1);
    for (int entry = 1; entry <= list_length(statement->rtable); entry++)
        places[entry] = find_place(statement, record, entry);
    return places;
}

// How far from an entry to a relation of these that has its rows: members of inheritance trees are below
// their parents, relations of subqueries below these. -1: there is none.
int distance(Place place, const PlannedQuery* query, Relids relids, int* relation) {
    for (int steps = 0; place.query; steps++) {
        if (place.query == query && bms_is_member(place.number, relids))
            return *relation = place.number, steps;
        if (int parent = place.query->parent[place.number])
            place.number = parent;
        else
            place = {place.query->within, place.query->number_within};
    }
    return -1;
}

// How well relations that were planned match those that are read below a node; -1: they are others. What was
// found to have no rows is not read at all.
int mismatch(const Planned& planned, const Bitmapset* entries, const PlannedQuery* query, Relids relids) {
    constexpr int kMissing = 1000;
    int sum = 0;
    Relids left = bms_copy(relids);
    for (int entry = -1; (entry = bms_next_member(entries, entry)) >= 0;) {
        int relation;
        int steps = distance(planned.places[entry], query, relids, &relation);
        if (steps < 0) return -1;
        sum += steps;
        left = bms_del_member(left, relation);
    }
    return sum + kMissing * bms_num_members(left);
}

void add_cost(Verdict* verdict, const Verdict& other) {
    for (bool is_partial : {false, true})
        if (const ExpectedCost& cost = other.cost[is_partial]; cost.is_known)
            note_cost(verdict, is_partial, cost.startup, cost.total);
}

// The more telling of two refusals comes first in their list.
void merge(Verdict* verdict, const Verdict& other) {
    add_cost(verdict, other);
    verdict->is_beaten_by_lookups |= other.is_beaten_by_lookups;
    const bool tells_more =
        verdict->refusal.reason == Reason::None ||
        (other.refusal.reason != Reason::None && other.refusal.reason < verdict->refusal.reason);
    if (tells_more) verdict->refusal = other.refusal;
}

// Of all pairs of relations that give the rows of a join. nullptr: none was asked about.
const PlannedQuery* find_join(const Planned& planned, const PlannedJoin& join, Verdict* verdict) {
    Bitmapset* entries = bms_union(join.outer, join.inner);
    const PlannedQuery* query = nullptr;
    int best = PG_INT32_MAX;
    ListCell* cell;
    foreach (cell, planned.record->joins) {
        const auto* record = static_cast<const JoinRecord*>(lfirst(cell));
        int worse_by = mismatch(planned, entries, record->query, record->relids);
        if (worse_by < 0 || worse_by > best) continue;
        if (worse_by < best) *verdict = {};
        best = worse_by;
        query = record->query;
        merge(verdict, record->verdict);
    }
    return query;
}

int keys_of(const Plan* plan) {
    if (IsA(plan, Group)) return reinterpret_cast<const Group*>(plan)->numCols;
    return reinterpret_cast<const Agg*>(plan)->numCols;
}

bool has_keys(const Plan* plan, const GroupsRecord* record) {
    return IsA(plan, Unique) ? record->sorted_keys == reinterpret_cast<const Unique*>(plan)->numCols
                             : record->keys == keys_of(plan);
}

bool has_aggregates(const Plan* plan) {
    return contain_agg_clause(reinterpret_cast<Node*>(plan->targetlist)) ||
           contain_agg_clause(reinterpret_cast<Node*>(plan->qual));
}

const PlannedQuery* find_groups(const Planned& planned, const PlannedJoin& groups, Verdict* verdict) {
    const PlannedQuery* query = nullptr;
    int best = PG_INT32_MAX;
    ListCell* cell;
    foreach (cell, planned.record->groups) {
        const auto* record = static_cast<const GroupsRecord*>(lfirst(cell));
        const bool has_sets = record->verdict.refusal.reason == Reason::GroupingSets;
        if (!has_sets && !has_keys(groups.plan, record)) continue;
        if (record->has_aggregates != has_aggregates(groups.plan)) continue;
        int worse_by = mismatch(planned, groups.outer, record->query, record->relids);
        if (worse_by < 0 || worse_by >= best) continue;
        best = worse_by;
        query = record->query;
        *verdict = record->verdict;
    }
    return query;
}

// What plans have and deparsing does not know, or would show as what it is not.
Node* plain_mutator(Node* node, void*) {
    if (!node) return nullptr;
    if (IsA(node, PlaceHolderVar))
        return plain_mutator(reinterpret_cast<Node*>(reinterpret_cast<PlaceHolderVar*>(node)->phexpr),
                             nullptr);
    Node* copy = mutate_expression(node, plain_mutator, nullptr);
    if (IsA(copy, Aggref)) reinterpret_cast<Aggref*>(copy)->aggsplit = AGGSPLIT_SIMPLE;
    return copy;
}

// By how much a query's numbers are higher in the statement's range table.
int offset_of(const Planned& planned, const PlannedQuery* query) {
    for (int entry = 1; entry <= list_length(planned.statement->rtable); entry++)
        if (planned.places[entry].query == query) return entry - planned.places[entry].number;
    return 0;
}

const char* deparsed(const Planned& planned, const PlannedQuery* query, const Node* expression) {
    if (!expression) return nullptr;
    Node* copy = plain_mutator(const_cast<Node*>(expression), nullptr);
    OffsetVarNodes(copy, offset_of(planned, query), 0);
    return deparse_expression(copy, planned.deparsing, true, false);
}

struct Answer {
    const char* reason;
    const char* advice;
};

Answer answer_of(const Planned& planned, const PlannedQuery* query, const Refusal& refusal) {
    const char* condition = deparsed(planned, query, refusal.condition);
    return {reason_text(refusal, condition), advice_text(refusal, condition)};
}

Answer answer_of(Reason reason) {
    const Refusal refusal = {reason};
    return {reason_text(refusal, nullptr), advice_text(refusal, nullptr)};
}

// Why a node that could have been ours is core's.
Answer answer_by_cost(const Planned& planned, const PlannedJoin& join, const Verdict& verdict,
                      const ExpectedCost& ours) {
    if (ours.total > join.plan->total_cost)
        return {cost_text(join.node, join.plan->total_cost, ours.total), answer_of(Reason::Dearer).advice};
    if (verdict.is_beaten_by_lookups) return answer_of(Reason::Lookups);
    const bool starts_later = planned.plan.has_limit && ours.startup > join.plan->startup_cost;
    return answer_of(starts_later ? Reason::StartsLater : Reason::WholePlan);
}

Answer answer_for(const Planned& planned, const PlannedJoin& join, const PlannedQuery* query,
                  const Verdict& verdict) {
    const ExpectedCost& ours = verdict.cost[join.is_partial];
    const bool is_refused = verdict.refusal.reason == Reason::NotClearlyCheaper && ours.is_known &&
                            ours.total <= join.plan->total_cost;
    if (ours.is_known && !is_refused) return answer_by_cost(planned, join, verdict, ours);
    if (verdict.refusal.reason != Reason::None) return answer_of(planned, query, verdict.refusal);
    return answer_of(Reason::WholePlan);
}

// Up to 16 the planner leaves extensions out of joins with a condition on no table.
Answer answer_of_unasked(const Planned& planned, const PlannedJoin& join) {
    if (kTestsPseudoconstants || !join.gate) return answer_of(Reason::NotAsked);
    const Refusal refusal = {Reason::TablelessCondition};
    const char* condition = deparse_expression(plain_mutator(const_cast<Node*>(join.gate), nullptr),
                                               planned.deparsing, true, false);
    return {reason_text(refusal, condition), advice_text(refusal, condition)};
}

// False for nodes that are no aggregates of the statement: UNION, rows of an IN made unique.
bool find_answer(const Planned& planned, const PlannedJoin& join, Answer* answer) {
    if (join.is_taken) return true;
    const Reason state = !setting_enabled    ? Reason::Disabled
                         : server_is_ready() ? Reason::None
                                             : Reason::NotReady;
    Verdict verdict = {};
    const PlannedQuery* query =
        join.is_aggregate ? find_groups(planned, join, &verdict) : find_join(planned, join, &verdict);
    if (join.is_aggregate && !query && !has_aggregates(join.plan)) return false;
    if (state != Reason::None)
        *answer = answer_of(state);
    else
        *answer = query ? answer_for(planned, join, query, verdict) : answer_of_unasked(planned, join);
    return true;
}

List* names_of(const Planned& planned, const List* entries) {
    List* names = NIL;
    ListCell* cell;
    foreach (cell, entries) {
        void* name = list_nth(planned.names, lfirst_int(cell) - 1);
        if (name) names = lappend(names, name);
    }
    return names;
}

}  // namespace

List* answers_of(const PlannedStmt* statement, const Recorder* record) {
    Planned planned = {statement, record, joins_of(statement), find_places(statement, record), NIL, NIL};
    planned.names = select_rtable_names_for_explain(statement->rtable, planned.plan.used);
    planned.deparsing = deparse_context_for_plan_tree(const_cast<PlannedStmt*>(statement), planned.names);
    List* answers = NIL;
    ListCell* cell;
    foreach (cell, planned.plan.joins) {
        const auto* join = static_cast<const PlannedJoin*>(lfirst(cell));
        Answer found = {};
        if (!find_answer(planned, *join, &found)) continue;
        auto* answer = unset<JoinAnswer>();
        *answer = {join, names_of(planned, join->tables), found.reason, found.advice};
        answers = lappend(answers, answer);
    }
    return answers;
}

}  // namespace gpujoin
