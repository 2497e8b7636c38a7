// Copies of paths: whoever adds a path to a relation may find it freed, when a better one comes.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// What is below is shared: paths are freed one by one. nullptr: of a size that is not known here.
Path* copy_of(const Path* path);
bool is_copied(const Path* path);

bool is_copy_of(const Path* copy, const Path* path);

}  // namespace gpujoin
