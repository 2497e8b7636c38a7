// See encoders.h.
#include "pg/executor/encoders.h"

extern "C" {
#include "utils/builtins.h"
}

namespace gpujoin {

Encoder find_encoder(KeyEncoding encoding, Oid declared_type) {
    Encoder encoder = find_fixed_encoder(encoding, declared_type);
    if (!encoder.put) encoder = find_bytes_encoder(encoding, declared_type);
    if (!encoder.put)
        elog(ERROR, "gpujoin has no encoder %d for type %s", static_cast<int>(encoding),
             format_type_be(declared_type));
    return encoder;
}

bool encoder_allocates(KeyEncoding encoding) {
    return column_of(encoding).type == ColumnType::Bytes || encoding == KeyEncoding::Hash64 ||
           is_bound(encoding);
}

}  // namespace gpujoin
