// Plans of core alone. PostgreSQL makes what is above a relation of its cheapest path. Where that is a GPU
// Join, it hides what core would have made of its own, such as a subquery that a worker may run as a whole;
// and if a third way turns out to be the cheapest, nothing of ours is left in the plan, nor the best of
// core's. So a statement whose plan has no node of ours, though we had to do with it, is planned a second
// time as if we had not. So is one whose plan has nodes of ours and an Append, and takes long: they may cost
// less than core's, and keep in one process what core would hand out to several, part by part.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
}

namespace gpujoin {

enum class LeftOut : uint8 {
    Nothing,
    OurPaths,
    Everything,  // loops are not replaced either
};

// On the plan of a statement.
struct Influence {
    LeftOut left_out;
    bool is_felt;  // a relation has paths that it would not have without us
};

// On what is planned from now on; gives what it was before.
Influence set_influence(Influence influence);
LeftOut left_out();
void note_influence();
void forget_influence();
bool is_influence_felt();

// add_path() and add_partial_path() for paths of ours, or made of them.
void add_our_path(RelOptInfo* rel, Path* path);
void add_our_partial_path(RelOptInfo* rel, Path* path);

// Whether core's own plan of a statement may be another one than the plan without our nodes: of more than one
// table, or of groups.
bool may_be_influenced(const Query* query);
// Whether it is worth knowing core's own plan of a statement that has been planned with us. Not where others'
// nodes are in the plan; to plan foreign scans again may take asking a foreign server.
bool may_be_worse(const PlannedStmt* statement);
// Whether core's own plan is to be taken in the other one's place: it costs no more; or, if that has nodes of
// ours, clearly less and hands out parts of an Append, which the other one does not. Else costs are not
// compared: ours are charged for what core's are not.
bool is_better(const PlannedStmt* core, const PlannedStmt* other);

}  // namespace gpujoin
