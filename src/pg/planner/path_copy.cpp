// See path_copy.h.
#include "pg/planner/path_copy.h"

#include "pg/allocate.h"
#include "pg/planner/join_path.h"

namespace gpujoin {
namespace {

template <typename PathType>
Path* copy_as(const Path* path) {
    auto* copy = unset<PathType>();
    *copy = *reinterpret_cast<const PathType*>(path);
    return reinterpret_cast<Path*>(copy);
}

}  // namespace

bool is_copied(const Path* path) {
    return is_gpu_join(path) || IsA(path, NestPath) || IsA(path, MergePath) || IsA(path, HashPath) ||
           IsA(path, AppendPath) || IsA(path, ForeignPath);
}

Path* copy_of(const Path* path) {
    if (is_gpu_join(path)) return copy_as<GpuJoinPath>(path);
    switch (nodeTag(path)) {
        case T_NestPath:
            return copy_as<NestPath>(path);
        case T_MergePath:
            return copy_as<MergePath>(path);
        case T_HashPath:
            return copy_as<HashPath>(path);
        case T_AppendPath:
            return copy_as<AppendPath>(path);
        case T_ForeignPath:
            return copy_as<ForeignPath>(path);
        default:
            return nullptr;
    }
}

}  // namespace gpujoin
