// Subqueries that are an aggregate of the rows whose columns equal those of the query around them, and so
// could be grouped by these columns.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/parsenodes.h"
}

namespace gpujoin {

// inner = outer, both plain columns.
struct Correlation {
    OpExpr* comparison;
    Node* inner;
    Node* outer;
    Oid equality;  // by which inner values are grouped
    Oid order;
    bool is_hashable;
};

struct Subquery {
    Query* query;  // as it is to be joined
    List* correlations;
    Node* result;  // of the subquery
};

bool is_plain_table(const RangeTblEntry* entry);
// Whether a subquery is a SELECT of one column with nothing but FROM and WHERE, and perhaps aggregates and an
// order.
bool has_plain_shape(const Query* query);
// Whether it reads nothing but such tables; and materialized common table expressions of the query around it,
// unless outer is nullptr.
bool reads_tables_alone(const Query* query, const Query* outer);
// Whether all that is in FROM are relations and joins, whose own conditions are harmless and refer to no
// query further out.
bool lists_plain_joins(const FromExpr* from);

// Whether a SubLink of the query is one, and of what it is made: a copy.
bool find_subquery(const SubLink* link, const Query* outer, Subquery* subquery);

}  // namespace gpujoin
