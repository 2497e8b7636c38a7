// See kept.h. The executor decides by the columns, and by what the visibility map proves
// (executor/kept_source.h).
#include "pg/planner/kept.h"

#include "pg/planner/kept_facts.h"
#include "pg/planner/path_facts.h"
#include "pg/planner/prospects.h"

namespace gpujoin {

namespace {

// One process reads what is kept of each.
double kept_share_of_members(PlannerInfo* root, const AppendPath* path) {
    if (path->path.parallel_workers > 0) return 0;
    double rows = 0;
    double kept = 0;
    ListCell* cell;
    foreach (cell, path->subpaths) {
        const auto* member = strip_projection(static_cast<const Path*>(lfirst(cell)));
        rows += member->parent->tuples;
        kept += member->parent->tuples * kept_share_of(root, member);
    }
    return rows > 0 ? kept / rows : 0;
}

}  // namespace

// These are asked for each pair of relations that a chain may begin with.
double kept_share_of(PlannerInfo* root, const Path* path) {
    return path->pathtype == T_SeqScan ? kept_share_of_rel(root, path->parent) : 0;
}

double kept_share_of_source(PlannerInfo* root, const Path* path) {
    if (IsA(path, AppendPath)) return kept_share_of_members(root, reinterpret_cast<const AppendPath*>(path));
    return kept_share_of(root, path);
}

double kept_share_of_rel(PlannerInfo* root, RelOptInfo* rel) {
    const KeptFacts* facts = kept_facts(root, rel);
    return facts->may_be_kept ? planned_kept_share(root, rel, facts->share) : 0;
}

bool may_be_kept(PlannerInfo* root, RelOptInfo* rel) {
    const KeptFacts* facts = kept_facts(root, rel);
    return facts->may_be_kept && facts->is_tested_by_kept;
}

}  // namespace gpujoin
