// What is noted of a relation while a statement is planned, for as long as the relation lives.
#pragma once

#include "pg/planner/join_path.h"

namespace gpujoin {

struct RelationNotes {
    const Chain* chains[2];  // the cheapest ones, serial and partial (see chains.h)
    bool has_lookups;
    Relids lookups;  // tables that core would look up (see lookups.h), where it is known
};

// nullptr: nothing is noted. Until notes are made of another relation.
RelationNotes* find_notes(const RelOptInfo* rel);
// Empty ones where there are none.
RelationNotes* make_notes(RelOptInfo* rel);

}  // namespace gpujoin
