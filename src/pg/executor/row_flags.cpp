// See row_flags.h.
#include "pg/executor/row_flags.h"

#include "pg/allocate.h"

namespace gpujoin {

namespace {

constexpr uint64 kFirstBytes = 8192;

// Rows come in order, so that the size doubles.
void make_room(RowFlags* flags, uint64 byte) {
    uint64 bytes = Max(flags->bytes, kFirstBytes);
    while (bytes <= byte) bytes *= 2;
    auto* bits = allocate<uint8>(flags->context, bytes, 0, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
    if (flags->bits) {
        memcpy(bits, flags->bits, flags->bytes);
        pfree(flags->bits);
    }
    flags->bits = bits;
    flags->bytes = bytes;
}

}  // namespace

RowFlags* row_flags_create(MemoryContext context) {
    auto* flags = zeroed_in<RowFlags>(context);
    flags->context = context;
    flags->users = 1;
    return flags;
}

void row_flags_set(RowFlags* flags, uint64 row) {
    uint64 byte = row >> 3;
    if (unlikely(byte >= flags->bytes)) make_room(flags, byte);
    flags->bits[byte] |= static_cast<uint8>(1u << (row & 7));
}

void row_flags_leave(RowFlags* flags) {
    if (--flags->users > 0) return;
    if (flags->bits) pfree(flags->bits);
    pfree(flags);
}

}  // namespace gpujoin
