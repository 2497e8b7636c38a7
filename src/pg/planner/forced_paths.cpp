// See forced_paths.h.
#include "pg/planner/forced_paths.h"

#include <algorithm>
#include <limits>

#include "pg/allocate.h"
#include "pg/planner/path_copy.h"
#include "pg/planner/path_facts.h"

extern "C" {
#include "utils/memutils.h"
}

namespace gpujoin {

// What is kept aside of one relation, in a list of all of them; for as long as the relation's memory context.
struct ForcedPaths {
    RelOptInfo* joinrel;
    List* paths;  // ours
    List* partial_paths;
    List* core_paths;  // of the relation, while ours are in it
    List* core_partial_paths;
    ForcedPaths* next;
    MemoryContextCallback forget;
};

namespace {

// By how many times a path of ours may be dearer than one of core's that has a GPU Join below: beyond that,
// its inputs have been multiplied with each other.
constexpr double kMuchDearer = 1000;

ForcedPaths* all_forced = nullptr;

void forget(void* argument) {
    ForcedPaths** place = &all_forced;
    while (*place != argument) place = &(*place)->next;
    *place = (*place)->next;
}

ForcedPaths* remember(RelOptInfo* joinrel) {
    MemoryContext context = GetMemoryChunkContext(joinrel);
    auto* forced = zeroed_in<ForcedPaths>(context);
    forced->joinrel = joinrel;
    forced->next = all_forced;
    all_forced = forced;
    forced->forget = {forget, forced, nullptr};
    MemoryContextRegisterResetCallback(context, &forced->forget);
    return forced;
}

ForcedPaths* find(const RelOptInfo* joinrel) {
    ForcedPaths* forced = all_forced;
    while (forced && forced->joinrel != joinrel) forced = forced->next;
    return forced;
}

// The originals must not be freed.
List* copies(const List* paths) {
    List* result = NIL;
    ListCell* cell;
    foreach (cell, paths) result = lappend(result, copy_of(static_cast<const Path*>(lfirst(cell))));
    return result;
}

// That need no outer rows.
List* with_gpu_join(const List* paths) {
    List* result = NIL;
    ListCell* cell;
    foreach (cell, paths) {
        auto* path = static_cast<Path*>(lfirst(cell));
        if (!PATH_REQ_OUTER(path) && has_gpu_join(path)) result = lappend(result, path);
    }
    return result;
}

// Infinite: there are none.
Cost least_cost(const List* paths) {
    Cost least = std::numeric_limits<Cost>::infinity();
    ListCell* cell;
    foreach (cell, paths) least = std::min(least, static_cast<const Path*>(lfirst(cell))->total_cost);
    return least;
}

}  // namespace

bool is_far_dearer(Cost cost, const List* paths) {
    return cost > kMuchDearer * least_cost(with_gpu_join(paths));
}

ForcedPaths* take_forced_paths(RelOptInfo* joinrel) {
    ForcedPaths* forced = find(joinrel);
    if (!forced) forced = remember(joinrel);
    forced->core_paths = joinrel->pathlist;
    forced->core_partial_paths = joinrel->partial_pathlist;
    joinrel->pathlist = forced->paths;
    joinrel->partial_pathlist = forced->partial_paths;
    return forced;
}

void keep_forced_paths(ForcedPaths* forced) {
    RelOptInfo* joinrel = forced->joinrel;
    forced->paths = joinrel->pathlist;
    forced->partial_paths = joinrel->partial_pathlist;
    if (forced->paths == NIL) {
        joinrel->pathlist = forced->core_paths;
        joinrel->partial_pathlist = forced->core_partial_paths;
    } else if (is_far_dearer(least_cost(forced->paths), forced->core_paths)) {
        joinrel->pathlist = with_gpu_join(forced->core_paths);
        joinrel->partial_pathlist = with_gpu_join(forced->core_partial_paths);
    } else {
        joinrel->pathlist = copies(forced->paths);
        joinrel->partial_pathlist = copies(forced->partial_paths);
    }
}

}  // namespace gpujoin
