// The processes that keep columns of tables, and how many there are: one for each database that is asked for
// any, the keeper, and helpers where the machine has processors to spare.
#pragma once

extern "C" {
#include "postgres.h"
}

namespace gpujoin {

// Have one come that is connected to the database. False where there is no room for it.
bool start_keeper(Oid database);
bool start_helper(Oid database);

// How many helpers may share so many chunks of a table with a keeper: as many as gpujoin.keep_workers says
// with it, or half of the processors, and a quarter of the processes that PostgreSQL may have beside
// sessions.
int most_helpers(uint32 chunks);

}  // namespace gpujoin
