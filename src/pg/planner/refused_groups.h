// Why groups cannot be made in the engine, or what in them: asked for gpujoin_why(), once groups.cpp has
// given up. Each does nothing without a verdict.
#pragma once

#include "pg/planner/verdicts.h"

namespace gpujoin {

void refuse_few_rows(Verdict* verdict, double rows);
// The aggregate, of all that these lists have, of which core itself makes no partial states.
void refuse_aggregates(Verdict* verdict, List* target, Node* having);
// A key, by the operator that it is grouped by.
void refuse_key(Verdict* verdict, Oid equality, const Node* key);
// Something else that groups have.
void refuse_entry(Verdict* verdict, const Node* entry, Reason reason);
// What the aggregates among these compute of.
void refuse_values(Verdict* verdict, const List* entries);

}  // namespace gpujoin
