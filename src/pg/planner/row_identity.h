// Row identities of an UPDATE, DELETE or MERGE of a partitioned or inherited table: its leaf relations' ctid,
// tableoid or whole rows, which ModifyTable finds the row by. Above the Append that unites the leaves they
// are Vars of no relation (varno ROWID_VAR), which core passes on from target list to target list. But
// setrefs wants custom_scan_tlist to be evaluable, so there they have to be Vars of a relation: of the first
// leaf, which is what EXPLAIN takes such Vars of core's joins for, too.
//
// The joins above look for the ROWID_VARs, however, in the target list of what they join. Only an Append
// gives a column another name than its input has, by its place: so one with a single child stands above such
// a GPU Join until setrefs removes it.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// The target with row identities as Vars of a leaf; the same target where it has none.
PathTarget* with_leaf_row_identities(PlannerInfo* root, PathTarget* target);

// The same for entries of a target list, in place.
void use_leaf_row_identities(PlannerInfo* root, List* entries);

// The path of a target from with_leaf_row_identities() as one of the relation's own target.
Path* with_row_identities(PlannerInfo* root, Path* path);

}  // namespace gpujoin
