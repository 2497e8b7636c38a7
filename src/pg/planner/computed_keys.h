// Groups of a table by what is computed of its columns. Core has the scan compute that; where it is computed
// above the scan instead, the scan reads columns off the pages, and what is computed may be kept with them.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

// Others compute something, which is not kept where they do.
bool gives_columns_alone(const Path* path);

struct ComputedKeys {
    Cost cost;         // a row
    bool may_be_kept;  // all have been wanted before
};

// A scan that gives columns, where this one computes keys; nullptr where it does not, or where something
// could not be kept: then it is computed once, by the scan. Keys are noted to be kept.
Path* scan_of_columns(PlannerInfo* root, Path* scan, const List* keys, ComputedKeys* computed);

}  // namespace gpujoin
