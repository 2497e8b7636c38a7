// See kept.h. The executor decides by the columns, and by what the visibility map proves
// (executor/kept_source.h).
#include "pg/planner/kept.h"

#include "pg/planner/kept_facts.h"
#include "pg/planner/prospects.h"

namespace gpujoin {

// These are asked for each pair of relations that a chain may begin with.
double kept_share_of(PlannerInfo* root, const Path* path) {
    return path->pathtype == T_SeqScan ? kept_share_of_rel(root, path->parent) : 0;
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
