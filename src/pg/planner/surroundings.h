// What is around a subquery that becomes a join. Rows that its condition has left out before may then come to
// conditions on several relations, to results of queries in FROM, and to other subqueries. Most queries in
// FROM, EXISTS and IN become joins of the query around them, and their conditions its own.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/parsenodes.h"
}

namespace gpujoin {

// A query, and the one that it is in; nullptr: the statement.
struct Level {
    const Query* query;
    const Level* outer;
    mutable int8 known = -1;  // is_harmless_around(); -1: not known yet
};

// Whether nothing in the query, nor in those that it may become a part of, raises an error that it does not
// raise now, whatever rows come to it.
bool is_harmless_around(const Level* level);
// Whether no condition of the statement's WHERE and ON, at any level, raises an error or has side effects,
// whatever rows come to it: subqueries that give a value may have more than one, and count as such. Then it
// does not matter either which of a relation's conditions is tested first.
bool has_harmless_conditions(const Query* statement);
// A common table expression of the query becomes a part of the one that reads it, which may be further
// within.
bool is_read_elsewhere(const CommonTableExpr* table, const Query* query);

}  // namespace gpujoin
