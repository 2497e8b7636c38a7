// See forced_paths.h.
#include "pg/planner/forced_paths.h"

#include "pg/allocate.h"
#include "pg/planner/path_copy.h"

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

}  // namespace

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
    bool any = forced->paths != NIL;
    joinrel->pathlist = any ? copies(forced->paths) : forced->core_paths;
    joinrel->partial_pathlist = any ? copies(forced->partial_paths) : forced->core_partial_paths;
}

}  // namespace gpujoin
