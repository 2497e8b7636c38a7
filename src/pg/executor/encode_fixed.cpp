// Encoders of fixed width: integers widened to the encoding's width, floats normalised (one NaN, no -0),
// oids, bool, "char", uuid, and dates as timestamps.
#include <cmath>
#include <cstring>
#include <limits>

#include "pg/decimal.h"
#include "pg/executor/encoders.h"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/uuid.h"
}

namespace gpujoin {

namespace {

int64_t read_int2(Datum value) {
    return DatumGetInt16(value);
}
int64_t read_int4(Datum value) {
    return DatumGetInt32(value);
}
int64_t read_int8(Datum value) {
    return DatumGetInt64(value);
}
int64_t read_oid(Datum value) {
    return DatumGetObjectId(value);
}
int64_t read_bool(Datum value) {
    return DatumGetBool(value);
}
int64_t read_char(Datum value) {
    return static_cast<unsigned char>(DatumGetChar(value));
}
// A date beyond the last timestamp lies below infinity and above every timestamp.
int64_t read_date(Datum value) {
    DateADT date = DatumGetDateADT(value);
    if (DATE_IS_NOBEGIN(date)) return DT_NOBEGIN;
    if (DATE_IS_NOEND(date)) return DT_NOEND;
    if (date >= TIMESTAMP_END_JULIAN - POSTGRES_EPOCH_JDATE) return DT_NOEND - 1;
    return date * USECS_PER_DAY;
}
double read_float4(Datum value) {
    return DatumGetFloat4(value);
}
double read_float8(Datum value) {
    return DatumGetFloat8(value);
}

template <typename Wire, int64_t (*read)(Datum)>
bool put_integer(InputColumn* column, uint32_t row, Datum value) {
    reinterpret_cast<Wire*>(column->values)[row] = static_cast<Wire>(read(value));
    return true;
}

template <typename Wire, double (*read)(Datum)>
bool put_float(InputColumn* column, uint32_t row, Datum value) {
    Wire number = static_cast<Wire>(read(value));
    if (std::isnan(number)) number = std::numeric_limits<Wire>::quiet_NaN();
    reinterpret_cast<Wire*>(column->values)[row] = number + Wire{0};  // -0 + 0 is +0
    return true;
}

bool put_uuid(InputColumn* column, uint32_t row, Datum value) {
    memcpy(column->values + uint64_t{UUID_LEN} * row, DatumGetUUIDP(value)->data, UUID_LEN);
    return true;
}

// Of a column of a table, whose type is a promise.
bool put_decimal(InputColumn* column, uint32_t row, Datum value) {
    int64 number;
    int scale;
    if (unlikely(!decimal_of(value, &number, &scale) || scale != column->scale)) {
        if (!is_nan(value)) elog(ERROR, "a numeric has other digits than its column's type allows");
        number = kDecimalNaN;
    }
    reinterpret_cast<int64*>(column->values)[row] = number;
    return true;
}

// Integers, and types that are integers inside (date, time, timestamps).
template <typename Wire>
Encoder integer_encoder(Oid declared_type) {
    if (declared_type == OIDOID) return encoder_of<put_integer<Wire, read_oid>>;
    switch (get_typlen(declared_type)) {
        case 2:
            return encoder_of<put_integer<Wire, read_int2>>;
        case 4:
            return encoder_of<put_integer<Wire, read_int4>>;
        case 8:
            return encoder_of<put_integer<Wire, read_int8>>;
        default:
            return {};
    }
}

}  // namespace

Encoder find_fixed_encoder(KeyEncoding encoding, Oid declared_type) {
    switch (encoding) {
        case KeyEncoding::Bool:
            return encoder_of<put_integer<uint8_t, read_bool>>;
        case KeyEncoding::Char1:
            return encoder_of<put_integer<uint8_t, read_char>>;
        case KeyEncoding::Int16:
            return integer_encoder<int16_t>(declared_type);
        case KeyEncoding::Int32:
            return integer_encoder<int32_t>(declared_type);
        case KeyEncoding::Int64:
            return integer_encoder<int64_t>(declared_type);
        case KeyEncoding::DateTimestamp:
            return declared_type == DATEOID ? encoder_of<put_integer<int64_t, read_date>>
                                            : encoder_of<put_integer<int64_t, read_int8>>;
        case KeyEncoding::Oid32:
            return encoder_of<put_integer<uint32_t, read_oid>>;
        case KeyEncoding::Float64:
            return declared_type == FLOAT4OID ? encoder_of<put_float<double, read_float4>>
                                              : encoder_of<put_float<double, read_float8>>;
        case KeyEncoding::Float32:
            return encoder_of<put_float<float, read_float4>>;
        case KeyEncoding::Float8Value:
            return encoder_of<put_integer<int64_t, read_int8>>;  // their bits
        case KeyEncoding::Float4Value:
            return encoder_of<put_integer<int32_t, read_int4>>;
        case KeyEncoding::Uuid:
            return encoder_of<put_uuid>;
        case KeyEncoding::Decimal64:
            return encoder_of<put_decimal>;
        default:
            return {};
    }
}

}  // namespace gpujoin
