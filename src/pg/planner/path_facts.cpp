// See path_facts.h. The same paths are below those of each join relation that contains theirs, so that facts
// are kept: of a relation that is still being made they are not, since its paths come and go.
#include "pg/planner/path_facts.h"

#include "pg/planner/join_path.h"

namespace gpujoin {
namespace {

// The inputs of a path that passes on what it reads; NIL for one that reads a relation itself.
List* inputs_of(const Path* path) {
    switch (nodeTag(path)) {
        case T_NestPath:
        case T_MergePath:
        case T_HashPath: {
            const JoinPath* join = reinterpret_cast<const JoinPath*>(path);
            return list_make2(join->outerjoinpath, join->innerjoinpath);
        }
        case T_CustomPath:
            return reinterpret_cast<const CustomPath*>(path)->custom_paths;
        case T_AppendPath:
            return reinterpret_cast<const AppendPath*>(path)->subpaths;
        case T_MaterialPath:
            return list_make1(reinterpret_cast<const MaterialPath*>(path)->subpath);
        case T_MemoizePath:
            return list_make1(reinterpret_cast<const MemoizePath*>(path)->subpath);
        case T_UniquePath:
            return list_make1(reinterpret_cast<const UniquePath*>(path)->subpath);
        case T_GatherPath:
            return list_make1(reinterpret_cast<const GatherPath*>(path)->subpath);
        case T_GatherMergePath:
            return list_make1(reinterpret_cast<const GatherMergePath*>(path)->subpath);
        case T_SortPath:
            return list_make1(reinterpret_cast<const SortPath*>(path)->subpath);
        case T_ProjectionPath:
            return list_make1(reinterpret_cast<const ProjectionPath*>(path)->subpath);
        default:
            return NIL;
    }
}

bool is_of_one_relation(const Path* path) {
    return bms_membership(path->parent->relids) != BMS_MULTIPLE;
}

PathFacts known_facts(const Path* path, const RelOptInfo* above);

PathFacts find_facts(const Path* path) {
    PathFacts facts = {nullptr, is_gpu_join(path), 0};
    if (is_of_one_relation(path)) {
        if (!PATH_REQ_OUTER(path)) facts.read = path->parent->relids;
        return facts;
    }
    ListCell* cell;
    foreach (cell, inputs_of(path)) {
        add_facts(&facts, known_facts(static_cast<const Path*>(lfirst(cell)), path->parent));
    }
    if (IsA(path, NestPath)) facts.loops += reinterpret_cast<const JoinPath*>(path)->outerjoinpath->rows;
    return facts;
}

// Of an input of a path of `above`.
PathFacts known_facts(const Path* path, const RelOptInfo* above) {
    if (path->parent == above || is_of_one_relation(path)) return find_facts(path);
    const PathFacts* known = noted_facts(path);
    if (known->read) return *known;
    PathFacts found = find_facts(path);
    *noted_facts(path) = found;  // whose place has moved, perhaps
    return found;
}

}  // namespace

void add_facts(PathFacts* facts, const PathFacts& more) {
    facts->read = bms_union(facts->read, more.read);
    facts->has_gpu_join |= more.has_gpu_join;
    facts->loops += more.loops;
}

PathFacts facts_of(const Path* path) {
    return find_facts(path);
}

}  // namespace gpujoin
