// Foreign keys that nobody declared. PostgreSQL multiplies the selectivities of a join's conditions, unless a
// declared foreign key says that they belong together: lines ⋈ offers on (part, supplier), the key of offers,
// are expected to be one row in a thousand of the lines, or in a million, where each line finds its offer.
// The number of rows stays PostgreSQL's in paths; costs of ours are for so many as come if it was a foreign
// key.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// Notes of a join relation by what factor its rows are more than expected, when the first pair of relations
// that it is made of is planned.
void note_undeclared_keys(PlannerInfo* root, RelOptInfo* joinrel);

// That factor, at least 1; 1 where nothing was noted.
double underestimate_of(const RelOptInfo* rel);

// The rows of a path, as many as are likely.
double likely_rows(const Path* path);

}  // namespace gpujoin
