// A formula is written from its end: where a row goes on is known before the test that sends it there. NULL
// counts as failed everywhere, since NOT is carried down to the tests.
#include "pg/kept_condition.h"

#include <algorithm>
#include <cstring>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/decimal.h"
#include "pg/kept_expression.h"

extern "C" {
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
}

namespace gpujoin {

namespace {

constexpr int kMostElements = 32;  // of a list that a column is compared with
constexpr int kWidestTexts = 64;   // characters, of a column that is kept to be compared

struct Formula {
    KeptFormula* written;  // the last leaf first
    bool fails;
    bool is_too_long;
};

const Node* strip_relabelling(const Node* node) {
    while (IsA(node, RelabelType))
        node = reinterpret_cast<const Node*>(reinterpret_cast<const RelabelType*>(node)->arg);
    return node;
}

const Var* as_column(const Node* node) {
    node = strip_relabelling(node);
    if (!IsA(node, Var)) return nullptr;
    const auto* var = reinterpret_cast<const Var*>(node);
    return var->varattno > 0 ? var : nullptr;
}

const Const* as_constant(const Node* node) {
    node = strip_relabelling(node);
    return IsA(node, Const) ? reinterpret_cast<const Const*>(node) : nullptr;
}

KeptLeaf encoded_leaf(AttrNumber attribute, KeyEncoding encoding, Oid declared_type) {
    KeptLeaf leaf = {};
    leaf.column = KeptLeaf::Encoded;
    leaf.attribute = attribute;
    leaf.encoding = encoding;
    leaf.declared_type = declared_type;
    return leaf;
}

// --- The tests

bool find_range(const Node* node, KeptLeaf* leaf) {
    *leaf = {};
    leaf->column = KeptLeaf::Numbers;
    return find_range_condition(node, true, &leaf->range);
}

// As declared: processes that share a scan must come to the same tests, and statistics may change meanwhile.
bool may_hold_short_texts(const Var* column) {
    return column->vartypmod < 0 || column->vartypmod - int32{VARHDRSZ} <= kWidestTexts;
}

// The bytes that equal values have. False where they are too many.
bool set_bytes(const Const* constant, KeptLeaf* leaf) {
    const varlena* text = PG_DETOAST_DATUM_PACKED(constant->constvalue);
    const char* bytes = VARDATA_ANY(text);
    Size length = VARSIZE_ANY_EXHDR(text);
    while (leaf->encoding == KeyEncoding::Bpchar && length > 0 && bytes[length - 1] == ' ') length--;
    if (length > kMaxKeptBytes) return false;
    memcpy(leaf->condition.bytes, bytes, length);
    leaf->condition.length = static_cast<uint8>(length);
    return true;
}

// Short texts that are compared for equality.
bool find_text(const Node* node, KeptLeaf* leaf) {
    if (!IsA(node, OpExpr)) return false;
    const auto* op = reinterpret_cast<const OpExpr*>(node);
    OperatorEncoding found;
    if (list_length(op->args) != 2 || !find_operator_encoding(op->opno, op->inputcollid, &found) ||
        (found.encoding != KeyEncoding::Text && found.encoding != KeyEncoding::Bpchar) ||
        (found.comparison != Comparison::Equal && found.comparison != Comparison::NotEqual))
        return false;
    const auto* left = static_cast<const Node*>(linitial(op->args));
    const auto* right = static_cast<const Node*>(lsecond(op->args));
    const Var* column = as_column(as_column(left) ? left : right);
    const Const* constant = as_constant(as_column(left) ? right : left);
    if (!column || !constant || constant->constisnull || !may_hold_short_texts(column)) return false;
    *leaf = encoded_leaf(column->varattno, found.encoding, found.left_type);
    leaf->condition.test = found.comparison == Comparison::Equal ? KeptTest::Same : KeptTest::Other;
    return set_bytes(constant, leaf);
}

// A column of truth values: 1 is true.
bool find_flag(const Node* node, KeptLeaf* leaf) {
    const Var* column = as_column(node);
    if (!column || column->vartype != BOOLOID) return false;
    *leaf = encoded_leaf(column->varattno, KeyEncoding::Bool, BOOLOID);
    leaf->condition.interval = {1, 0};
    return true;
}

// The column is read as those are that are compared.
bool find_null_test(const Node* node, KeptLeaf* leaf) {
    if (!IsA(node, NullTest)) return false;
    const auto* test = reinterpret_cast<const NullTest*>(node);
    const Var* column = as_column(reinterpret_cast<const Node*>(test->arg));
    if (!column) return false;
    const int scale = column->vartype == NUMERICOID ? decimal_scale(column->vartypmod) : 0;
    if (!is_number_column(column->vartype) || scale < 0) return false;
    *leaf = {};
    leaf->column = KeptLeaf::Numbers;
    leaf->range.attribute = column->varattno;
    leaf->range.column_type = column->vartype;
    leaf->range.scale = scale;
    const bool is_null = test->nulltesttype == IS_NULL;
    leaf->condition.interval = {PG_INT64_MIN, PG_UINT64_MAX};
    leaf->condition.test = is_null ? KeptTest::Outside : KeptTest::Inside;
    leaf->condition.null_passes = is_null;
    return true;
}

bool find_leaf(const Node* node, KeptLeaf* leaf) {
    return find_range(node, leaf) || find_text(node, leaf) || find_flag(node, leaf) ||
           find_null_test(node, leaf);
}

// NULL passes the test for NULL alone, and what is not NULL its opposite.
void negate(KeptLeaf* leaf) {
    KeptCondition* condition = &leaf->condition;
    if (leaf->range.constant) {
        leaf->is_negated = true;
    } else if (leaf->column == KeptLeaf::Numbers) {
        condition->null_passes = !condition->null_passes;
        condition->test = condition->null_passes ? KeptTest::Outside : KeptTest::Inside;
    } else if (condition->is_of_bytes()) {
        condition->test = condition->test == KeptTest::Same ? KeptTest::Other : KeptTest::Same;
    } else {
        condition->interval = {0, 0};  // false
    }
}

// --- Lists of values

// column <comparison> value, of each value of a list; NIL: they are no constants, or too many.
List* comparisons_of(const ScalarArrayOpExpr* list) {
    const Const* constant = as_constant(static_cast<const Node*>(lsecond(list->args)));
    if (!constant || constant->constisnull) return NIL;
    ArrayType* array = DatumGetArrayTypeP(constant->constvalue);
    const Oid type = ARR_ELEMTYPE(array);
    int16 length;
    bool by_value;
    char alignment;
    get_typlenbyvalalign(type, &length, &by_value, &alignment);
    if (ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) > kMostElements) return NIL;
    Datum* values;
    bool* nulls;
    int count;
    deconstruct_array(array, type, length, by_value, alignment, &values, &nulls, &count);
    List* comparisons = NIL;
    for (int i = 0; i < count; i++) {
        Const* value = makeConst(type, -1, constant->constcollid, length, values[i], nulls[i], by_value);
        Expr* comparison = make_opclause(list->opno, BOOLOID, false, static_cast<Expr*>(linitial(list->args)),
                                         reinterpret_cast<Expr*>(value), InvalidOid, list->inputcollid);
        comparisons = lappend(comparisons, comparison);
    }
    return comparisons;
}

bool are_leaves(List* nodes) {
    ListCell* cell;
    KeptLeaf leaf;
    foreach (cell, nodes)
        if (!find_leaf(static_cast<const Node*>(lfirst(cell)), &leaf)) return false;
    return nodes != NIL;
}

// Whether there are tests of columns in it.
bool has_leaf(const Node* node) {
    KeptLeaf leaf;
    if (IsA(node, ScalarArrayOpExpr))
        return are_leaves(comparisons_of(reinterpret_cast<const ScalarArrayOpExpr*>(node)));
    if (!IsA(node, BoolExpr)) return find_leaf(node, &leaf);
    ListCell* cell;
    foreach (cell, reinterpret_cast<const BoolExpr*>(node)->args)
        if (has_leaf(static_cast<const Node*>(lfirst(cell)))) return true;
    return false;
}

// --- Writing. Each returns where the test begins.

// Where rows go on that meet what is written, and the others.
struct Ends {
    uint8 passed;
    uint8 failed;
};

uint8 write_leaf(Formula* formula, const KeptLeaf& leaf, Ends ends) {
    KeptFormula* written = formula->written;
    if (written->count == int{kMaxKeptConditions}) {
        formula->is_too_long = true;
        return kRowIsUnwanted;
    }
    written->leaves[written->count] = leaf;
    written->leaves[written->count].condition.if_passed = ends.passed;
    written->leaves[written->count].condition.if_failed = ends.failed;
    return static_cast<uint8>(written->count++);
}

uint8 write_computed(Formula* formula, Node* expression, bool is_negated, Ends ends) {
    formula->fails |= !may_keep_expression(expression);
    KeptLeaf leaf = {};
    leaf.column = KeptLeaf::Computed;
    leaf.expression = canonical_expression(expression);
    leaf.condition.interval = {is_negated ? 0 : 1, 0};
    return write_leaf(formula, leaf, ends);
}

uint8 write(Formula* formula, Node* node, bool is_negated, Ends ends);

// Those of the nodes, all of which or one of which must hold, that are no tests of columns.
Node* rest_of(List* nodes, BoolExprType connection) {
    List* rest = NIL;
    ListCell* cell;
    foreach (cell, nodes)
        if (!has_leaf(static_cast<const Node*>(lfirst(cell)))) rest = lappend(rest, lfirst(cell));
    if (list_length(rest) < 2) return rest ? static_cast<Node*>(linitial(rest)) : nullptr;
    return reinterpret_cast<Node*>(makeBoolExpr(connection, rest, -1));
}

uint8 write_all(Formula* formula, List* nodes, BoolExprType connection, bool is_negated, Ends ends) {
    const bool is_and = (connection == AND_EXPR) != is_negated;
    uint8* const next = is_and ? &ends.passed : &ends.failed;
    if (Node* rest = rest_of(nodes, connection)) *next = write_computed(formula, rest, is_negated, ends);
    for (int i = list_length(nodes) - 1; i >= 0; i--) {
        auto* node = static_cast<Node*>(list_nth(nodes, i));
        if (has_leaf(node)) *next = write(formula, node, is_negated, ends);
    }
    return *next;
}

// What has tests of columns.
uint8 write(Formula* formula, Node* node, bool is_negated, Ends ends) {
    check_stack_depth();
    if (IsA(node, BoolExpr)) {
        const auto* connected = reinterpret_cast<const BoolExpr*>(node);
        if (connected->boolop == NOT_EXPR)
            return write(formula, static_cast<Node*>(linitial(connected->args)), !is_negated, ends);
        return write_all(formula, connected->args, connected->boolop, is_negated, ends);
    }
    if (IsA(node, ScalarArrayOpExpr)) {
        const auto* list = reinterpret_cast<const ScalarArrayOpExpr*>(node);
        return write_all(formula, comparisons_of(list), list->useOr ? OR_EXPR : AND_EXPR, is_negated, ends);
    }
    KeptLeaf leaf;
    find_leaf(node, &leaf);
    if (is_negated) negate(&leaf);
    return write_leaf(formula, leaf, ends);
}

// What becomes too long is kept as one column.
uint8 write_clause(Formula* formula, Node* clause, Ends ends) {
    if (!has_leaf(clause)) return write_computed(formula, clause, false, ends);
    const Formula before = *formula;
    const int count = formula->written->count;
    const uint8 begin = write(formula, clause, false, ends);
    if (!formula->is_too_long && !formula->fails) return begin;
    *formula = before;
    formula->written->count = count;
    return write_computed(formula, clause, false, ends);
}

bool is_one_leaf(const Node* clause) {
    KeptLeaf leaf;
    return find_leaf(clause, &leaf);
}

// Single tests first: rows that fail them are left out at once. The order among them is as it was.
List* in_order(List* clauses) {
    List* single = NIL;
    List* others = NIL;
    ListCell* cell;
    foreach (cell, clauses) {
        List** to = is_one_leaf(static_cast<const Node*>(lfirst(cell))) ? &single : &others;
        *to = lappend(*to, lfirst(cell));
    }
    return list_concat(single, others);
}

uint8 place_from_start(uint8 from_end, int count) {
    return from_end < kRowIsWanted ? static_cast<uint8>(count - 1 - from_end) : from_end;
}

void turn_around(KeptFormula* formula) {
    std::reverse(formula->leaves, formula->leaves + formula->count);
    for (int i = 0; i < formula->count; i++) {
        KeptCondition* condition = &formula->leaves[i].condition;
        condition->if_passed = place_from_start(condition->if_passed, formula->count);
        condition->if_failed = place_from_start(condition->if_failed, formula->count);
    }
}

// Values that are between low and low + span, or outside; of the others, where it is negated.
KeptCondition in_range(KeptCondition condition, ValueRange range, bool is_negated) {
    if (range.never) range = {PG_INT64_MIN, PG_UINT64_MAX, true, false};
    condition.interval = {range.low, range.span};
    condition.test = range.outside != is_negated ? KeptTest::Outside : KeptTest::Inside;
    return condition;
}

}  // namespace

const KeptFormula* make_kept_formula(List* clauses) {
    Formula formula = {zeroed<KeptFormula>(), false, false};
    List* ordered = in_order(clauses);
    Ends ends = {kRowIsWanted, kRowIsUnwanted};
    for (int i = list_length(ordered) - 1; i >= 0; i--)
        ends.passed = write_clause(&formula, static_cast<Node*>(list_nth(ordered, i)), ends);
    if (formula.fails || formula.is_too_long) return nullptr;
    KeptFormula* made = formula.written;
    turn_around(made);
    // Core asks for the first clause's constant whatever becomes of the others.
    if (made->count > 0 && linitial(ordered) == linitial(clauses) &&
        is_one_leaf(static_cast<const Node*>(linitial(clauses))))
        made->leaves[0].is_asked_first = true;
    return made;
}

KeptCondition kept_condition_of(const KeptLeaf* leaf, Datum constant, bool isnull) {
    if (isnull) return in_range(leaf->condition, {0, 0, false, true}, false);
    return in_range(leaf->condition, range_of(&leaf->range, constant), leaf->is_negated);
}

}  // namespace gpujoin
