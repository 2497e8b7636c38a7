// See verdicts.h.
#include "pg/planner/verdicts.h"

#include "pg/allocate.h"
#include "pg/compat.h"

namespace gpujoin {

Recorder* recorder = nullptr;

void record_also(const Query* query, const Query* other) {
    if (recorder && recorder->query == query) recorder->query = other;
}

namespace {

bool are_alike(const RangeTblEntry* entry, const RangeTblEntry* other) {
    return entry->rtekind == other->rtekind && entry->relid == other->relid &&
           equal(entry->eref, other->eref);
}

// The entry is the number-th of its own range table. Of several that are alike, the one at its place.
Alias* known_alias(const List* rtable, const RangeTblEntry* entry, int number) {
    Alias* found = nullptr;
    ListCell* cell;
    foreach (cell, rtable) {
        const auto* known = lfirst_node(RangeTblEntry, cell);
        if (!are_alike(known, entry)) continue;
        if (!found || foreach_current_index(cell) == number) found = known->eref;
    }
    return found;
}

PlannedQuery* known_query(const PlannerInfo* root) {
    ListCell* cell;
    foreach (cell, recorder->queries) {
        auto* query = static_cast<PlannedQuery*>(lfirst(cell));
        if (query->root == root) return query;
    }
    return nullptr;
}

void note_members(const PlannerInfo* root, PlannedQuery* query) {
    query->size = root->simple_rel_array_size;
    query->alias = zeroed<Alias*>(query->size);
    query->parent = zeroed<int>(query->size);
    for (int number = 1; number < query->size; number++) {
        if (root->simple_rte_array[number]) query->alias[number] = root->simple_rte_array[number]->eref;
        const AppendRelInfo* member = root->append_rel_array ? root->append_rel_array[number] : nullptr;
        if (member) query->parent[number] = static_cast<int>(member->parent_relid);
    }
}

PlannedQuery* find_or_add_query(const PlannerInfo* root);

// By the time that a query's relations are joined, those within have been planned.
void note_subqueries(const PlannerInfo* root, PlannedQuery* query) {
    for (int number = 1; number < query->size; number++) {
        const RelOptInfo* rel = root->simple_rel_array[number];
        if (!rel || !rel->subroot) continue;
        PlannedQuery* subquery = find_or_add_query(rel->subroot);
        subquery->within = query;
        subquery->number_within = number;
    }
}

PlannedQuery* find_or_add_query(const PlannerInfo* root) {
    if (PlannedQuery* query = known_query(root)) return query;
    auto* query = zeroed<PlannedQuery>();
    query->root = root;
    recorder->queries = lappend(recorder->queries, query);
    note_members(root, query);
    note_subqueries(root, query);
    return query;
}

Verdict kept(const Verdict& verdict) {
    Verdict copy = verdict;
    copy.refusal.condition = static_cast<const Node*>(copyObjectImpl(verdict.refusal.condition));
    if (verdict.refusal.subject) copy.refusal.subject = pstrdup(verdict.refusal.subject);
    return copy;
}

}  // namespace

// Both have the same relations, those of subqueries in the order in which the plan reads them.
void record_also(const PlannedStmt* statement, PlannedStmt* other) {
    if (!recorder) return;
    ListCell* cell;
    foreach (cell, other->rtable) {
        auto* entry = lfirst_node(RangeTblEntry, cell);
        if (Alias* known = known_alias(statement->rtable, entry, foreach_current_index(cell)))
            entry->eref = known;
    }
}

void note_cost(Verdict* verdict, bool is_partial, Cost startup, Cost total) {
    ExpectedCost* cost = &verdict->cost[is_partial];
    if (!cost->is_known || total < cost->total) *cost = {true, startup, total};
}

bool is_recorded(const PlannerInfo* root) {
    while (root->parent_root) root = root->parent_root;
    return root->parse == recorder->query;
}

void record_join(PlannerInfo* root, const RelOptInfo* joinrel, const Verdict& verdict) {
    MemoryContext before = MemoryContextSwitchTo(recorder->context);
    auto* record = unset<JoinRecord>();
    *record = {find_or_add_query(root), without_outer_joins(root, bms_copy(joinrel->relids)), kept(verdict)};
    recorder->joins = lappend(recorder->joins, record);
    MemoryContextSwitchTo(before);
}

void record_groups(PlannerInfo* root, const RelOptInfo* input, int keys, int sorted_keys,
                   const Verdict& verdict) {
    MemoryContext before = MemoryContextSwitchTo(recorder->context);
    auto* record = unset<GroupsRecord>();
    *record = {find_or_add_query(root),
               without_outer_joins(root, bms_copy(input->relids)),
               keys,
               sorted_keys,
               root->parse->hasAggs,
               kept(verdict)};
    recorder->groups = lappend(recorder->groups, record);
    MemoryContextSwitchTo(before);
}

}  // namespace gpujoin
