// The operators whose values can be joined as bytes. One table: a row says which operator family, over which
// two declared types, is encoded how for equality and how for order. Everything else about an operator (which
// comparison it is) follows from its strategy in the family, so that no operator is named anywhere.
#include "pg/key_encoding.h"

#include <iterator>

#include "pg/compat.h"

extern "C" {
#include "access/stratnum.h"
#include "access/transam.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
}

namespace gpujoin {
namespace {

// The b-tree families that PostgreSQL's headers do not name.
constexpr Oid kCharFamily = 429;
constexpr Oid kDateTimeFamily = 434;
constexpr Oid kFloatFamily = 1970;
constexpr Oid kNumericFamily = 1988;
constexpr Oid kTimeFamily = 1996;
constexpr Oid kUuidFamily = 2968;
constexpr Oid kEnumFamily = 3522;

struct EncodingRow {
    Oid family;
    Oid left_type;
    Oid right_type;
    KeyEncoding equality;
    KeyEncoding order;  // None: byte order is not the type's order
};

using enum KeyEncoding;

// Left out on purpose: timestamptz against date or timestamp, which depends on TimeZone.
constexpr EncodingRow kEncodings[] = {
    {BOOL_BTREE_FAM_OID, BOOLOID, BOOLOID, Bool, Bool},
    {kCharFamily, CHAROID, CHAROID, Char1, Char1},
    {INTEGER_BTREE_FAM_OID, INT2OID, INT2OID, Int16, Int16},
    {INTEGER_BTREE_FAM_OID, INT2OID, INT4OID, Int32, Int32},
    {INTEGER_BTREE_FAM_OID, INT4OID, INT2OID, Int32, Int32},
    {INTEGER_BTREE_FAM_OID, INT4OID, INT4OID, Int32, Int32},
    {INTEGER_BTREE_FAM_OID, INT2OID, INT8OID, Int64, Int64},
    {INTEGER_BTREE_FAM_OID, INT8OID, INT2OID, Int64, Int64},
    {INTEGER_BTREE_FAM_OID, INT4OID, INT8OID, Int64, Int64},
    {INTEGER_BTREE_FAM_OID, INT8OID, INT4OID, Int64, Int64},
    {INTEGER_BTREE_FAM_OID, INT8OID, INT8OID, Int64, Int64},
    {OID_BTREE_FAM_OID, OIDOID, OIDOID, Oid32, Oid32},
    {kFloatFamily, FLOAT4OID, FLOAT4OID, Float32, Float32},
    {kFloatFamily, FLOAT4OID, FLOAT8OID, Float64, Float64},
    {kFloatFamily, FLOAT8OID, FLOAT4OID, Float64, Float64},
    {kFloatFamily, FLOAT8OID, FLOAT8OID, Float64, Float64},
    {kNumericFamily, NUMERICOID, NUMERICOID, Numeric, NumericOrder},
    {kDateTimeFamily, DATEOID, DATEOID, Int32, Int32},
    {kDateTimeFamily, TIMESTAMPOID, TIMESTAMPOID, Int64, Int64},
    {kDateTimeFamily, TIMESTAMPTZOID, TIMESTAMPTZOID, Int64, Int64},
    {kDateTimeFamily, DATEOID, TIMESTAMPOID, DateTimestamp, DateTimestamp},
    {kDateTimeFamily, TIMESTAMPOID, DATEOID, DateTimestamp, DateTimestamp},
    {kTimeFamily, TIMEOID, TIMEOID, Int64, Int64},
    {TEXT_BTREE_FAM_OID, TEXTOID, TEXTOID, Text, Text},
    {TEXT_BTREE_FAM_OID, NAMEOID, NAMEOID, Name, Name},
    {TEXT_BTREE_FAM_OID, NAMEOID, TEXTOID, Name, Name},
    {TEXT_BTREE_FAM_OID, TEXTOID, NAMEOID, Name, Name},
    {BPCHAR_BTREE_FAM_OID, BPCHAROID, BPCHAROID, Bpchar, Bpchar},
    {BYTEA_BTREE_FAM_OID, BYTEAOID, BYTEAOID, Bytea, Bytea},
    {kUuidFamily, UUIDOID, UUIDOID, Uuid, UuidOrder},
    {kEnumFamily, ANYENUMOID, ANYENUMOID, Oid32, None},
};

const EncodingRow* find_row(Oid left_type, Oid right_type) {
    for (const EncodingRow& row : kEncodings)
        if (row.left_type == left_type && row.right_type == right_type) return &row;
    return nullptr;
}

// Which comparison an operator is in a b-tree family; false when it is not of the family. Inequality is not a
// strategy: it is known as the negator of the family's equality.
bool comparison_in_family(Oid opno, Oid family, Comparison* comparison) {
    constexpr Comparison kByStrategy[] = {Comparison::Equal,  // not a strategy
                                          Comparison::Less,         Comparison::LessEqual, Comparison::Equal,
                                          Comparison::GreaterEqual, Comparison::Greater};
    static_assert(std::size(kByStrategy) == BTMaxStrategyNumber + 1);
    int strategy = get_op_opfamily_strategy(opno, family);
    if (strategy != 0) {
        *comparison = kByStrategy[strategy];
        return true;
    }
    *comparison = Comparison::NotEqual;
    Oid negator = get_negator(opno);
    return OidIsValid(negator) && get_op_opfamily_strategy(negator, family) == BTEqualStrategyNumber;
}

// What the catalog tells of an operator. row: nullptr for those that are not encodable.
struct Operator {
    Oid opno;
    Oid left_type;
    Oid right_type;
    const EncodingRow* row;
    Comparison comparison;
};

Operator look_up_operator(Oid opno) {
    Operator found = {opno, InvalidOid, InvalidOid, nullptr, Comparison::Equal};
    op_input_types(opno, &found.left_type, &found.right_type);
    const EncodingRow* row = find_row(found.left_type, found.right_type);
    if (row && comparison_in_family(opno, row->family, &found.comparison)) found.row = row;
    return found;
}

// PostgreSQL's own operators stay what they are, and the same few are asked for again and again while a query
// is planned: each has its place here, unless another one took it.
const Operator* find_operator(Oid opno) {
    static Operator known[64];
    static Operator other;
    if (opno >= FirstNormalObjectId) {
        other = look_up_operator(opno);
        return &other;
    }
    Operator* place = &known[opno % std::size(known)];
    if (place->opno != opno) *place = look_up_operator(opno);
    return place;
}

bool depends_on_collation(const EncodingRow& row) {
    return row.family == TEXT_BTREE_FAM_OID || row.family == BPCHAR_BTREE_FAM_OID;
}

// Equal texts are equal bytes under every deterministic collation; byte order is C's alone.
bool collation_allows(Oid collation, bool ordered) {
    if (!OidIsValid(collation)) return false;
    return ordered ? orders_by_bytes(collation) : get_collation_isdeterministic(collation);
}

}  // namespace

bool find_operator_encoding(Oid opno, Oid inputcollid, OperatorEncoding* found) {
    const Operator* known = find_operator(opno);
    const EncodingRow* row = known->row;
    if (!row) return false;
    found->left_type = known->left_type;
    found->right_type = known->right_type;
    found->comparison = known->comparison;
    bool ordered = found->comparison != Comparison::Equal && found->comparison != Comparison::NotEqual;
    if (depends_on_collation(*row) && !collation_allows(inputcollid, ordered)) return false;
    found->encoding = ordered ? row->order : row->equality;
    return found->encoding != None;
}

ColumnSpec column_of(KeyEncoding encoding) {
    switch (encoding) {
        case Bool:
        case Char1:
            return {ColumnType::Fixed1, ValueOrder::Unsigned, 1, 0};
        case Int16:
            return {ColumnType::Fixed2, ValueOrder::Signed, 1, 0};
        case Int32:
            return {ColumnType::Fixed4, ValueOrder::Signed, 1, 0};
        case Int64:
        case DateTimestamp:
        case BoundInt64:
        case Decimal64:
            return {ColumnType::Fixed8, ValueOrder::Signed, 1, 0};
        case Oid32:
            return {ColumnType::Fixed4, ValueOrder::Unsigned, 1, 0};
        case Hash64:
            return {ColumnType::Fixed8, ValueOrder::Unsigned, 1, 0};
        case Float32:
        case Float4Value:
            return {ColumnType::Fixed4, ValueOrder::Float, 1, 0};
        case Float64:
        case Float8Value:
            return {ColumnType::Fixed8, ValueOrder::Float, 1, 0};
        case Uuid:
            return {ColumnType::Fixed16, ValueOrder::Unsigned, 1, 0};
        case BoundInt128:
            return {ColumnType::Fixed16, ValueOrder::Signed, 1, 0};
        case Text:
        case Name:
        case Bpchar:
        case Bytea:
        case Numeric:
        case NumericOrder:
        case UuidOrder:
        case BoundNumeric:
            return {ColumnType::Bytes, ValueOrder::Bytes, 1, 0};
        case None:
            break;
    }
    elog(ERROR, "key encoding %d has no column", static_cast<int>(encoding));
}

bool holds_value(KeyEncoding encoding, int length) {
    switch (encoding) {
        case KeyEncoding::Float32:
        case KeyEncoding::Float64:
        case KeyEncoding::Hash64:
        case KeyEncoding::DateTimestamp:
            return false;
        default:
            return !is_bound(encoding) && length > 0 &&
                   fixed_width(column_of(encoding).type) == static_cast<uint32_t>(length);
    }
}

}  // namespace gpujoin
