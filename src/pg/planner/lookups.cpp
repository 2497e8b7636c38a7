// Core takes a range between two columns to be true for a third of all pairs, and BETWEEN for a
// ninth. So each lookup of a band in an index of a million rows is charged for 100,000 of them, where it
// finds a handful, and no nested loop ever wins against a GPU Join by cost. But where few rows look up a
// large table, the loop is faster: it does not read that table at all. Whoever made an index for a range is
// taken to find kLookupFanout rows in it at a time; then it is compared with what a GPU Join takes without
// the results, which both have to give.
#include "pg/planner/lookups.h"

#include <algorithm>

#include "pg/compat.h"
#include "pg/planner/relation_notes.h"

extern "C" {
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "utils/memutils.h"
}

namespace gpujoin {
namespace {

constexpr double kLookupFanout = 8;

// One lookup of a range by a path whose parameters come from the outer side alone.
Cost range_lookup_cost(const Path* path) {
    double found = std::min(1.0, kLookupFanout / path->rows);
    return path->startup_cost + (path->total_cost - path->startup_cost) * found;
}

}  // namespace

bool is_beaten_by_lookups(const JoinEstimate* estimate, const RelOptInfo* outer, const RelOptInfo* inner) {
    Cost without_results =
        estimate->total_cost - estimate->terms.cost[kExpansionTerm] - estimate->terms.cost[kEmissionTerm];
    const Path* outer_path = outer->cheapest_total_path;
    ListCell* cell;
    foreach (cell, inner->pathlist) {
        const Path* path = static_cast<Path*>(lfirst(cell));
        const Bitmapset* parameters = PATH_REQ_OUTER(path);
        if (bms_is_empty(parameters) || !bms_is_subset(parameters, outer->relids)) continue;
        if (outer_path->total_cost + outer_path->rows * range_lookup_cost(path) < without_results)
            return true;
    }
    return false;
}

}  // namespace gpujoin
