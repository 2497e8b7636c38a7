// Columns that a scan wants kept, as requests to the keeper name them, and as it finds them again.
#pragma once

#include "pg/executor/kept_columns.h"
#include "pg/keep_requests.h"

namespace gpujoin {

// In the current memory context.
KeepRequest* request_columns(Relation relation, const KeptColumns* columns);

// False where the table is not as it was when it was asked.
bool find_requested(const KeepRequest* request, Relation relation, KeptColumns* columns);

}  // namespace gpujoin
