// See shifted_column.h.
#include "pg/shifted_column.h"

extern "C" {
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"
}

namespace gpujoin {
namespace {

// The number that a constant adds. False where it is NULL, or not the same for every value.
bool addend_of(const Node* node, bool in_utc, int64* addend) {
    if (!IsA(node, Const) || reinterpret_cast<const Const*>(node)->constisnull) return false;
    Datum value = reinterpret_cast<const Const*>(node)->constvalue;
    const Interval* interval;
    switch (reinterpret_cast<const Const*>(node)->consttype) {
        case INT2OID:
            *addend = DatumGetInt16(value);
            return true;
        case INT4OID:
            *addend = DatumGetInt32(value);
            return true;
        case INT8OID:
            *addend = DatumGetInt64(value);
            return true;
        case INTERVALOID:
            interval = DatumGetIntervalP(value);
            if (interval->month != 0 || (interval->day != 0 && !in_utc)) return false;
            return !__builtin_add_overflow(interval->day * USECS_PER_DAY, interval->time, addend);
        default:
            return false;
    }
}

// +1 for a sum, -1 for a difference, 0 for everything else.
int direction(Oid function) {
    switch (function) {
        case F_INT2PL:
        case F_INT4PL:
        case F_INT24PL:
        case F_INT42PL:
        case F_INT8PL:
        case F_INT82PL:
        case F_INT28PL:
        case F_INT84PL:
        case F_INT48PL:
        case F_DATE_PLI:
        case F_TIMESTAMP_PL_INTERVAL:
        case F_TIMESTAMPTZ_PL_INTERVAL:
            return 1;
        case F_INT2MI:
        case F_INT4MI:
        case F_INT24MI:
        case F_INT42MI:
        case F_INT8MI:
        case F_INT82MI:
        case F_INT28MI:
        case F_INT84MI:
        case F_INT48MI:
        case F_DATE_MII:
        case F_TIMESTAMP_MI_INTERVAL:
        case F_TIMESTAMPTZ_MI_INTERVAL:
            return -1;
        default:
            return 0;
    }
}

bool find_shifted(Node* node, ShiftedColumn* found);

bool find_shifted_sum(OpExpr* sum, ShiftedColumn* found) {
    set_opfuncid(sum);
    int sign = direction(sum->opfuncid);
    if (sign == 0) return false;
    auto* left = static_cast<Node*>(linitial(sum->args));
    auto* right = static_cast<Node*>(lsecond(sum->args));
    bool in_utc = exprType(left) == TIMESTAMPOID;
    int64 addend;
    if (addend_of(right, in_utc, &addend)) {
        if (!find_shifted(left, found)) return false;
        return sign > 0 ? !__builtin_add_overflow(found->addend, addend, &found->addend)
                        : !__builtin_sub_overflow(found->addend, addend, &found->addend);
    }
    if (!addend_of(left, in_utc, &addend) || !find_shifted(right, found)) return false;
    found->sign *= sign;
    return sign > 0 ? !__builtin_add_overflow(addend, found->addend, &found->addend)
                    : !__builtin_sub_overflow(addend, found->addend, &found->addend);
}

bool find_shifted(Node* node, ShiftedColumn* found) {
    while (IsA(node, RelabelType)) node = reinterpret_cast<Node*>(reinterpret_cast<RelabelType*>(node)->arg);
    if (IsA(node, Var)) {
        *found = {reinterpret_cast<Var*>(node), 0, 1};
        return true;
    }
    if (IsA(node, FuncExpr)) {
        auto* cast = reinterpret_cast<FuncExpr*>(node);
        bool widens = cast->funcid == F_INT8_INT2 || cast->funcid == F_INT8_INT4;
        return widens && find_shifted(static_cast<Node*>(linitial(cast->args)), found);
    }
    return IsA(node, OpExpr) && find_shifted_sum(reinterpret_cast<OpExpr*>(node), found);
}

// The encoding of values that holds sums with columns of the type.
KeyEncoding encoding_of_sums(Oid column_type) {
    switch (column_type) {
        case INT2OID:
        case INT4OID:
        case INT8OID:
        case TIMESTAMPOID:
        case TIMESTAMPTZOID:
            return KeyEncoding::Int64;
        case DATEOID:
            return KeyEncoding::Int32;
        default:
            return KeyEncoding::None;
    }
}

}  // namespace

bool find_shifted_column(Node* expression, KeyEncoding encoding, ShiftedColumn* found) {
    if (!find_shifted(expression, found)) return false;
    KeyEncoding sums = encoding_of_sums(found->column->vartype);
    return sums != KeyEncoding::None && (sums == encoding || is_bound(encoding));
}

bool compares_truly(const ShiftedColumn& shifted, Comparison comparison) {
    __int128 ends[2];  // of the column
    switch (shifted.column->vartype) {
        case INT2OID:
            ends[0] = PG_INT16_MIN, ends[1] = PG_INT16_MAX;
            break;
        case INT4OID:
            ends[0] = PG_INT32_MIN, ends[1] = PG_INT32_MAX;
            break;
        case INT8OID:
            ends[0] = PG_INT64_MIN, ends[1] = PG_INT64_MAX;
            break;
        default:  // dates and timestamps end before what holds them
            return true;
    }
    __int128 lowest = shifted.addend + shifted.sign * ends[shifted.sign < 0];
    __int128 highest = shifted.addend + shifted.sign * ends[shifted.sign > 0];
    bool above = comparison == Comparison::Less || comparison == Comparison::GreaterEqual;
    bool below = comparison == Comparison::LessEqual || comparison == Comparison::Greater;
    return (highest <= PG_INT64_MAX || above) && (lowest >= PG_INT64_MIN || below);
}

}  // namespace gpujoin
