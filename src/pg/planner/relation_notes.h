// What is noted of a relation, or of a path, while a statement is planned, for as long as it lives.
#pragma once

#include "pg/planner/join_path.h"

namespace gpujoin {

struct CorePaths;
struct PathsAside;

struct RelationNotes {
    const Chain* chains[2];  // the cheapest ones, serial and partial (see chains.h)
    CorePaths* core;         // as it would be without ours, where that may differ (see core_paths.h)
    List* differing;         // of a base relation: Relids of join relations with such paths
    PathsAside* aside;       // of ours that are left out at present (see rivals.h)
    bool knows_kept;         // of a base relation: whether it was asked for
    double kept_share;       // what came of it (see kept.h)
};

// See path_facts.h.
struct PathFacts {
    Relids read;  // base relations of which it reads all rows, rather than look some up for rows of others
    bool has_gpu_join;
    double loops;  // how often inner sides of nested loops are expected to run
};

// nullptr: nothing is noted. Until notes are made of another relation.
RelationNotes* find_notes(const RelOptInfo* rel);
// Empty ones where there are none.
RelationNotes* make_notes(RelOptInfo* rel);
// Empty ones where nothing is known of the path yet.
PathFacts* noted_facts(const Path* path);

}  // namespace gpujoin
