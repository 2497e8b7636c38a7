// See path_copy.h.
#include "pg/planner/path_copy.h"

#include <cstring>

#include "pg/allocate.h"
#include "pg/planner/join_path.h"

namespace gpujoin {
namespace {

// 0: not known here.
Size size_of(const Path* path) {
    if (is_gpu_join(path)) return sizeof(GpuJoinPath);
    switch (nodeTag(path)) {
        case T_NestPath:
            return sizeof(NestPath);
        case T_MergePath:
            return sizeof(MergePath);
        case T_HashPath:
            return sizeof(HashPath);
        case T_AppendPath:
            return sizeof(AppendPath);
        case T_ForeignPath:
            return sizeof(ForeignPath);
        default:
            return 0;
    }
}

}  // namespace

bool is_copied(const Path* path) {
    return size_of(path) > 0;
}

Path* copy_of(const Path* path) {
    const Size size = size_of(path);
    return size > 0 ? static_cast<Path*>(memcpy(unset<char>(size), path, size)) : nullptr;
}

bool is_copy_of(const Path* copy, const Path* path) {
    const Size size = size_of(path);
    return size > 0 && size == size_of(copy) && memcmp(copy, path, size) == 0;
}

}  // namespace gpujoin
