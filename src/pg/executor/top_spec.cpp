// What the engine is told where only the first rows of ORDER BY ... LIMIT are wanted: so that others, or
// groups, are left out where they are made, and need not come here to be looked at (executor/top_rows). It is
// told of keys that are numbers to it, by which a column of the join, or of complete groups, is sorted. A
// join whose own results would do is run as a chain of one stage then, whose rows the sink sees.
//
// A fragment that is told is another one than that which joins partitions, of which no part knows all rows.
#include "pg/executor/spec.h"

#include "pg/allocate.h"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
}

namespace gpujoin {

namespace {

// What the operator that rows are sorted by compares.
struct SortedBy {
    OperatorEncoding found;
    ColumnSpec column;
};

bool find_sorted_by(const TopRowsPlan& top, SortedBy* by) {
    if (!find_operator_encoding(top.ordering, top.collation, &by->found)) return false;
    by->column = column_of(by->found.encoding);
    return by->found.left_type == by->found.right_type &&
           (by->found.comparison == Comparison::Less || by->found.comparison == Comparison::Greater);
}

TopSpec top_spec(const TopRowsPlan& top, const SortedBy& by, ValueOrder order, ColumnRef key) {
    TopSpec spec = {};
    spec.count = static_cast<uint32_t>(top.count);
    spec.key = key;
    spec.order = order;
    spec.is_descending = by.found.comparison == Comparison::Greater;
    spec.nulls_first = top.has_nulls_first;
    return spec;
}

// Whether columns have the very values that the operator compares, as numbers.
bool is_number(const SortedBy& by, int16 length, bool is_by_value) {
    return is_by_value && by.column.order != ValueOrder::Bytes &&
           fixed_width(by.column.type) == static_cast<uint32_t>(length) &&
           get_typlen(by.found.left_type) == length;
}

// Whether rows of the engine's are all rows of the node, of which nothing is computed that must be for each.
bool gives_all(const GpuJoinState* state) {
    const Plan* plan = state->css.ss.ps.plan;
    if (plan->qual || has_effects_on_rows(plan->targetlist)) return false;
    for (int i = 0; i < state->plan.stage_count; i++) {
        const JoinStage* stage = &state->stages[i];
        if (stage->test_count > 0 || rows_of(stage->plan->kind).scans_build() || stage->spec->client_decides)
            return false;
    }
    return true;
}

bool is_emitted(const GpuJoinState* state, ChildColumn column) {
    const Bitmapset* emitted =
        column.child == kProbeChild ? state->probe.emitted : state->stages[column.child].emitted;
    return bms_is_member(column.attribute, emitted);
}

// The entry of the scan tuple that a column of the node is; 0: it is computed.
int entry_of(const GpuJoinState* state, AttrNumber column) {
    const List* targetlist = state->css.ss.ps.plan->targetlist;
    if (column > list_length(targetlist)) return 0;
    const Expr* expr = list_nth_node(TargetEntry, targetlist, column - 1)->expr;
    return IsA(expr, Var) && reinterpret_cast<const Var*>(expr)->varno == INDEX_VAR
               ? reinterpret_cast<const Var*>(expr)->varattno
               : 0;
}

FragmentSpec* copy_of(const FragmentSpec* spec) {
    auto* copy = unset<FragmentSpec>();
    memcpy(static_cast<void*>(copy), spec,
           spec->sink == SinkKind::Groups ? sizeof *spec : offsetof(FragmentSpec, value));
    return copy;
}

// Inputs of the sink are what the join's results have: outputs, then what is carried.
void make_chain_of(const GpuJoinState* state, FragmentSpec* spec, StageSpec* stage) {
    JoinSpec* join = &stage->join;
    for (uint16_t i = 0; i < join->outputs; i++) spec->input[spec->inputs++] = {0, i};
    for (uint16_t i = 0; i < join->carried; i++) spec->input[spec->inputs++] = {kFromSource, join->carry[i]};
    join->carried = 0;
    join->order = ResultOrder::Ascending;
    join->names_probe_rows = 1;
    spec->source_is_unnamed = state->probe.carries;
}

// The column of groups that a final result is monotonic in, and how it is ordered; -1: none.
int column_of_final(const GpuJoinState* state, const EntryState& final, const SortedBy& by,
                    ValueOrder* order) {
    const bool is_numeric = by.found.left_type == NUMERICOID;
    *order = ValueOrder::Signed;
    switch (final.form) {
        case StateForm::Column: {
            Form_pg_attribute attribute =
                TupleDescAttr(state->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor, final.entry - 1);
            *order = by.column.order;
            return is_number(by, attribute->attlen, attribute->attbyval) ? final.column : -1;
        }
        case StateForm::Number:
        case StateForm::Single:
            *order = by.column.order;
            return *order == ValueOrder::Signed || *order == ValueOrder::Float ? final.column : -1;
        case StateForm::Bigint:
            return by.found.left_type == INT8OID ? final.column : -1;
        case StateForm::NumericState:
        case StateForm::DecimalState:
            return is_numeric && (final.aggregate == F_SUM_INT8 || final.aggregate == F_SUM_NUMERIC)
                       ? final.column
                       : -1;
        case StateForm::CountAndSum:
        case StateForm::Decimal:
        case StateForm::SquaresState:
        case StateForm::FloatAverage:
        case StateForm::Presence:
            return -1;
    }
    return -1;
}

}  // namespace

TopSpec find_top_of_rows(FragmentParts* parts) {
    GpuJoinState* state = parts->state;
    const TopRowsPlan& top = state->plan.top;
    SortedBy by;
    if (top.count == 0 || !gives_all(state) || !find_sorted_by(top, &by)) return {};
    const int entry = entry_of(state, top.column);
    if (entry == 0) return {};
    const ChildColumn column = child_column(&state->plan, entry);
    if (!is_emitted(state, column)) return {};  // NULL in all rows
    ChildColumns* columns = &parts->children[column.child + 1];
    Form_pg_attribute attribute = TupleDescAttr(ExecGetResultType(columns->side->plan), column.attribute - 1);
    if (!is_number(by, attribute->attlen, attribute->attbyval)) return {};
    if (columns->side->writer.column_count == int{kMaxColumns}) return {};
    // Of a build side it is an output already: what is carried is numbered behind the outputs.
    const ColumnRef key = ref_to(parts, column.child, value_column(columns, attribute));
    return top_spec(top, by, by.column.order, key);
}

void use_top_rows(GpuJoinState* state, const TopSpec& top) {
    if (top.count == 0) return;
    state->top_fragment = copy_of(state->fragment);
    state->top_fragment->top = top;
    state->top_stages = state->stage_specs;
    if (state->plan.stage_count != 1) return;
    state->top_stages = unset<StageSpec>();
    *state->top_stages = *state->stage_specs;
    make_chain_of(state, state->top_fragment, state->top_stages);
}

void use_top_groups(GpuJoinState* state, const TopRowsPlan& top, int final) {
    const GroupsPlan* groups = state->plan.groups;
    SortedBy by;
    if (!groups->completes || final >= groups->states || !find_sorted_by(top, &by)) return;
    ValueOrder order;
    const int column = column_of_final(state, groups->state[final], by, &order);
    if (column < 0) return;
    state->top_fragment = copy_of(state->fragment);
    state->top_fragment->top = top_spec(top, by, order, {kFromSource, static_cast<uint16_t>(column)});
    state->top_stages = state->stage_specs;
}

}  // namespace gpujoin
