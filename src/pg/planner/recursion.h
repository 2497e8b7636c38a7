// Whether a join reads the working table of the recursive term that it is in: the rows of the last iteration,
// often few. Core's Hash Join keeps the other side's hash table over the iterations, and takes microseconds
// for one; with a round trip to the server for each, or if the working table were the build side and a table
// was read again, they would take many times as long. How many iterations there will be nobody knows; so
// these are core's.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pathnodes.h"
}

namespace gpujoin {

bool depends_on_working_table(const PlannerInfo* root, const RelOptInfo* joinrel);

}  // namespace gpujoin
