// What a path reads: the paths below it.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// Visits the inputs of a path that passes on what it reads; none for one that reads a relation itself.
template <typename Visit>
void visit_inputs(const Path* path, Visit visit) {
    const auto visit_all = [&](const List* inputs) {
        ListCell* cell;
        foreach (cell, inputs) visit(static_cast<const Path*>(lfirst(cell)));
    };
    switch (nodeTag(path)) {
        case T_NestPath:
        case T_MergePath:
        case T_HashPath:
            visit(reinterpret_cast<const JoinPath*>(path)->outerjoinpath);
            return visit(reinterpret_cast<const JoinPath*>(path)->innerjoinpath);
        case T_CustomPath:
            return visit_all(reinterpret_cast<const CustomPath*>(path)->custom_paths);
        case T_AppendPath:
            return visit_all(reinterpret_cast<const AppendPath*>(path)->subpaths);
        case T_MergeAppendPath:
            return visit_all(reinterpret_cast<const MergeAppendPath*>(path)->subpaths);
        case T_MaterialPath:
            return visit(reinterpret_cast<const MaterialPath*>(path)->subpath);
        case T_MemoizePath:
            return visit(reinterpret_cast<const MemoizePath*>(path)->subpath);
        case T_UniquePath:
            return visit(reinterpret_cast<const UniquePath*>(path)->subpath);
        case T_GatherPath:
            return visit(reinterpret_cast<const GatherPath*>(path)->subpath);
        case T_GatherMergePath:
            return visit(reinterpret_cast<const GatherMergePath*>(path)->subpath);
        case T_SortPath:
            return visit(reinterpret_cast<const SortPath*>(path)->subpath);
        case T_IncrementalSortPath:
            return visit(reinterpret_cast<const IncrementalSortPath*>(path)->spath.subpath);
        case T_AggPath:
            return visit(reinterpret_cast<const AggPath*>(path)->subpath);
        case T_GroupPath:
            return visit(reinterpret_cast<const GroupPath*>(path)->subpath);
        case T_UpperUniquePath:
            return visit(reinterpret_cast<const UpperUniquePath*>(path)->subpath);
        case T_ProjectionPath:
            return visit(reinterpret_cast<const ProjectionPath*>(path)->subpath);
        default:
            return;
    }
}

}  // namespace gpujoin
