// The joins and aggregates of a statement that has been planned, for gpujoin_why(), and its nodes.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/plannodes.h"
}

namespace gpujoin {

struct PlannedJoin {
    const Plan* plan;   // the node that does it
    const char* kind;   // "Left Join", "Aggregate"
    const char* node;   // "Hash Join", "GPU Join 1, stage 2"
    bool is_taken;      // by a node of ours
    bool is_aggregate;  // of what is outer
    bool is_partial;    // each process of a parallel plan does a part of it
    Bitmapset* outer;   // range table entries that are read below, by their numbers in the statement's table
    Bitmapset* inner;
    const Node* gate;  // a condition on no table that is tested above it; nullptr: there is none
    List* tables;      // of int: those of both sides that EXPLAIN would name them by
};

struct PlannedJoins {
    List* joins;      // of PlannedJoin, from the top, as EXPLAIN has them
    Bitmapset* used;  // range table entries of the whole plan
    bool has_limit;
};

// The plans below a node, but for those of its expressions.
List* children_of(const Plan* plan);

// Whether a node of a statement's plan, or of one of its subplans, is so.
bool has_node(const PlannedStmt* statement, bool (*is_so)(const Plan*));

// Whatever it does.
bool is_node_of_ours(const Plan* plan);

PlannedJoins joins_of(const PlannedStmt* statement);

}  // namespace gpujoin
