// Encoders of variable width whose canonical form is (a part of) the value's own bytes: text, bpchar without
// trailing blanks, name up to its zero, bytea, and uuid where its order matters.
#include <cstring>

#include "pg/executor/encoders.h"

extern "C" {
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/uuid.h"
}

namespace gpujoin {

namespace {

bool put_bytes(InputColumn* column, uint32_t row, const char* bytes, Size count) {
    std::byte* target = reserve_bytes(column, row, count);
    if (!target) return false;
    memcpy(target, bytes, count);
    return true;
}

bool put_varlena(InputColumn* column, uint32_t row, Datum value) {
    const varlena* bytes = PG_DETOAST_DATUM_PACKED(value);
    return put_bytes(column, row, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
}

bool put_bpchar(InputColumn* column, uint32_t row, Datum value) {
    const varlena* bytes = PG_DETOAST_DATUM_PACKED(value);
    const char* start = VARDATA_ANY(bytes);
    Size count = VARSIZE_ANY_EXHDR(bytes);
    while (count > 0 && start[count - 1] == ' ') count--;
    return put_bytes(column, row, start, count);
}

bool put_name(InputColumn* column, uint32_t row, Datum value) {
    const char* name = NameStr(*DatumGetName(value));
    return put_bytes(column, row, name, strnlen(name, NAMEDATALEN));
}

bool put_ordered_uuid(InputColumn* column, uint32_t row, Datum value) {
    return put_bytes(column, row, reinterpret_cast<const char*>(DatumGetUUIDP(value)->data), UUID_LEN);
}

}  // namespace

Encoder find_bytes_encoder(KeyEncoding encoding, Oid declared_type) {
    switch (encoding) {
        case KeyEncoding::Text:
        case KeyEncoding::Bytea:
            return {put_varlena, nullptr};
        case KeyEncoding::Bpchar:
            return {put_bpchar, nullptr};
        case KeyEncoding::Name:
            return declared_type == NAMEOID ? encoder_of<put_name> : Encoder{put_varlena, nullptr};
        case KeyEncoding::Numeric:
        case KeyEncoding::NumericOrder:
            return {put_numeric, nullptr};
        case KeyEncoding::UuidOrder:
            return encoder_of<put_ordered_uuid>;
        default:
            return {};
    }
}

}  // namespace gpujoin
