// See requested_columns.h. Whoever asks holds a lock on the table, but gives it up before the keeper looks:
// what is named is compared with what is there.
#include "pg/executor/requested_columns.h"

#include "pg/compat.h"
#include "pg/executor/output_column.h"
#include "pg/kept_expression.h"
#include "pg/kept_proof.h"

extern "C" {
#include "nodes/nodeFuncs.h"
#include "nodes/primnodes.h"
}

namespace gpujoin {

namespace {

bool is_as_it_was(TupleDesc desc, AttrNumber number, Oid type, int32 modifier) {
    if (number <= 0 || number > desc->natts) return false;
    const auto* attribute = TupleDescAttr(desc, number - 1);
    return !attribute->attisdropped && attribute->atttypid == type && attribute->atttypmod == modifier;
}

bool has_other_column(Node* node, void* desc) {
    if (!node) return false;
    if (!IsA(node, Var)) return walk_expression(node, has_other_column, desc);
    const auto* var = reinterpret_cast<const Var*>(node);
    return !is_as_it_was(static_cast<TupleDesc>(desc), var->varattno, var->vartype, var->vartypmod);
}

bool find_computed(const KeepRequest* request, const WantedColumn* wanted, Relation relation,
                   KeptForm* form) {
    auto* expression = static_cast<Node*>(stringToNode(request->text + wanted->text));
    fix_opfuncids(expression);
    if (!may_keep_expression(expression) || has_other_column(expression, RelationGetDescr(relation)))
        return false;
    InputColumn sent = {};
    init_output_column(&sent, exprType(expression));
    sent.encoding = wanted->encoding;
    sent.declared_type = wanted->declared_type;
    sent.scale = wanted->scale;
    if (!kept_form(&sent, RelationGetDescr(relation), 0, expression, form)) return false;
    form->copy = wanted->copy;
    return true;
}

bool find_form(const KeepRequest* request, const WantedColumn* wanted, Relation relation, KeptForm* form) {
    if (wanted->attribute == 0) return find_computed(request, wanted, relation, form);
    TupleDesc desc = RelationGetDescr(relation);
    if (!is_as_it_was(desc, wanted->attribute, wanted->type, wanted->modifier)) return false;
    Form_pg_attribute attribute = TupleDescAttr(desc, wanted->attribute - 1);
    if (wanted->encoding != KeyEncoding::None) {
        *form = encoded_form(wanted->attribute, wanted->encoding, wanted->declared_type, wanted->scale);
        return true;
    }
    InputColumn sent = {};
    init_output_column(&sent, attribute);
    return kept_form(&sent, desc, wanted->attribute, nullptr, form);
}

}  // namespace

KeepRequest* request_columns(Relation relation, const KeptColumns* columns) {
    KeepRequest* request = make_keep_request(relation, chunk_key(relation, 0));
    for (int i = 0; i < columns->count; i++) {
        const KeptForm* form = &columns->forms[i];
        WantedColumn wanted = {};
        wanted.attribute = form->expression ? AttrNumber{0} : form->attribute;
        wanted.encoding = form->encoding;
        wanted.declared_type = form->declared_type;
        wanted.scale = form->scale;
        wanted.copy = form->copy;
        add_wanted_column(request, relation, wanted, form->expression);
    }
    return request;
}

bool find_requested(const KeepRequest* request, Relation relation, KeptColumns* columns) {
    if (chunk_key(relation, 0) != request->files) return false;
    *columns = make_kept_columns(static_cast<int>(request->count));
    for (uint32 i = 0; i < request->count; i++) {
        KeptForm form;
        const WantedColumn* wanted = &request->columns[i];
        const bool is_found = find_form(request, wanted, relation, &form);
        if (!is_found && wanted->is_optional == 0) return false;
        if (is_found) add_kept_column(columns, relation, &form);
    }
    return columns->count > 0;
}

}  // namespace gpujoin
