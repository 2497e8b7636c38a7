// KeptConditions: those of a scan, for the server: the kept columns that they are on, and their constants as
// each run has them.
#pragma once

#include <span>

#include "pg/executor/kept_columns.h"

extern "C" {
#include "nodes/execnodes.h"
}

namespace gpujoin {

struct KeptConditions;

// Adds the columns that are tested to the others; nullptr where the server cannot test them all. Allocates in
// the current memory context, and is valid as long as the scan's node and the relation.
KeptConditions* make_kept_conditions(PlanState* scan, Relation relation, KeptColumns* columns);

// The server gets all conditions at once. Core asks for a constant, which may be a subquery's result, when
// the conditions before have left a row: only that of the first is sure to be asked for.
bool may_ask_for_constants(const KeptConditions* conditions, const EState* estate);
void ask_for_constants(KeptConditions* conditions);

// As they were asked for last.
std::span<const KeptCondition> known_conditions(const KeptConditions* conditions);

}  // namespace gpujoin
