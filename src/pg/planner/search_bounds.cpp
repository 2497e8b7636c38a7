// See search_bounds.h.
#include "pg/planner/search_bounds.h"

#include <algorithm>

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

Cost most_for_joins(const Search& search) {
    return (1 + kSteadier) * search.known + search.above;
}

bool is_too_dear(const PlannerInfo* root, Cost cost) {
    Search* search = search_of(root);
    if (!search || cost <= most_for_joins(*search)) return false;
    search->least_refused = std::min(search->least_refused, cost);
    return true;
}

void note_ours_in_search(const PlannerInfo* root) {
    if (Search* search = search_of(root)) search->has_ours = true;
}

Cost least_saving(const PlannerInfo* root) {
    const Search* search = search_of(root);
    return search ? search->saving : 0;
}

}  // namespace gpujoin
