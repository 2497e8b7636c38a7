// Expressions over one table whose values may be kept in place of the columns that they are computed of: they
// are evaluated for rows that no query asks for, and their values are used by other queries, transactions and
// users.
#pragma once

#include "wire/kept.h"

extern "C" {
#include "postgres.h"
#include "nodes/nodes.h"
}

namespace gpujoin {

// Whether an expression gives the same value for a row always, for whoever asks, and neither fails nor does
// anything else: built-in immutable functions of plain columns and constants.
bool may_keep_expression(Node* expression);

// The expression with all its columns as those of an outer row, and without what differs from query to query.
Node* canonical_expression(Node* expression);

// A text that is the same for the same canonical expressions only. To be freed.
char* text_of_expression(Node* canonical);

// What kept_tables.h knows an expression by that is canonical, over a table.
uint64 hash_of_expression(const ChunkKey& table, Node* canonical);

}  // namespace gpujoin
