// The encoder of ordered keys that are a column plus or minus constants (see shifted_column.h). It computes
// what the expression would give, but saturates where that overflows: core evaluates such a condition for
// pairs that the other conditions let through, so that a row without a partner must not raise an error here.
// Nothing but an order may be built on saturated values.
#include <algorithm>

#include "pg/executor/encoders.h"
#include "pg/allocate.h"
#include "pg/shifted_column.h"

extern "C" {
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "utils/date.h"
}

namespace gpujoin {

// value = sign * column + addend, kept between lowest and highest; columns beyond those (infinity) stay as
// they are.
struct KeyShift {
    int64 addend;
    int sign;
    int64 lowest;
    int64 highest;
};

namespace {

template <typename Wire, typename Stored>
bool put_shifted(InputColumn* column, uint32_t row, Datum value) {
    int64 sum = shifted(column->shift, static_cast<Stored>(value));
    reinterpret_cast<Wire*>(column->values)[row] = static_cast<Wire>(sum);
    return true;
}

Encoder shifted_encoder(Oid column_type, KeyShift* shift) {
    shift->lowest = PG_INT64_MIN;
    shift->highest = PG_INT64_MAX;
    switch (column_type) {
        case INT2OID:
            return encoder_of<put_shifted<int64, int16>>;
        case INT4OID:
            return encoder_of<put_shifted<int64, int32>>;
        case INT8OID:
            return encoder_of<put_shifted<int64, int64>>;
        case DATEOID:
            shift->lowest = int64{DATEVAL_NOBEGIN} + 1;
            shift->highest = int64{DATEVAL_NOEND} - 1;
            return encoder_of<put_shifted<int32, int32>>;
        default:  // timestamps
            shift->lowest = DT_NOBEGIN + 1;
            shift->highest = DT_NOEND - 1;
            return encoder_of<put_shifted<int64, int64>>;
    }
}

}  // namespace

int64 shifted(const KeyShift* shift, int64 value) {
    if (value < shift->lowest || value > shift->highest) return value;
    __int128 sum = static_cast<__int128>(value) * shift->sign + shift->addend;
    return static_cast<int64>(std::clamp<__int128>(sum, shift->lowest, shift->highest));
}

bool init_shifted_column(InputColumn* column, Node* expression, KeyEncoding encoding) {
    ShiftedColumn found;
    if (!find_shifted_column(expression, encoding, &found)) return false;
    auto* shift = zeroed<KeyShift>();
    shift->addend = found.addend;
    shift->sign = found.sign;
    column->encoder = shifted_encoder(found.column->vartype, shift);
    column->attribute = found.column->varattno;
    column->shift = shift;
    return true;
}

}  // namespace gpujoin
