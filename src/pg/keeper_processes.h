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

// How many helpers a keeper may have: gpujoin.keep_workers, or a quarter of the processors, and of the
// processes that PostgreSQL may have beside sessions.
int most_helpers();

}  // namespace gpujoin
