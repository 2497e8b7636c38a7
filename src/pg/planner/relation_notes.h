// What is noted of a relation, or of a path, while a statement is planned, for as long as it lives.
#pragma once

#include "pg/planner/join_path.h"

namespace gpujoin {

struct CorePaths;
struct KeptFacts;
struct PathsAside;
struct Prospect;
struct UndeclaredKey;

struct RelationNotes {
    const Chain* chains[2];    // the cheapest ones, serial and partial (see chains.h)
    List* pairs;               // JoinPair, that it has been made of so far
    int judged_pairs;          // the first of them, which the next two say something about
    bool wants_core;           // what core's own paths would be is of interest
    bool is_above_loops;       // paths of what it is made of may have nested loops in them
    bool differs;              // has paths that are, or contain, ours
    CorePaths* core;           // those, once they were asked for (see core_paths.h)
    List* found;               // FoundPaths, by a search without ours (see core_paths.cpp)
    List* hash_joins;          // HashJoins, of pairs that gave nested loops (see blind_loops.cpp)
    Cost serial;               // of core's cheapest path so far of one process; 0: none without a GPU Join
    List* foreign;             // copies of paths that core makes but once
    List* lookup_keys;         // LookupKeys, of its paths that look rows up (see lookups.cpp)
    PathsAside* aside;         // of ours that are left out at present (see rivals.h)
    const KeptFacts* kept;     // of a base relation; nullptr: nobody has asked so far (see kept_facts.h)
    const Prospect* prospect;  // of the query that this is a base relation of (see prospects.cpp)
    const UndeclaredKey* undeclared_keys;  // of a base relation (see undeclared_keys.cpp)
    double underestimate;                  // see undeclared_keys.h; 0: nobody has asked so far
    Path* kept_scan;  // a sequential scan, in the place of core's cheapest path; nullptr: not made so far
};

// See path_facts.h.
struct PathFacts {
    Relids read;  // base relations of which it reads all rows, rather than look some up for rows of others
    bool has_gpu_join;
    bool gathers;  // rows of several processes
    double loops;  // how often inner sides of nested loops are expected to run
    Cost looping;  // what that costs where a GPU Join's rows drive them, if there are not too few of these
    double vague_rows;  // of an input of a join with several conditions, whose results are hard to estimate
};

// nullptr: nothing is noted.
RelationNotes* find_notes(const RelOptInfo* rel);
// Empty ones where there are none.
RelationNotes* make_notes(RelOptInfo* rel);
// Empty ones where nothing is known of the path yet.
PathFacts* noted_facts(const Path* path);

}  // namespace gpujoin
