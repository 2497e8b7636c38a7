// Correlated subqueries as joins. For each row PostgreSQL runs a subquery again that compares the row with an
// aggregate of those that have the same key,
//
//     WHERE l.quantity < (SELECT 0.2 * avg(quantity) FROM lineitem WHERE lineitem.part = p.part)
//
// which is a join with all keys' aggregates: of (SELECT part, 0.2 * avg(quantity) FROM lineitem GROUP BY
// part). W. Kim, "On Optimizing an SQL-like Nested Query", ACM TODS 7(3), 1982; without its count bug: only
// where the condition is not true for a key without rows. And NOT IN as an antijoin (not_in.h).
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/parsenodes.h"
}

namespace gpujoin {

// A copy of a statement of which such subqueries are joins; nullptr where there is none. It has the same
// rows, and raises no error that the statement does not raise.
Query* decorrelated(const Query* statement);

}  // namespace gpujoin
