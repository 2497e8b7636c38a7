// See undeclared_keys.h.
//
// A unique index whose columns are all equated to columns of one other table is taken for what a foreign key
// of that table refers to: a pair of their rows then belongs together with the probability of 1 in the rows
// of the table that has the index, whatever other columns are equated. PostgreSQL expects 1 in the product of
// the numbers of distinct values (eqjoinsel). Where both tables have such an index, the larger one is
// referred to. Not where the two are on different sides of an outer join or semijoin, whose rows are
// estimated in other ways.
#include "pg/planner/undeclared_keys.h"

#include <algorithm>

#include "pg/allocate.h"
#include "pg/planner/relation_notes.h"

extern "C" {
#include "access/transam.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"
}

namespace gpujoin {

// Of a table with a unique index.
struct UndeclaredKey {
    int referencing;  // the other table
    double factor;
    UndeclaredKey* next;
};

namespace {

// Less is within what estimates are wrong by anyhow.
constexpr double kLeastFactor = 4;

// What one table has to do with another.
struct TablePair {
    PlannerInfo* root;
    const RelOptInfo* unique;
    const RelOptInfo* referencing;
};

// The column of a table among the members; nullptr: there is none.
Var* column_among(const EquivalenceClass* members, const RelOptInfo* table) {
    ListCell* cell;
    foreach (cell, members->ec_members) {
        const auto* member = lfirst_node(EquivalenceMember, cell);
        if (member->em_is_const || !bms_equal(member->em_relids, table->relids)) continue;
        Expr* expression = member->em_expr;
        while (expression && IsA(expression, RelabelType))
            expression = reinterpret_cast<RelabelType*>(expression)->arg;
        if (expression && IsA(expression, Var)) return reinterpret_cast<Var*>(expression);
    }
    return nullptr;
}

double distinct_values(PlannerInfo* root, Var* column) {
    VariableStatData statistics;
    bool is_default;
    examine_variable(root, reinterpret_cast<Node*>(column), 0, &statistics);
    const double count = get_variable_numdistinct(&statistics, &is_default);
    ReleaseVariableStats(statistics);
    return std::max(count, 1.0);
}

// The columns of the first table that are equated to columns of the second one. pairs: one over what
// PostgreSQL takes the equalities' selectivity to be.
Bitmapset* equated_columns(const TablePair& tables, double* pairs) {
    Bitmapset* columns = nullptr;
    *pairs = 1;
    ListCell* cell;
    foreach (cell, tables.root->eq_classes) {
        const auto* members = lfirst_node(EquivalenceClass, cell);
        if (members->ec_has_const || members->ec_has_volatile) continue;
        Var* column = column_among(members, tables.unique);
        Var* other = column ? column_among(members, tables.referencing) : nullptr;
        if (!other || column->varattno <= 0) continue;
        columns = bms_add_member(columns, column->varattno);
        *pairs *= std::max(distinct_values(tables.root, column), distinct_values(tables.root, other));
    }
    return columns;
}

bool has_unique_index(const RelOptInfo* table, const Bitmapset* columns) {
    ListCell* cell;
    foreach (cell, table->indexlist) {
        const auto* index = lfirst_node(IndexOptInfo, cell);
        if (!index->unique || index->indpred != NIL || index->nkeycolumns < 2) continue;
        bool has_all = true;
        for (int i = 0; i < index->nkeycolumns; i++) {
            const int column = index->indexkeys[i];
            has_all = has_all && column > 0 && bms_is_member(column, columns);
        }
        if (has_all) return true;
    }
    return false;
}

bool is_declared(const TablePair& tables) {
    ListCell* cell;
    foreach (cell, tables.root->fkey_list) {
        const auto* key = lfirst_node(ForeignKeyOptInfo, cell);
        const bool is_of_these =
            key->con_relid == tables.referencing->relid && key->ref_relid == tables.unique->relid;
        if (is_of_these) return true;
    }
    return false;
}

bool are_apart(const TablePair& tables) {
    ListCell* cell;
    foreach (cell, tables.root->join_info_list) {
        const Relids right = lfirst_node(SpecialJoinInfo, cell)->syn_righthand;
        if (bms_is_member(tables.unique->relid, right) != bms_is_member(tables.referencing->relid, right))
            return true;
    }
    return false;
}

bool is_table(const RelOptInfo* rel) {
    return rel && rel->reloptkind == RELOPT_BASEREL;
}

// By what factor rows are underestimated if the one table refers to the other; 0: it does not.
double factor_of(const TablePair& tables) {
    double pairs;
    const Bitmapset* columns = equated_columns(tables, &pairs);
    if (bms_num_members(columns) < 2 || !has_unique_index(tables.unique, columns)) return 0;
    if (is_declared(tables) || are_apart(tables)) return 0;
    return pairs / std::max(tables.unique->tuples, 1.0);
}

// Whether a pair is looked at as the one of two in which the larger table is referred to.
bool is_larger(const TablePair& tables) {
    const double difference = tables.unique->tuples - tables.referencing->tuples;
    return difference > 0 || (difference == 0 && tables.unique->relid < tables.referencing->relid);
}

UndeclaredKey* find_keys(PlannerInfo* root, const RelOptInfo* unique) {
    UndeclaredKey* keys = nullptr;
    for (int other = 1; other < root->simple_rel_array_size; other++) {
        const TablePair tables = {root, unique, root->simple_rel_array[other]};
        if (!is_table(tables.referencing) || tables.referencing == unique) continue;
        const double factor = factor_of(tables);
        if (factor < kLeastFactor) continue;
        if (!is_larger(tables) && factor_of({root, tables.referencing, unique}) > 0) continue;
        auto* key = unset<UndeclaredKey>();
        *key = {other, factor, keys};
        keys = key;
    }
    return keys;
}

bool may_be_referred_to(const RelOptInfo* table) {
    ListCell* cell;
    foreach (cell, table->indexlist) {
        const auto* index = lfirst_node(IndexOptInfo, cell);
        if (index->unique && index->nkeycolumns > 1) return true;
    }
    return false;
}

const UndeclaredKey* keys_referring_to(PlannerInfo* root, RelOptInfo* table) {
    RelationNotes* notes = make_notes(table);
    if (notes->underestimate > 0) return notes->undeclared_keys;
    MemoryContext before = MemoryContextSwitchTo(GetMemoryChunkContext(table));
    notes->undeclared_keys = may_be_referred_to(table) ? find_keys(root, table) : nullptr;
    notes->underestimate = 1;
    MemoryContextSwitchTo(before);
    return notes->undeclared_keys;
}

// What the equalities of one class leave of all combinations of rows: of its columns each but the one with
// the fewest values.
double selectivity_in(PlannerInfo* root, const EquivalenceClass* members, Relids tables) {
    double selectivity = 1;
    double fewest = 0;
    for (int table = -1; (table = bms_next_member(tables, table)) >= 0;) {
        const RelOptInfo* rel = root->simple_rel_array[table];
        Var* column = rel ? column_among(members, rel) : nullptr;
        if (!column) continue;
        const double values = distinct_values(root, column);
        if (fewest > 0) selectivity /= std::max(fewest, values);
        fewest = fewest > 0 ? std::min(fewest, values) : values;
    }
    return selectivity;
}

// As many rows as PostgreSQL expects, also where that is a small part of one.
double expected_rows(PlannerInfo* root, const RelOptInfo* joinrel) {
    if (joinrel->rows > 1) return joinrel->rows;
    double rows = 1;
    for (int table = -1; (table = bms_next_member(joinrel->relids, table)) >= 0;)
        if (const RelOptInfo* rel = root->simple_rel_array[table]) rows *= rel->rows;
    ListCell* cell;
    foreach (cell, root->eq_classes) {
        const auto* members = lfirst_node(EquivalenceClass, cell);
        if (!members->ec_has_const && !members->ec_has_volatile)
            rows *= selectivity_in(root, members, joinrel->relids);
    }
    return std::min(rows, 1.0);
}

}  // namespace

void note_undeclared_keys(PlannerInfo* root, RelOptInfo* joinrel) {
    RelationNotes* notes = make_notes(joinrel);
    if (notes->underestimate > 0) return;
    double factor = 1;
    for (int table = -1; (table = bms_next_member(joinrel->relids, table)) >= 0;) {
        RelOptInfo* rel = root->simple_rel_array[table];
        if (!is_table(rel)) continue;
        for (const UndeclaredKey* key = keys_referring_to(root, rel); key; key = key->next)
            if (bms_is_member(key->referencing, joinrel->relids)) factor *= key->factor;
    }
    if (factor > 1) factor *= expected_rows(root, joinrel) / std::max(joinrel->rows, 1.0);
    notes->underestimate = std::max(factor, 1.0);
}

double underestimate_of(const RelOptInfo* rel) {
    const RelationNotes* notes = find_notes(rel);
    return notes ? std::max(notes->underestimate, 1.0) : 1;
}

double likely_rows(const Path* path) {
    return path->rows * underestimate_of(path->parent);
}

}  // namespace gpujoin
