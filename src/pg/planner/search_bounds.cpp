// See search_bounds.h.
#include "pg/planner/search_bounds.h"

namespace gpujoin {
namespace {

// What a steadier plan than the cheapest may cost more (rivals.cpp).
constexpr double kSteadier = 0.25;

Search* current;

Search* search_of(const PlannerInfo* root) {
    Search* search = current;
    while (search && search->root != root) search = search->around;
    return search;
}

}  // namespace

void begin_search(Search* search) {
    search->around = current;
    current = search;
}

void end_search(const Search& search) {
    current = search.around;
}

SearchMode search_mode(const PlannerInfo* root) {
    const Search* search = search_of(root);
    return search ? search->mode : SearchMode::Careful;
}

bool is_too_dear(const PlannerInfo* root, Cost cost) {
    const Search* search = search_of(root);
    return search && cost > (1 + kSteadier) * search->known + search->above;
}

RelOptInfo* found_by_core(PlannerInfo* root, Relids relids) {
    Search* search = search_of(root);
    return search && search->core.list != NIL ? find_join_relation(root, &search->core, relids) : nullptr;
}

Cost least_saving(const PlannerInfo* root) {
    const Search* search = search_of(root);
    return search ? search->saving : 0;
}

}  // namespace gpujoin
