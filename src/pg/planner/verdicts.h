// What the planner is asked to remember of a statement for gpujoin_why() and EXPLAIN: for each pair of
// relations, and each grouping, what refused it or what it would cost here. Nothing is remembered, and
// nothing but one pointer tested, while nobody asks.
//
// A recorder belongs to one run of the planner, told by the query that this was given: queries that are
// planned meanwhile, because a function is evaluated, are others. Costs are copied, never paths, which
// add_path() frees.
#pragma once

#include "pg/planner/reasons.h"

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
}

namespace gpujoin {

struct ExpectedCost {
    bool is_known;
    Cost startup;
    Cost total;
};

struct Verdict {
    ExpectedCost cost[2];       // of the cheapest way, serial and as a part of a parallel plan
    Refusal refusal;            // the first one
    bool is_beaten_by_lookups;  // see rivals.h
};

inline void note_refusal(Verdict* verdict, const Refusal& refusal) {
    if (verdict && verdict->refusal.reason == Reason::None) verdict->refusal = refusal;
}
void note_cost(Verdict* verdict, bool is_partial, Cost startup, Cost total);

// A query, or one within it, that is planned. Aliases tell its range table's entries in the plan.
struct PlannedQuery {
    const PlannerInfo* root;
    int size;              // of its range table, which counts from 1
    Alias** alias;         // nullptr: there is no such relation
    int* parent;           // of members of an inheritance tree; 0: there is none
    PlannedQuery* within;  // nullptr: it is not known to be a subquery
    int number_within;     // of the relation that it gives the rows of
};

struct JoinRecord {
    const PlannedQuery* query;
    Relids relids;
    Verdict verdict;
};

struct GroupsRecord {
    const PlannedQuery* query;
    Relids relids;
    int keys;
    int sorted_keys;  // where they are sorted: without what is redundant
    bool has_aggregates;
    Verdict verdict;
};

struct Recorder {
    const Query* query;
    MemoryContext context;
    List* queries;  // of PlannedQuery
    List* joins;    // of JoinRecord
    List* groups;   // of GroupsRecord
};

extern Recorder* recorder;

// What it is for is planned in another form as well.
void record_also(const Query* query, const Query* other);
// Another plan of a statement is known by what was recorded of the first one.
void record_also(const PlannedStmt* statement, PlannedStmt* other);

bool is_recorded(const PlannerInfo* root);
inline bool is_recording(const PlannerInfo* root) {
    return recorder && is_recorded(root);
}

void record_join(PlannerInfo* root, const RelOptInfo* joinrel, const Verdict& verdict);
void record_groups(PlannerInfo* root, const RelOptInfo* input, int keys, int sorted_keys,
                   const Verdict& verdict);

}  // namespace gpujoin
