// The encoder of numeric: bytes that are equal exactly when the numbers are, whatever their scale, and that
// memcmp orders as SQL does (-Infinity, negative, 0, positive, Infinity, NaN).
//
//   class (1 byte)   and for finite numbers other than 0:
//   weight (2 bytes) of the first base-10000 digit, biased, big-endian
//   digits (2 bytes each), big-endian, no zeros at either end
//
// Negative numbers have weight and digits complemented, and a terminator above any complemented digit (also
// that of 0), so that of two with a common beginning the longer one comes first. Enclosed between other
// bytes, positive numbers have digits one greater and a terminator below them, so that none begins another.
#include <cstring>

#include "pg/executor/encoders.h"

extern "C" {
#include "fmgr.h"
}

namespace gpujoin {

namespace {

enum NumericClass : uint8_t { kMinusInfinity, kNegative, kZero, kPositive, kInfinity, kNaN };

// The stored form of numeric: a header word (with the weight in it where it is short), or a header and a
// weight word, then int16 digits.
constexpr uint16_t kFormMask = 0xC000;
constexpr uint16_t kNegativeLong = 0x4000;
constexpr uint16_t kShort = 0x8000;
constexpr uint16_t kSpecial = 0xC000;
constexpr uint16_t kSpecialMask = 0xF000;
constexpr uint16_t kSpecialInfinity = 0xD000;
constexpr uint16_t kSpecialMinusInfinity = 0xF000;
constexpr uint16_t kShortNegative = 0x2000;
constexpr uint16_t kShortWeightNegative = 0x0040;
constexpr uint16_t kShortWeightMask = 0x003F;

constexpr uint16_t kTerminator = 0xffff;

struct Unpacked {
    NumericClass kind;
    int weight;
    const char* digits;  // int16 each, perhaps not aligned
    int count;
};

uint16_t word_at(const char* bytes) {
    uint16_t word;
    memcpy(&word, bytes, sizeof(word));
    return word;
}

NumericClass special_class(uint16_t header) {
    switch (header & kSpecialMask) {
        case kSpecialInfinity:
            return kInfinity;
        case kSpecialMinusInfinity:
            return kMinusInfinity;
        default:
            return kNaN;
    }
}

Unpacked unpack(const char* bytes, int size) {
    uint16_t header = word_at(bytes);
    if ((header & kFormMask) == kSpecial) return {special_class(header), 0, nullptr, 0};
    Unpacked number;
    if ((header & kFormMask) == kShort) {
        number.kind = header & kShortNegative ? kNegative : kPositive;
        number.weight = header & kShortWeightMask;
        if (header & kShortWeightNegative) number.weight -= kShortWeightMask + 1;
        number.digits = bytes + 2;
    } else {
        number.kind = (header & kFormMask) == kNegativeLong ? kNegative : kPositive;
        number.weight = static_cast<int16_t>(word_at(bytes + 2));
        number.digits = bytes + 4;
    }
    number.count = static_cast<int>(bytes + size - number.digits) / 2;
    return number;
}

// Takes zeros off both ends; no digits left is zero.
void strip(Unpacked* number) {
    while (number->count > 0 && word_at(number->digits) == 0) {
        number->digits += 2;
        number->count--;
        number->weight--;
    }
    while (number->count > 0 && word_at(number->digits + 2 * (number->count - 1)) == 0) number->count--;
    if (number->count == 0 && (number->kind == kPositive || number->kind == kNegative)) number->kind = kZero;
}

std::byte* put_word(std::byte* target, uint16_t word) {
    target[0] = static_cast<std::byte>(word >> 8);
    target[1] = static_cast<std::byte>(word & 0xff);
    return target + 2;
}

Unpacked unpack_stripped(Datum value) {
    const varlena* stored = PG_DETOAST_DATUM_PACKED(value);
    Unpacked number = unpack(VARDATA_ANY(stored), VARSIZE_ANY_EXHDR(stored));
    strip(&number);
    return number;
}

// Bytes of a number alone or enclosed.
uint64_t key_bytes(const Unpacked& number, bool enclosed) {
    bool terminated = enclosed || number.kind == kNegative;
    return number.count > 0 ? 3 + 2 * static_cast<uint64_t>(number.count) + (terminated ? 2 : 0) : 1;
}

std::byte* put_key(std::byte* target, const Unpacked& number, bool enclosed) {
    *target++ = static_cast<std::byte>(number.kind);
    if (number.count == 0) return target;
    bool negative = number.kind == kNegative;
    auto weight = static_cast<uint16_t>(number.weight + 0x8000);
    target = put_word(target, negative ? ~weight : weight);
    for (int i = 0; i < number.count; i++) {
        uint16_t digit = word_at(number.digits + 2 * i);
        target = put_word(target, negative ? kTerminator - 1 - digit : digit + enclosed);
    }
    if (negative) return put_word(target, kTerminator);
    return enclosed ? put_word(target, 0) : target;
}

}  // namespace

bool put_numeric(InputColumn* column, uint32_t row, Datum value) {
    Unpacked number = unpack_stripped(value);
    std::byte* target = reserve_bytes(column, row, key_bytes(number, false));
    if (target) put_key(target, number, false);
    return target;
}

bool put_enclosed_numeric(InputColumn* column, uint32_t row, Datum value, std::byte before,
                          std::byte behind) {
    Unpacked number = unpack_stripped(value);
    std::byte* target = reserve_bytes(column, row, key_bytes(number, true) + 2);
    if (!target) return false;
    *target++ = before;
    *put_key(target, number, true) = behind;
    return true;
}

}  // namespace gpujoin
