// See undeclared_keys.h.
//
// A unique index whose columns are all equated to columns of one other table is taken for what a foreign key
// of that table refers to: a pair of their rows then belongs together with the probability of 1 in the rows
// of the table that has the index, whatever other columns are equated. Where both tables have such an index,
// the larger one is referred to.
//
// PostgreSQL expects the product of the equalities' selectivities, of each class of columns that are equal
// one less than there are tables with one. So of several keys those count that lead to a table which no other
// one leads to; declared ones first, of which PostgreSQL knows. And not where the two tables are on different
// sides of an outer join or semijoin, nor above one that has both on its inner side: its rows are estimated
// in other ways.
#include "pg/planner/undeclared_keys.h"

#include <algorithm>
#include <numeric>

#include "pg/allocate.h"
#include "pg/planner/core_calls.h"
#include "pg/planner/relation_notes.h"

extern "C" {
#include "access/stratnum.h"
#include "optimizer/plancat.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"
}

namespace gpujoin {

// Of the tables that it is between, in the notes of the one that is referred to.
struct UndeclaredKey {
    int referred;
    int referencing;
    double factor;     // by which conditions that have nothing to do with each other give too few rows
    bool is_declared;  // PostgreSQL knows
    UndeclaredKey* next;
};

namespace {

// Less is within what estimates are wrong by anyhow; more is not believed.
constexpr double kLeastFactor = 4;
constexpr double kMostFactor = 1e9;
constexpr int kMostKeys = 64;

struct TablePair {
    PlannerInfo* root;
    const RelOptInfo* unique;
    const RelOptInfo* referencing;
};

// The column of a table among those of the class, alone or as another type; nullptr: there is none.
const EquivalenceMember* column_among(const EquivalenceClass* members, const RelOptInfo* table) {
    if (!bms_is_subset(table->relids, members->ec_relids)) return nullptr;
    ListCell* cell;
    foreach (cell, members->ec_members) {
        const auto* member = lfirst_node(EquivalenceMember, cell);
        if (member->em_is_child || !bms_equal(member->em_relids, table->relids)) continue;
        const Expr* expression = member->em_expr;
        while (expression && IsA(expression, RelabelType))
            expression = reinterpret_cast<const RelabelType*>(expression)->arg;
        if (expression && IsA(expression, Var)) return member;
    }
    return nullptr;
}

AttrNumber attribute_of(const EquivalenceMember* member) {
    const Expr* expression = member->em_expr;
    while (IsA(expression, RelabelType)) expression = reinterpret_cast<const RelabelType*>(expression)->arg;
    return reinterpret_cast<const Var*>(expression)->varattno;
}

bool has_equalities(const EquivalenceClass* members) {
    return !members->ec_has_const && !members->ec_has_volatile;
}

// Of the equality of two columns, as PostgreSQL estimates it.
double selectivity_of(const TablePair& tables, const EquivalenceClass* members, const EquivalenceMember* one,
                      const EquivalenceMember* other) {
    Oid equals = InvalidOid;
    ListCell* cell;
    foreach (cell, members->ec_opfamilies) {
        equals = get_opfamily_member(lfirst_oid(cell), one->em_datatype, other->em_datatype,
                                     BTEqualStrategyNumber);
        if (OidIsValid(equals)) break;
    }
    if (!OidIsValid(equals)) return 1;
    SpecialJoinInfo join = inner_join_of(tables.unique->relids, tables.referencing->relids);
    return join_selectivity(tables.root, equals, list_make2(one->em_expr, other->em_expr),
                            members->ec_collation, JOIN_INNER, &join);
}

// The columns of the first table that are equated to columns of the second one, and how selective that is.
Bitmapset* equated_columns(const TablePair& tables, double* selectivity) {
    Bitmapset* columns = nullptr;
    *selectivity = 1;
    ListCell* cell;
    foreach (cell, tables.root->eq_classes) {
        const auto* members = lfirst_node(EquivalenceClass, cell);
        if (!has_equalities(members)) continue;
        const EquivalenceMember* column = column_among(members, tables.unique);
        const EquivalenceMember* other = column ? column_among(members, tables.referencing) : nullptr;
        if (!other || attribute_of(column) <= 0) continue;
        columns = bms_add_member(columns, attribute_of(column));
        *selectivity *= selectivity_of(tables, members, column, other);
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
        const bool is_forth =
            key->con_relid == tables.referencing->relid && key->ref_relid == tables.unique->relid;
        const bool is_back =
            key->ref_relid == tables.referencing->relid && key->con_relid == tables.unique->relid;
        if (key->nkeys > 1 && (is_forth || is_back)) return true;
    }
    return false;
}

bool are_apart(const TablePair& tables) {
    ListCell* cell;
    foreach (cell, tables.root->join_info_list) {
        const auto* join = lfirst_node(SpecialJoinInfo, cell);
        if (bms_is_member(tables.unique->relid, join->syn_righthand) !=
            bms_is_member(tables.referencing->relid, join->syn_righthand))
            return true;
    }
    return false;
}

bool is_table(const RelOptInfo* rel) {
    return rel && rel->reloptkind == RELOPT_BASEREL;
}

// By what factor rows are underestimated if the one table refers to the other; 0: it does not.
double factor_of(const TablePair& tables) {
    double selectivity;
    const Bitmapset* columns = equated_columns(tables, &selectivity);
    if (bms_num_members(columns) < 2 || !has_unique_index(tables.unique, columns) || are_apart(tables))
        return 0;
    return 1 / std::max(std::max(tables.unique->tuples, 1.0) * selectivity, 1 / kMostFactor);
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
        *key = {static_cast<int>(unique->relid), other, factor, is_declared(tables), keys};
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

// Whether the join has rows of both tables only as a side of one that does not pass on each pair of these.
bool is_within_side(const PlannerInfo* root, const RelOptInfo* joinrel, const UndeclaredKey& key) {
    const auto is_above = [&](Relids side) {
        return bms_is_member(key.referred, side) && bms_is_member(key.referencing, side) &&
               !bms_is_subset(joinrel->relids, side);
    };
    ListCell* cell;
    foreach (cell, root->join_info_list) {
        const auto* join = lfirst_node(SpecialJoinInfo, cell);
        if (is_above(join->syn_righthand) || (join->jointype == JOIN_FULL && is_above(join->syn_lefthand)))
            return true;
    }
    return false;
}

struct KeysOfJoin {
    const UndeclaredKey* keys[kMostKeys];
    int count = 0;
};

KeysOfJoin keys_of(PlannerInfo* root, const RelOptInfo* joinrel) {
    KeysOfJoin found;
    for (int table = -1; (table = bms_next_member(joinrel->relids, table)) >= 0;) {
        RelOptInfo* rel = root->simple_rel_array[table];
        if (!is_table(rel)) continue;
        for (const UndeclaredKey* key = keys_referring_to(root, rel); key; key = key->next)
            if (found.count < kMostKeys && bms_is_member(key->referencing, joinrel->relids) &&
                !is_within_side(root, joinrel, *key))
                found.keys[found.count++] = key;
    }
    std::sort(found.keys, found.keys + found.count, [](const UndeclaredKey* a, const UndeclaredKey* b) {
        return a->is_declared != b->is_declared ? a->is_declared : a->factor < b->factor;
    });
    return found;
}

struct Factors {
    double all = 1;
    double undeclared = 1;
};

// Of the keys that make a spanning forest of the tables, declared ones and those with small factors first.
Factors factors_of(const PlannerInfo* root, const KeysOfJoin& found) {
    auto* tree = unset<int>(static_cast<Size>(root->simple_rel_array_size));
    std::iota(tree, tree + root->simple_rel_array_size, 0);
    const auto root_of = [&](int table) {
        while (tree[table] != table) table = tree[table];
        return table;
    };
    Factors factors;
    for (int i = 0; i < found.count; i++) {
        const UndeclaredKey* key = found.keys[i];
        const int referred = root_of(key->referred);
        const int referencing = root_of(key->referencing);
        if (referred == referencing) continue;
        tree[referencing] = referred;
        factors.all = std::min(factors.all * key->factor, kMostFactor);
        if (!key->is_declared) factors.undeclared = std::min(factors.undeclared * key->factor, kMostFactor);
    }
    pfree(tree);
    return factors;
}

double distinct_values(PlannerInfo* root, const EquivalenceMember* column) {
    VariableStatData statistics;
    bool is_default;
    examine_variable(root, reinterpret_cast<Node*>(column->em_expr), 0, &statistics);
    const double count = get_variable_numdistinct(&statistics, &is_default);
    ReleaseVariableStats(statistics);
    return std::max(count, 1.0);
}

// What the equalities of one class leave of all combinations of rows: of its columns each but the one with
// the fewest values.
double selectivity_in(PlannerInfo* root, const EquivalenceClass* members, Relids tables) {
    double selectivity = 1;
    double fewest = 0;
    for (int table = -1; (table = bms_next_member(tables, table)) >= 0;) {
        const RelOptInfo* rel = root->simple_rel_array[table];
        const EquivalenceMember* column = rel ? column_among(members, rel) : nullptr;
        if (!column) continue;
        const double values = distinct_values(root, column);
        if (fewest > 0) selectivity /= std::max(fewest, values);
        fewest = fewest > 0 ? std::min(fewest, values) : values;
    }
    return selectivity;
}

// All combinations of rows that equalities leave, as if these had nothing to do with each other.
double rows_by_equalities(PlannerInfo* root, const RelOptInfo* joinrel) {
    double rows = 1;
    for (int table = -1; (table = bms_next_member(joinrel->relids, table)) >= 0;)
        if (const RelOptInfo* rel = root->simple_rel_array[table]) rows *= rel->rows;
    ListCell* cell;
    foreach (cell, root->eq_classes) {
        const auto* members = lfirst_node(EquivalenceClass, cell);
        if (has_equalities(members)) rows *= selectivity_in(root, members, joinrel->relids);
    }
    return rows;
}

// What PostgreSQL expects may be too much, too: a small part of a row is taken for one, here or in a relation
// below, and multiplied since.
double underestimate_of(PlannerInfo* root, const RelOptInfo* joinrel) {
    const KeysOfJoin found = keys_of(root, joinrel);
    const Factors factors = found.count > 0 ? factors_of(root, found) : Factors{};
    if (factors.undeclared == 1) return 1;
    const double likely =
        std::min(factors.undeclared * joinrel->rows, factors.all * rows_by_equalities(root, joinrel));
    return std::max(likely / std::max(joinrel->rows, 1.0), 1.0);
}

}  // namespace

void note_undeclared_keys(PlannerInfo* root, RelOptInfo* joinrel) {
    RelationNotes* notes = make_notes(joinrel);
    if (notes->underestimate == 0) notes->underestimate = underestimate_of(root, joinrel);
}

double underestimate_of(const RelOptInfo* rel) {
    const RelationNotes* notes = find_notes(rel);
    return notes ? std::max(notes->underestimate, 1.0) : 1;
}

double likely_rows(const Path* path) {
    return IsA(path, UniquePath) ? path->rows : path->rows * underestimate_of(path->parent);
}

}  // namespace gpujoin
