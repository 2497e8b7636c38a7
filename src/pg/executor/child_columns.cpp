// See child_columns.h.
#include "pg/executor/child_columns.h"

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/executor/encoders.h"
#include "pg/executor/output_column.h"
#include "pg/overflow.h"

extern "C" {
#include "access/sysattr.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
}

namespace gpujoin {

namespace {

// INDEX_VARs into custom_scan_tlist become Vars of the slot of the one child that they are of.
Node* remap_mutator(Node* node, void* plan) {
    if (!node) return nullptr;
    if (!IsA(node, Var) || reinterpret_cast<Var*>(node)->varno != INDEX_VAR)
        return mutate_expression(node, remap_mutator, plan);
    auto* var = static_cast<Var*>(copyObjectImpl(node));
    var->varno = OUTER_VAR;
    var->varattno = child_column(static_cast<PlanData*>(plan), var->varattno).attribute;
    return reinterpret_cast<Node*>(var);
}

Node* over_slot(const ChildColumns* columns, Expr* expression) {
    return remap_mutator(reinterpret_cast<Node*>(expression), &columns->state->plan);
}

// The child's attribute that an expression is, apart from relabelling; 0 when it must be evaluated.
AttrNumber plain_attribute(Node* expression) {
    while (IsA(expression, RelabelType))
        expression = reinterpret_cast<Node*>(reinterpret_cast<RelabelType*>(expression)->arg);
    return IsA(expression, Var) ? reinterpret_cast<Var*>(expression)->varattno : 0;
}

void evaluate(const ChildColumns* columns, InputColumn* column, Node* over_slot) {
    column->expression = ExecInitExpr(reinterpret_cast<Expr*>(over_slot), &columns->state->css.ss.ps);
    columns->side->writer.evaluates = columns->side->writer.allocates = true;
    side_want_columns(columns->side, over_slot, OUTER_VAR);
}

// Where a key column's values come from, straight from the slot where it can be, and how they are encoded.
void init_key_column(const ChildColumns* columns, InputColumn* column, const Key& key, const OpExpr* clause,
                     bool is_probe_side) {
    Node* mapped = over_slot(columns, key.expression);
    column->attribute = plain_attribute(mapped);
    column->scale = key.scale;
    column->encoding = key.encoding;
    column->declared_type = key.declared_type;
    bool shifted = column->attribute == 0 && key.ordered && init_shifted_column(column, mapped, key.encoding);
    if (is_bound(key.encoding))
        init_bound_column(column, key.encoding, key.part, key.declared_type);
    else if (key.encoding == KeyEncoding::Hash64)
        init_hash_column(column, clause, is_probe_side);
    else if (!shifted)
        column->encoder = find_encoder(key.encoding, key.declared_type);
    if (column->attribute == 0) {
        evaluate(columns, column, mapped);
        column->may_overflow = key.is_total && may_overflow(mapped);
    }
    if (encoder_allocates(key.encoding)) columns->side->writer.allocates = true;
    if (column->attribute > 0) side_want(columns->side, column->attribute);
}

bool is_same_key(const Key& a, const Key& b) {
    return a.encoding == b.encoding && a.encoding != KeyEncoding::Hash64 &&
           a.declared_type == b.declared_type && a.part == b.part && a.scale == b.scale &&
           equal(a.expression, b.expression);
}

// A column that holds the attribute, so that it need not be sent a second time; -1: none.
int column_that_holds(const ChildColumns* columns, Form_pg_attribute attribute) {
    const BatchWriter* writer = &columns->side->writer;
    for (int i = 0; i < writer->column_count; i++) {
        const InputColumn* column = &writer->columns[i];
        if (column->attribute != attribute->attnum || column->shift) continue;
        if (i >= columns->key_columns || holds_value(columns->keys[i].encoding, attribute->attlen)) return i;
    }
    return -1;
}

InputColumn* add_column(ChildColumns* columns) {
    BatchWriter* writer = &columns->side->writer;
    if (writer->column_count == int{kMaxColumns}) refuse_columns();
    return &writer->columns[writer->column_count++];
}

}  // namespace

void refuse_columns() {
    ereport(ERROR, errcode(ERRCODE_TOO_MANY_COLUMNS),
            errmsg("a GPU Join can send at most %u columns of one input", kMaxColumns));
}

ChildColumns collect_columns(GpuJoinState* state, int child, ColumnSpec* specs, int most_columns) {
    Side* side = child == kProbeChild ? &state->probe.side : &state->stages[child].build;
    side->writer.columns = zeroed<InputColumn>(most_columns);
    side->writer.buffers = zeroed<ColumnBuffers>(most_columns);
    side->writer.context = CreateExprContext(state->css.ss.ps.state);
    return {state, child, side, specs, unset<Key>(most_columns), 0};
}

int child_of(const GpuJoinState* state, Node* expression) {
    Bitmapset* shifted = nullptr;
    pull_varattnos(expression, INDEX_VAR, &shifted);
    int first = bms_next_member(shifted, -1);
    return first < 0 ? kProbeChild
                     : child_column(&state->plan, first + FirstLowInvalidHeapAttributeNumber).child;
}

uint16_t key_column(ChildColumns* columns, const Key& key, const OpExpr* clause, bool is_probe_side) {
    for (int i = 0; i < columns->key_columns; i++)
        if (is_same_key(columns->keys[i], key)) return static_cast<uint16_t>(i);
    int number = columns->key_columns++;
    columns->keys[number] = key;
    InputColumn* column = add_column(columns);
    Assert(column == &columns->side->writer.columns[number]);
    column->spec = columns->specs[number] = column_of(key.encoding);
    init_key_column(columns, column, key, clause, is_probe_side);
    return static_cast<uint16_t>(number);
}

uint16_t value_column(ChildColumns* columns, Form_pg_attribute attribute) {
    int number = column_that_holds(columns, attribute);
    if (number >= 0) return static_cast<uint16_t>(number);
    number = columns->side->writer.column_count;
    InputColumn* column = add_column(columns);
    init_output_column(column, attribute);
    columns->specs[number] = column->spec;
    side_want(columns->side, attribute->attnum);
    return static_cast<uint16_t>(number);
}

uint16_t expression_column(ChildColumns* columns, Expr* expression) {
    Node* mapped = over_slot(columns, expression);
    if (AttrNumber attribute = plain_attribute(mapped))
        return value_column(columns, TupleDescAttr(ExecGetResultType(columns->side->plan), attribute - 1));
    int number = columns->side->writer.column_count;
    InputColumn* column = add_column(columns);
    init_output_column(column, exprType(mapped));
    columns->specs[number] = column->spec;
    evaluate(columns, column, mapped);
    return static_cast<uint16_t>(number);
}

}  // namespace gpujoin
