// Which columns it would be worth to keep for a query. A plan of ours may be far cheaper once columns are
// kept, yet be dearer than core's until then: it would never be taken, and nothing would ever be kept. So the
// time is added up that runs of a query take which reads what could be kept. When that has come to a quarter
// of the time that it would take to keep it, with as many processes as would, the query is planned once as if
// it were kept, and if a plan that uses it is the cheapest, it is kept. That is the old rule of whether to
// rent or to buy: whatever comes afterwards, what is spent is little more than the least that would have
// done. If nothing came of it, or what was kept has gone, it takes twice as much until the next time.
//
// Estimates may be wrong: a plan that reads much because that is cheap may turn out to be slower than the one
// before. Then the query is planned as if nothing were kept, for some runs.
//
// A query, or a subquery that is planned by itself, is known by the tables and columns that it reads:
// constants and the order of its joins make no difference.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// The share of a base relation's rows that its query is planned with as kept, where `share` is.
double planned_kept_share(PlannerInfo* root, RelOptInfo* rel, double share);

// Whether the statement that is planned next is shown only, and not run; gives what was said before.
bool set_only_explained(bool is_only_explained);

}  // namespace gpujoin
