// See refused_groups.h.
#include "pg/planner/refused_groups.h"

#include "pg/compat.h"
#include "pg/key_encoding.h"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/syscache.h"
}

namespace gpujoin {
namespace {

bool has_partial_states(Oid function) {
    HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple)) return false;
    const auto* aggregate = reinterpret_cast<Form_pg_aggregate>(GETSTRUCT(tuple));
    const bool has = OidIsValid(aggregate->aggcombinefn) &&
                     (aggregate->aggtranstype != INTERNALOID || OidIsValid(aggregate->aggserialfn));
    ReleaseSysCache(tuple);
    return has;
}

bool find_whole(Node* node, void* found) {
    if (!node) return false;
    if (IsA(node, Aggref)) {
        const auto* aggref = reinterpret_cast<const Aggref*>(node);
        const bool is_ordered =
            aggref->aggkind != AGGKIND_NORMAL || aggref->aggdistinct != NIL || aggref->aggorder != NIL;
        if (!is_ordered && has_partial_states(aggref->aggfnoid)) return false;
        *static_cast<Refusal*>(found) = {is_ordered ? Reason::OrderedAggregate : Reason::NoPartialStates,
                                         node};
        return true;
    }
    return walk_expression(node, find_whole, found);
}

}  // namespace

void refuse_few_rows(Verdict* verdict, double rows) {
    if (verdict) note_refusal(verdict, {Reason::FewRows, nullptr, psprintf("%.0f", rows)});
}

void refuse_aggregates(Verdict* verdict, List* target, Node* having) {
    Refusal found = {};
    if (!find_whole(reinterpret_cast<Node*>(target), &found)) find_whole(having, &found);
    note_refusal(verdict, found);
}

void refuse_key(Verdict* verdict, Oid equality, const Node* key) {
    if (!verdict) return;
    OperatorEncoding encoding;
    const char* type = format_type_be(exprType(key));
    if (!find_operator_encoding(equality, exprCollation(key), &encoding))
        note_refusal(verdict, {Reason::KeyType, key, type});
    note_refusal(verdict, {Reason::KeyExpression, key});
}

void refuse_entry(Verdict* verdict, const Node* entry, Reason reason) {
    note_refusal(verdict, {reason, entry});
}

void refuse_values(Verdict* verdict, const List* entries) {
    ListCell* cell;
    foreach (cell, entries)
        if (IsA(lfirst(cell), Aggref))
            note_refusal(verdict, {Reason::Argument, static_cast<Node*>(lfirst(cell))});
}

}  // namespace gpujoin
