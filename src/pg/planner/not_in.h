// NOT IN as an antijoin. PostgreSQL joins NOT EXISTS, but looks each row of
//
//     WHERE x NOT IN (SELECT y FROM ...)
//
// up in all of the subquery's, in a hash table or one by one, since one that is NULL would mean that no row
// is to come. Where neither x nor y can be NULL that is WHERE NOT EXISTS (SELECT FROM ... WHERE x = y).
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/parsenodes.h"
}

namespace gpujoin {

bool is_not_in(Node* node);
// Such a condition as NOT EXISTS; nullptr: it is none, or has to stay. It is one of the query's WHERE.
// Queries are as the rewriter leaves them, and the statement's conditions are harmless (surroundings.h).
Node* as_not_exists(const Query* query, Node* condition);

}  // namespace gpujoin
