// See overflow.h.
#include "pg/overflow.h"

#include "pg/compat.h"

extern "C" {
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
}

namespace gpujoin {
namespace {

bool overflow_checker(Oid function, void*) {
    return may_overflow(function);
}

bool overflow_walker(Node* node, void* context) {
    if (!node) return false;
    if (check_functions_in_node(node, overflow_checker, nullptr)) return true;
    return walk_expression(node, overflow_walker, context);
}

}  // namespace

bool may_overflow(Oid function) {
    switch (function) {
        case F_NUMERIC_ADD:
        case F_NUMERIC_SUB:
        case F_NUMERIC_MUL:
        case F_FLOAT4PL:
        case F_FLOAT4MI:
        case F_FLOAT8PL:
        case F_FLOAT8MI:
        case F_FLOAT48PL:
        case F_FLOAT48MI:
        case F_FLOAT84PL:
        case F_FLOAT84MI:
        case F_DATE_PL_INTERVAL:
        case F_DATE_MI_INTERVAL:
        case F_TIMESTAMP_PL_INTERVAL:
        case F_TIMESTAMP_MI_INTERVAL:
        case F_TIMESTAMPTZ_PL_INTERVAL:
        case F_TIMESTAMPTZ_MI_INTERVAL:
            return true;
        default:
            return false;
    }
}

bool may_overflow(Node* expression) {
    return overflow_walker(expression, nullptr);
}

}  // namespace gpujoin
