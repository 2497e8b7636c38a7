// The types and functions that the filter machine knows.
#include "pg/planner/filter_operations.h"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
}

namespace gpujoin {
namespace {

constexpr FilterValueType kValueTypes[] = {
    {BOOLOID, FilterType::Int16, KeyEncoding::Bool},
    {INT2OID, FilterType::Int16, KeyEncoding::Int16},
    {INT4OID, FilterType::Int32, KeyEncoding::Int32},
    {INT8OID, FilterType::Int64, KeyEncoding::Int64},
    {OIDOID, FilterType::Int64, KeyEncoding::Oid32},
    {DATEOID, FilterType::Date, KeyEncoding::Int32},
    {TIMEOID, FilterType::Int64, KeyEncoding::Int64},
    {TIMESTAMPOID, FilterType::Timestamp, KeyEncoding::Int64},
    {TIMESTAMPTZOID, FilterType::Timestamp, KeyEncoding::Int64},
    {FLOAT4OID, FilterType::Float32, KeyEncoding::Float4Value},
    {FLOAT8OID, FilterType::Float64, KeyEncoding::Float8Value},
};

}  // namespace

const FilterValueType* find_value_type(Oid type) {
    for (const FilterValueType& row : kValueTypes)
        if (row.type == type) return &row;
    return nullptr;
}

bool constant_bits(const Const* constant, Oid type, int64* bits) {
    if (getBaseType(constant->consttype) != type) return false;
    Datum value = constant->constvalue;
    switch (type) {
        case BOOLOID:
            *bits = DatumGetBool(value);
            return true;
        case INT2OID:
            *bits = DatumGetInt16(value);
            return true;
        case INT4OID:
        case DATEOID:
            *bits = DatumGetInt32(value);
            return true;
        case OIDOID:
            *bits = DatumGetObjectId(value);
            return true;
        case FLOAT4OID: {
            double number = static_cast<double>(DatumGetFloat4(value));
            memcpy(bits, &number, sizeof(number));
            return true;
        }
        case FLOAT8OID:
        case INT8OID:
        case TIMEOID:
        case TIMESTAMPOID:
        case TIMESTAMPTZOID:
            *bits = DatumGetInt64(value);  // of a float8 the bits
            return true;
        default:
            return false;
    }
}

// The four arithmetic functions of a pair of types have names that differ in their ends only.
#define GPUJOIN_ARITHMETIC(types, type) \
    case F_##types##PL:                 \
        return found(Add, type);        \
    case F_##types##MI:                 \
        return found(Subtract, type);   \
    case F_##types##MUL:                \
        return found(Multiply, type);   \
    case F_##types##DIV:                \
        return found(Divide, type);

bool find_operation(Oid function, FilterOperation* operation) {
    using enum FilterOpcode;
    auto found = [operation](FilterOpcode opcode, FilterType type) {
        *operation = {opcode, type};
        return true;
    };
    auto found_void = [operation] {
        *operation = {Load, FilterType::Int64, true};
        return true;
    };
    auto found_finite = [operation](FilterOpcode opcode, FilterType type) {
        *operation = {opcode, type, false, true};
        return true;
    };
    switch (function) {
        GPUJOIN_ARITHMETIC(INT2, FilterType::Int16)
        GPUJOIN_ARITHMETIC(INT4, FilterType::Int32)
        GPUJOIN_ARITHMETIC(INT8, FilterType::Int64)
        GPUJOIN_ARITHMETIC(INT24, FilterType::Int32)
        GPUJOIN_ARITHMETIC(INT42, FilterType::Int32)
        GPUJOIN_ARITHMETIC(INT28, FilterType::Int64)
        GPUJOIN_ARITHMETIC(INT82, FilterType::Int64)
        GPUJOIN_ARITHMETIC(INT48, FilterType::Int64)
        GPUJOIN_ARITHMETIC(INT84, FilterType::Int64)
        GPUJOIN_ARITHMETIC(FLOAT4, FilterType::Float32)
        GPUJOIN_ARITHMETIC(FLOAT8, FilterType::Float64)
        GPUJOIN_ARITHMETIC(FLOAT48, FilterType::Float64)
        GPUJOIN_ARITHMETIC(FLOAT84, FilterType::Float64)
        case F_INT2MOD:
        case F_MOD_INT2_INT2:
            return found(Modulo, FilterType::Int16);
        case F_INT4MOD:
        case F_MOD_INT4_INT4:
            return found(Modulo, FilterType::Int32);
        case F_INT8MOD:
        case F_MOD_INT8_INT8:
            return found(Modulo, FilterType::Int64);
        case F_INT2UM:
            return found(Negate, FilterType::Int16);
        case F_INT4UM:
            return found(Negate, FilterType::Int32);
        case F_INT8UM:
            return found(Negate, FilterType::Int64);
        case F_FLOAT4UM:
            return found(Negate, FilterType::Float32);
        case F_FLOAT8UM:
            return found(Negate, FilterType::Float64);
        case F_INT2ABS:
        case F_ABS_INT2:
            return found(Absolute, FilterType::Int16);
        case F_INT4ABS:
        case F_ABS_INT4:
            return found(Absolute, FilterType::Int32);
        case F_INT8ABS:
        case F_ABS_INT8:
            return found(Absolute, FilterType::Int64);
        case F_FLOAT4ABS:
        case F_ABS_FLOAT4:
            return found(Absolute, FilterType::Float32);
        case F_FLOAT8ABS:
        case F_ABS_FLOAT8:
            return found(Absolute, FilterType::Float64);
        case F_INT4_INT2:
        case F_INT8_INT2:
        case F_INT8_INT4:
        case F_INT8_OID:
        case F_FLOAT8_FLOAT4:
            return found_void();
        case F_INT2_INT4:
        case F_INT2_INT8:
            return found(Check, FilterType::Int16);
        case F_INT4_INT8:
            return found(Check, FilterType::Int32);
        case F_FLOAT8_INT2:
        case F_FLOAT8_INT4:
        case F_FLOAT8_INT8:
            return found(ToFloat, FilterType::Float64);
        case F_DATE_PLI:
            return found_finite(Add, FilterType::Date);
        case F_DATE_MII:
            return found_finite(Subtract, FilterType::Date);
        case F_DATE_MI:
            return found_finite(Subtract, FilterType::Int32);
        case F_TIMESTAMP_PL_INTERVAL:
        case F_TIMESTAMPTZ_PL_INTERVAL:
            return found_finite(Add, FilterType::Timestamp);
        case F_TIMESTAMP_MI_INTERVAL:
        case F_TIMESTAMPTZ_MI_INTERVAL:
            return found_finite(Subtract, FilterType::Timestamp);
        case F_TIMESTAMP_MI:
        case F_TIMESTAMPTZ_MI:
            return found_finite(Subtract, FilterType::Int64);
        case F_TIME_MI_TIME:
            return found(Subtract, FilterType::Int64);
        default:
            return false;
    }
}

#undef GPUJOIN_ARITHMETIC

bool take_call(Node* node, FunctionCall* call) {
    List* arguments;
    if (IsA(node, OpExpr)) {
        auto* operation = reinterpret_cast<OpExpr*>(node);
        call->function = get_opcode(operation->opno);
        arguments = operation->args;
    } else if (IsA(node, FuncExpr)) {
        call->function = reinterpret_cast<FuncExpr*>(node)->funcid;
        // A cast may borrow the function of another one, as int2 to oid that of int2 to int4.
        if (reinterpret_cast<FuncExpr*>(node)->funcresulttype != get_func_rettype(call->function))
            return false;
        arguments = reinterpret_cast<FuncExpr*>(node)->args;
    } else {
        return false;
    }
    call->count = list_length(arguments);
    if (call->count < 1 || call->count > 2) return false;
    Oid* types;
    int declared;
    get_func_signature(call->function, &types, &declared);
    for (int i = 0; i < call->count; i++) {
        call->argument[i] = static_cast<Node*>(list_nth(arguments, i));
        call->type[i] = types[i];
    }
    return true;
}

}  // namespace gpujoin
