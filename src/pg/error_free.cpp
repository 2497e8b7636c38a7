// See error_free.h.
#include "pg/error_free.h"

#include <algorithm>
#include <iterator>

#include "pg/compat.h"
#include "pg/overflow.h"
#include "pg/integers.h"

extern "C" {
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"
}

namespace gpujoin {
namespace {

using Magnitude = unsigned __int128;

// Functions that are not marked leakproof, which says that too.
bool is_known_as_error_free(Oid function) {
    switch (function) {
        case F_LOWER_ANYRANGE:
        case F_UPPER_ANYRANGE:
        case F_ISEMPTY_ANYRANGE:
        case F_NUMERIC_EQ:
        case F_NUMERIC_NE:
        case F_NUMERIC_LT:
        case F_NUMERIC_LE:
        case F_NUMERIC_GE:
        case F_NUMERIC_GT:
        case F_NUMERIC_CMP:
        case F_NUMERIC_UMINUS:
        case F_NUMERIC_ABS:
        case F_ABS_NUMERIC:
        case F_FLOAT4UM:
        case F_FLOAT8UM:
        case F_ABS_FLOAT4:
        case F_ABS_FLOAT8:
        case F_DATE_TIMESTAMP:     // each timestamp has a date
        case F_DATE_EQ_TIMESTAMP:  // dates that have no timestamp compare as what lies beyond them all
        case F_DATE_NE_TIMESTAMP:
        case F_DATE_LT_TIMESTAMP:
        case F_DATE_LE_TIMESTAMP:
        case F_DATE_GT_TIMESTAMP:
        case F_DATE_GE_TIMESTAMP:
        case F_TIMESTAMP_EQ_DATE:
        case F_TIMESTAMP_NE_DATE:
        case F_TIMESTAMP_LT_DATE:
        case F_TIMESTAMP_LE_DATE:
        case F_TIMESTAMP_GT_DATE:
        case F_TIMESTAMP_GE_DATE:
        case F_TEXT_BPCHAR:
        case F_LENGTH_TEXT:
        case F_LENGTH_BPCHAR:
        case F_LEFT:
        case F_RIGHT:
        case F_LTRIM_TEXT:
        case F_RTRIM_TEXT:
        case F_BTRIM_TEXT:
        case F_SUBSTR_TEXT_INT4:
        case F_SUBSTRING_TEXT_INT4:
            return true;
        default:
            return false;
    }
}

bool may_fail(Oid function, void*) {
    return !get_func_leakproof(function) && !is_known_as_error_free(function) && !may_overflow(function);
}

// Among which least() and greatest() choose.
bool comparison_may_fail(const MinMaxExpr* choice) {
    Oid function = lookup_type_cache(choice->minmaxtype, TYPECACHE_CMP_PROC)->cmp_proc;
    return !OidIsValid(function) || may_fail(function, nullptr);
}

bool is_of_user(Oid function, void*) {
    return function >= FirstNormalObjectId;
}

// No integer of a type is further from 0.
Magnitude largest_magnitude(Oid type) {
    return Magnitude{1} << (type == INT2OID ? 15 : type == INT4OID ? 31 : 63);
}

// How far from 0 an integer expression may be at most, if its operations on bigint do not overflow.
Magnitude magnitude(Node* node) {
    int64 value;
    if (integer_constant(node, &value)) return value < 0 ? -static_cast<Magnitude>(value) : value;
    Oid function = InvalidOid;
    List* arguments = call_arguments(node, &function);
    auto of_argument = [arguments](int i) { return magnitude(static_cast<Node*>(list_nth(arguments, i))); };
    switch (function) {
        case F_INT8_INT2:
        case F_INT8_INT4:
        case F_INT8UM:
        case F_INT8ABS:
        case F_ABS_INT8:
        case F_INT8DIV:
        case F_INT8MOD:
            return of_argument(0);
        case F_INT8PL:
        case F_INT8MI:
            return of_argument(0) + of_argument(1);
        case F_INT8MUL:
            return of_argument(0) * of_argument(1);
        default:
            return largest_magnitude(getBaseType(exprType(node)));
    }
}

// An operation on bigint whose result is one, whatever the values of its operands are.
bool stays_bigint(Node* node) {
    Oid function = InvalidOid;
    List* arguments = call_arguments(node, &function);
    int64 divisor;
    switch (function) {
        case F_INT8PL:
        case F_INT8MI:
        case F_INT8MUL:
        case F_INT8UM:
        case F_INT8ABS:
        case F_ABS_INT8:
            return magnitude(node) <= PG_INT64_MAX;
        case F_INT8DIV:
        case F_INT8MOD:
            return integer_constant(lsecond(arguments), &divisor) && divisor != 0 &&
                   (divisor != -1 || magnitude(node) <= PG_INT64_MAX);
        default:
            return false;
    }
}

// The fields that every value of the type has, infinite ones too.
bool has_field(Oid type, const char* field) {
    constexpr const char* kOfDates[] = {"year",    "month",  "day",    "quarter", "week",       "dow",  "doy",
                                        "isoyear", "isodow", "decade", "century", "millennium", "epoch"};
    constexpr const char* kOfTimes[] = {"hour", "minute", "second", "milliseconds", "microseconds"};
    auto is_field = [field](const char* one) { return strcmp(one, field) == 0; };
    if (type != TIMEOID && std::any_of(std::begin(kOfDates), std::end(kOfDates), is_field)) return true;
    return type != DATEOID && std::any_of(std::begin(kOfTimes), std::end(kOfTimes), is_field);
}

const Const* known_constant(const List* arguments, int number) {
    const Node* node = static_cast<Node*>(list_nth(arguments, number));
    return IsA(node, Const) && !reinterpret_cast<const Const*>(node)->constisnull
               ? reinterpret_cast<const Const*>(node)
               : nullptr;
}

bool has_known_field(const List* arguments) {
    const Const* field = known_constant(arguments, 0);
    return field && has_field(exprType(static_cast<Node*>(lsecond(arguments))),
                              TextDatumGetCString(field->constvalue));
}

// A pattern that ends within an escape is an error.
bool has_plain_pattern(Node* node, const List* arguments) {
    const Const* pattern = known_constant(arguments, 1);
    Oid collation = exprInputCollation(node);
    return pattern && OidIsValid(collation) && get_collation_isdeterministic(collation) &&
           !strchr(TextDatumGetCString(pattern->constvalue), '\\');
}

bool has_known_length(const List* arguments) {
    const Const* length = known_constant(arguments, 2);
    return length && DatumGetInt32(length->constvalue) >= 0;
}

// No timestamp is cut off to one before all others: the first of them begins a day.
bool has_short_field(const List* arguments) {
    constexpr const char* kFields[] = {"microseconds", "milliseconds", "second", "minute", "hour", "day"};
    const Const* field = known_constant(arguments, 0);
    if (!field) return false;
    const char* name = TextDatumGetCString(field->constvalue);
    return std::any_of(std::begin(kFields), std::end(kFields),
                       [name](const char* one) { return strcmp(one, name) == 0; });
}

// The remainder of a division by -1 is 0, but the quotient of the smallest integer is none.
bool has_safe_divisor(const List* arguments, bool is_remainder) {
    int64 divisor;
    return integer_constant(static_cast<Node*>(lsecond(arguments)), &divisor) && divisor != 0 &&
           (is_remainder || divisor != -1);
}

// A call that fails for some values of an argument that is a constant, but not for this one.
bool has_safe_constant(Node* node) {
    Oid function = InvalidOid;
    const List* arguments = call_arguments(node, &function);
    switch (function) {
        case F_EXTRACT_TEXT_DATE:
        case F_EXTRACT_TEXT_TIME:
        case F_EXTRACT_TEXT_TIMESTAMP:
        case F_EXTRACT_TEXT_TIMESTAMPTZ:
        case F_DATE_PART_TEXT_TIME:
        case F_DATE_PART_TEXT_TIMESTAMP:
        case F_DATE_PART_TEXT_TIMESTAMPTZ:
            return has_known_field(arguments);
        case F_TEXTLIKE:
        case F_TEXTNLIKE:
        case F_BPCHARLIKE:
        case F_BPCHARNLIKE:
            return has_plain_pattern(node, arguments);
        case F_SUBSTR_TEXT_INT4_INT4:
        case F_SUBSTRING_TEXT_INT4_INT4:
            return has_known_length(arguments);
        case F_DATE_TRUNC_TEXT_TIMESTAMP:
            return has_short_field(arguments);
        case F_INT2MOD:
        case F_INT4MOD:
        case F_MOD_INT2_INT2:
        case F_MOD_INT4_INT4:
            return has_safe_divisor(arguments, true);
        case F_INT2DIV:
        case F_INT4DIV:
        case F_INT24DIV:
        case F_INT42DIV:
        case F_INT82DIV:
        case F_INT84DIV:
            return has_safe_divisor(arguments, false);
        default:
            return false;
    }
}

bool may_fail_walker(Node* node, void* context) {
    if (!node) return false;
    switch (nodeTag(node)) {
        case T_PlaceHolderVar:  // evaluated further down
            return false;
        case T_Var:
        case T_Const:
        case T_Param:
        case T_RelabelType:
        case T_BoolExpr:
        case T_CaseExpr:
        case T_CaseWhen:
        case T_CaseTestExpr:
        case T_CoalesceExpr:
        case T_NullTest:
        case T_BooleanTest:
        case T_List:
            break;
        case T_MinMaxExpr:
            if (comparison_may_fail(reinterpret_cast<MinMaxExpr*>(node))) return true;
            break;
        case T_OpExpr:
        case T_FuncExpr:
        case T_DistinctExpr:
        case T_NullIfExpr:
        case T_ScalarArrayOpExpr:
            if (!stays_bigint(node) && !has_safe_constant(node) &&
                check_functions_in_node(node, may_fail, nullptr))
                return true;
            break;
        default:
            return true;
    }
    return walk_expression(node, may_fail_walker, context);
}

bool calls_user_functions(Node* node, void* context) {
    if (!node) return false;
    if (check_functions_in_node(node, is_of_user, nullptr)) return true;
    return walk_expression(node, calls_user_functions, context);
}

}  // namespace

bool cannot_fail(Node* expression) {
    if (may_fail_walker(expression, nullptr)) return false;
    // Only what built-in functions leave behind can be passed over, without a subtransaction.
    return !may_overflow(expression) || !calls_user_functions(expression, nullptr);
}

}  // namespace gpujoin
