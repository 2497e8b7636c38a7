// See group_emitter.h.
#include "pg/executor/group_emitter.h"

#include <cmath>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/decimal.h"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "libpq/pqformat.h"
#include "utils/array.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
}

namespace gpujoin {

namespace {

constexpr int kNumericBase = 10000;
constexpr int kDigitsOfBase = 4;
constexpr int kMaxNumericDigits = 11;  // of 128 bits, wherever the point is
constexpr int kPowers[] = {1, 10, 100, 1000};
constexpr int kNumericPositive = 0x0000;
constexpr int kNumericNegative = 0x4000;

void bind(GroupColumn* column, const ResultView* view) {
    const ColumnBuffers* buffers = &view->columns[column->column];
    const std::byte* memory = view->block.memory;
    bool nullable = buffers->validity != kNoBuffer;
    column->validity = nullable ? reinterpret_cast<const uint8_t*>(memory + buffers->validity) : nullptr;
    column->values = memory + buffers->values;
}

bool is_null(const GroupColumn* column, uint32_t row) {
    return column->validity && !(column->validity[row >> 3] >> (row & 7) & 1);
}

int64 number_at(const GroupColumn* column, uint32_t row) {
    return reinterpret_cast<const int64*>(column->values)[row];
}

double float_at(const GroupColumn* column, uint32_t row) {
    return reinterpret_cast<const double*>(column->values)[row];
}

int128 sum_at(const GroupColumn* column, uint32_t row) {
    int128 sum;
    memcpy(&sum, column->values + sizeof(sum) * row, sizeof(sum));
    return sum;
}

Datum number_datum(int64 number, int16 type_length) {
    switch (type_length) {
        case 2:
            return Int16GetDatum(static_cast<int16>(number));
        case 4:
            return Int32GetDatum(static_cast<int32>(number));
        default:
            return Int64GetDatum(number);
    }
}

// The same error as int8pl()'s, which core's transition function calls.
int64 bigint_of(int128 sum) {
    if (sum < PG_INT64_MIN || sum > PG_INT64_MAX)
        ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("bigint out of range"));
    return static_cast<int64>(sum);
}

// What int4_avg_accum() has: Int8TransTypeData in an array of two bigints.
Datum count_and_sum(int64 count, int64 sum) {
    Datum elements[2] = {Int64GetDatum(count), Int64GetDatum(sum)};
    return PointerGetDatum(construct_array(elements, 2, INT8OID, sizeof(int64), true, TYPALIGN_DOUBLE));
}

// As float8_accum() adds up, which begins with 0: of -0 alone it is 0.
double sum_of_floats(double sum) {
    return sum + 0.0;
}

// What float8_accum() has: the number of values, their sum, and that of the squares of their differences from
// the average. An average does not need the latter. Core has NaN there where a value was infinite or NaN;
// from 0 it would come to infinity, and take that for an overflow.
Datum float_average(int64 count, double sum) {
    const double squares = std::isfinite(sum) ? 0 : get_float8_nan();
    Datum elements[3] = {Float8GetDatum(static_cast<double>(count)), Float8GetDatum(sum_of_floats(sum)),
                         Float8GetDatum(squares)};
    return PointerGetDatum(
        construct_array(elements, 3, FLOAT8OID, sizeof(double), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

// A number in units of its last digit as numerics have it: digits of base 10000, the least significant one
// first, which may go beyond the scale.
struct NumericDigits {
    int16 digits[kMaxNumericDigits];
    int count;
    int weight;  // of the most significant one
    int sign;
};

NumericDigits digits_of(int128 number, int scale) {
    const int fraction = (scale + kDigitsOfBase - 1) / kDigitsOfBase;  // digits behind the point
    uint128 rest = number < 0 ? -static_cast<uint128>(number) : static_cast<uint128>(number);
    const int first = kPowers[fraction * kDigitsOfBase - scale];  // what the last digit's unit is
    NumericDigits found = {};
    if (rest > 0) {
        const int below = kNumericBase / first;
        found.digits[found.count++] = static_cast<int16>(rest % below * first);
        for (rest /= below; rest > 0; rest /= kNumericBase)
            found.digits[found.count++] = static_cast<int16>(rest % kNumericBase);
    }
    found.weight = found.count > 0 ? found.count - 1 - fraction : 0;
    found.sign = number < 0 ? kNumericNegative : kNumericPositive;
    return found;
}

// As numericvar_serialize() writes it.
void send_numeric(StringInfo buffer, int128 number, int scale) {
    NumericDigits found = digits_of(number, scale);
    pq_sendint32(buffer, found.count);
    pq_sendint32(buffer, found.weight);
    pq_sendint32(buffer, found.sign);
    pq_sendint32(buffer, scale);
    while (found.count > 0) pq_sendint16(buffer, found.digits[--found.count]);
}

// As numeric_recv() reads it.
Datum wide_numeric(int128 number, int scale) {
    NumericDigits found = digits_of(number, scale);
    StringInfoData buffer;
    initStringInfo(&buffer);
    for (int part : {found.count, found.weight, found.sign, scale})
        pq_sendint16(&buffer, static_cast<int16>(part));
    while (found.count > 0) pq_sendint16(&buffer, found.digits[--found.count]);
    return DirectFunctionCall3(numeric_recv, PointerGetDatum(&buffer), ObjectIdGetDatum(InvalidOid),
                               Int32GetDatum(-1));
}

// What all states of numerics begin with.
void begin_state(StringInfo buffer, int64 count, int128 sum, int scale) {
    pq_begintypsend(buffer);
    pq_sendint64(buffer, count);
    send_numeric(buffer, sum, scale);
}

// As int8_avg_serialize() writes it.
Datum numeric_state(int64 count, int128 sum) {
    StringInfoData buffer;
    begin_state(&buffer, count, sum, 0);
    return PointerGetDatum(pq_endtypsend(&buffer));
}

// As numeric_poly_serialize() writes it.
Datum squares_state(int64 count, int128 sum, int128 squares) {
    StringInfoData buffer;
    begin_state(&buffer, count, sum, 0);
    send_numeric(&buffer, squares, 0);
    return PointerGetDatum(pq_endtypsend(&buffer));
}

int128 without_last_digits(int128 number, int digits) {
    for (; digits > 0; digits--) number /= 10;
    return number;
}

// The scale is the largest that a value has. (Of none core has no maximum.)
GroupTotal decimal_total(const EmitState* state, uint32_t row) {
    const int64 count = number_at(&state->count, row);
    const int scale = number_at(&state->third, row) > 0 ? state->scale : count > 0 ? state->lower_scale : 0;
    const int128 sum = is_null(&state->value, row) ? 0 : sum_at(&state->value, row);
    return {count, without_last_digits(sum, state->scale - scale), scale};
}

// As numeric_avg_serialize() writes it.
Datum decimal_state(const EmitState* state, uint32_t row) {
    const GroupTotal total = decimal_total(state, row);
    const int64 scaled = number_at(&state->third, row);
    StringInfoData buffer;
    begin_state(&buffer, total.count, total.sum, total.scale);
    pq_sendint32(&buffer, total.scale);  // and how many have it
    pq_sendint64(&buffer, scaled > 0 ? scaled : total.count);
    for (int special = 0; special < 3; special++) pq_sendint64(&buffer, 0);  // NaN, Infinity, -Infinity
    return PointerGetDatum(pq_endtypsend(&buffer));
}

}  // namespace

GroupTotal total_of(const EmitState* state, uint32_t row) {
    if (state->form == StateForm::DecimalState) return decimal_total(state, row);
    const int128 sum = is_null(&state->value, row) ? 0 : sum_at(&state->value, row);
    return {number_at(&state->count, row), state->form == StateForm::CountAndSum ? bigint_of(sum) : sum, 0};
}

Datum numeric_of_total(const GroupTotal& total) {
    const bool is_wide = total.sum <= PG_INT64_MIN || total.sum > PG_INT64_MAX;
    return is_wide ? wide_numeric(total.sum, total.scale)
                   : numeric_of(static_cast<int64>(total.sum), total.scale);
}

Datum average_of_floats(const EmitState* state, uint32_t row, bool* isnull) {
    const int64 count = number_at(&state->count, row);
    *isnull = count == 0;
    return *isnull ? Datum{0}
                   : Float8GetDatum(sum_of_floats(float_at(&state->value, row)) / static_cast<double>(count));
}

// NULL where there was no value, but for states that begin with something else.
Datum state_datum(const EmitState* state, uint32_t row, bool* isnull) {
    const GroupColumn* value = &state->value;
    bool none = is_null(value, row);
    *isnull = false;
    switch (state->form) {
        case StateForm::CountAndSum:
            return count_and_sum(number_at(&state->count, row), none ? 0 : bigint_of(sum_at(value, row)));
        case StateForm::NumericState:
            return numeric_state(number_at(&state->count, row), none ? 0 : sum_at(value, row));
        case StateForm::SquaresState:
            return squares_state(number_at(&state->count, row), none ? 0 : sum_at(value, row),
                                 none ? 0 : sum_at(&state->third, row));
        case StateForm::DecimalState:
            return decimal_state(state, row);
        case StateForm::Decimal:
            *isnull = none;
            return none ? Datum{0} : numeric_of(number_at(value, row), state->scale);
        case StateForm::Bigint:
            *isnull = none;
            return none ? Datum{0} : Int64GetDatum(bigint_of(sum_at(value, row)));
        case StateForm::Number:
            *isnull = none;
            return none ? Datum{0} : number_datum(number_at(value, row), state->type_length);
        case StateForm::Single:
            *isnull = none;
            return none ? Datum{0} : Float4GetDatum(static_cast<float4>(float_at(value, row)));
        case StateForm::FloatAverage:
            return float_average(number_at(&state->count, row), none ? 0 : float_at(value, row));
        case StateForm::Presence:
            return Int64GetDatum(none ? 0 : 1);
        case StateForm::Column:  // the emitter's
            break;
    }
    elog(ERROR, "state of an aggregate has an unknown form");
}

EmitResultColumn emitted_column(const GroupsPlan* plan, const EntryState& state, int column,
                                Form_pg_attribute attribute) {
    const OutputForm form = state.column < plan->keys
                                ? output_form_of_key(plan->key_encoding[state.column], attribute)
                                : output_form(attribute);
    return {state.entry - 1, column, form, nullptr, nullptr, nullptr, attribute->atttypmod};
}

void group_emitter_bind(GroupEmitter* emitter, const ResultView* view) {
    if (view->rows == 0) return;
    for (int i = 0; i < emitter->count; i++) {
        bind(&emitter->states[i].value, view);
        bind(&emitter->states[i].count, view);
        bind(&emitter->states[i].third, view);
    }
}

void emit_states(const GroupEmitter* emitter, uint32_t row, TupleTableSlot* slot) {
    for (int i = 0; i < emitter->count; i++) {
        const EmitState* state = &emitter->states[i];
        bool isnull;
        slot->tts_values[state->target] = state_datum(state, row, &isnull);
        slot->tts_isnull[state->target] = isnull;
    }
}

}  // namespace gpujoin
