// See scanned_table.h. This is asked before each statement is planned, so that it has to be quick.
#include "pg/planner/scanned_table.h"

extern "C" {
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/pg_index.h"
#include "nodes/bitmapset.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"
}

namespace gpujoin {
namespace {

// As a char(n) or varchar is for operators of text, too.
const Node* strip_relabelling(const Node* node) {
    while (IsA(node, RelabelType))
        node = reinterpret_cast<const Node*>(reinterpret_cast<const RelabelType*>(node)->arg);
    return node;
}

bool is_column(const Node* node) {
    return IsA(node, Var) && reinterpret_cast<const Var*>(node)->varlevelsup == 0;
}

// Adds the column that a condition says is equal to something.
Bitmapset* add_set_column(const Node* condition, Bitmapset* columns) {
    if (!IsA(condition, OpExpr)) return columns;
    const auto* comparison = reinterpret_cast<const OpExpr*>(condition);
    if (list_length(comparison->args) != 2) return columns;
    const Node* left = strip_relabelling(static_cast<const Node*>(linitial(comparison->args)));
    const Node* right = strip_relabelling(static_cast<const Node*>(lsecond(comparison->args)));
    if (is_column(left) == is_column(right) || get_oprrest(comparison->opno) != F_EQSEL) return columns;
    const auto* column = reinterpret_cast<const Var*>(is_column(left) ? left : right);
    return bms_add_member(columns, column->varattno - FirstLowInvalidHeapAttributeNumber);
}

Bitmapset* set_columns(const Node* conditions) {
    if (!IsA(conditions, BoolExpr)) return add_set_column(conditions, nullptr);
    const auto* all = reinterpret_cast<const BoolExpr*>(conditions);
    Bitmapset* columns = nullptr;
    ListCell* cell;
    if (all->boolop == AND_EXPR)
        foreach (cell, all->args) columns = add_set_column(static_cast<const Node*>(lfirst(cell)), columns);
    return columns;
}

// Of a unique index.
bool are_all_set(Oid index, const Bitmapset* columns) {
    HeapTuple found = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
    if (!HeapTupleIsValid(found)) return false;
    const auto* form = reinterpret_cast<const FormData_pg_index*>(GETSTRUCT(found));
    bool are_set = form->indisunique && form->indisvalid;
    for (int i = 0; are_set && i < form->indnkeyatts; i++)
        are_set = bms_is_member(form->indkey.values[i] - FirstLowInvalidHeapAttributeNumber, columns);
    ReleaseSysCache(found);
    return are_set;
}

// Conditions set all columns of a unique index.
bool picks_a_row(Relation relation, const Query* query) {
    const Bitmapset* columns = set_columns(query->jointree->quals);
    ListCell* cell;
    if (!bms_is_empty(columns))
        foreach (cell, RelationGetIndexList(relation))
            if (are_all_set(lfirst_oid(cell), columns)) return true;
    return false;
}

}  // namespace

bool may_scan_table(const Query* query) {
    const auto* table = linitial_node(RangeTblEntry, query->rtable);
    if (table->rtekind != RTE_RELATION || query->rowMarks != NIL || !query->jointree->quals) return false;
    Relation relation = RelationIdGetRelation(table->relid);
    if (!RelationIsValid(relation)) return false;
    const FormData_pg_class* facts = relation->rd_rel;
    const bool is_large =
        facts->relkind == RELKIND_RELATION && facts->relpages >= static_cast<int32>(kFewestScannedPages);
    const bool may_scan = is_large && !picks_a_row(relation, query);
    RelationClose(relation);
    return may_scan;
}

}  // namespace gpujoin
