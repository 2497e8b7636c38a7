// See output_column.h. By-value types travel by width, 16-byte types as Fixed16, all others as Bytes padded
// to a multiple of 8, so that a Datum may point at them after the engine has gathered them.
#include "pg/executor/output_column.h"

#include "pg/executor/by_reference.h"

extern "C" {
#include "utils/lsyscache.h"
}

namespace gpujoin {

namespace {

template <typename Wire>
bool put_by_value(InputColumn* column, uint32_t row, Datum value) {
    reinterpret_cast<Wire*>(column->values)[row] = static_cast<Wire>(value);
    return true;
}

bool put_16_bytes(InputColumn* column, uint32_t row, Datum value) {
    memcpy(column->values + uint64_t{16} * row, DatumGetPointer(value), 16);
    return true;
}

bool put_padded(InputColumn* column, uint32_t row, Datum value) {
    Size bytes = value_bytes(value, column->type_length);
    Size padded = aligned_value_bytes(bytes);
    std::byte* target = reserve_bytes(column, row, padded);
    if (!target) return false;
    memset(target + padded - kValueAlignment, 0, kValueAlignment);
    copy_value(target, value, column->type_length, bytes);
    return true;
}

struct FormTraits {
    ColumnType type;
    Encoder encoder;
};

// By OutputForm, up to PointerBytes.
constexpr FormTraits kForms[] = {
    {ColumnType::Fixed1, encoder_of<put_by_value<uint8_t>>},
    {ColumnType::Fixed2, encoder_of<put_by_value<uint16_t>>},
    {ColumnType::Fixed4, encoder_of<put_by_value<uint32_t>>},
    {ColumnType::Fixed8, encoder_of<put_by_value<uint64_t>>},
    {ColumnType::Fixed16, encoder_of<put_16_bytes>},
    {ColumnType::Bytes, encoder_of<put_padded>},
};

}  // namespace

OutputForm output_form(Form_pg_attribute attribute) {
    if (!attribute->attbyval)
        return attribute->attlen == 16 ? OutputForm::Pointer16 : OutputForm::PointerBytes;
    switch (attribute->attlen) {
        case 1:
            return OutputForm::Value1;
        case 2:
            return OutputForm::Value2;
        case 4:
            return OutputForm::Value4;
        default:
            return OutputForm::Value8;
    }
}

OutputForm output_form_of_key(KeyEncoding encoding, Form_pg_attribute attribute) {
    if (encoding == KeyEncoding::Bpchar) return OutputForm::Padded;
    if (encoding == KeyEncoding::Text || encoding == KeyEncoding::Bytea) return OutputForm::Varlena;
    return output_form(attribute);
}

void init_output_column(InputColumn* column, Form_pg_attribute attribute) {
    const FormTraits& form = kForms[static_cast<int>(output_form(attribute))];
    bool bytes = form.type == ColumnType::Bytes;
    column->spec = {form.type, bytes ? ValueOrder::Bytes : ValueOrder::Unsigned, 1, 0};
    column->encoder = form.encoder;
    column->attribute = attribute->attnum;
    column->type_length = attribute->attlen;
}

void init_output_column(InputColumn* column, Oid type) {
    FormData_pg_attribute form = {};
    get_typlenbyval(type, &form.attlen, &form.attbyval);
    init_output_column(column, &form);
}

}  // namespace gpujoin
