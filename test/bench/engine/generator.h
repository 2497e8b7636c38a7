// Data generators: the key of a row is a function of the row's number and a seed, without state, so that any
// thread of any device makes any row of a relation, twice the same, and the oracle can do without the data.
//
//   base index (0 .. domain)  ->  index = base * stride (+ 1 where the row shall not match)
//                             ->  value = index * multiplier, as an integer or a float
//
// An odd multiplier spreads the keys over the whole range of their type, so that no direct array can serve.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "engine/host_device.h"

namespace gpujoin::bench {

// A well mixed function of 64 bits (the finaliser of SplitMix64; Steele, Lea and Flood 2014).
GPUJOIN_HD inline uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

// Uniform in [0, 1).
GPUJOIN_HD inline double unit(uint64_t random) {
    return static_cast<double>(random >> 11) * 0x1p-53;
}

// A pseudo-random permutation of [0, size): a bijection on the next power of two, walked until it falls
// inside.
struct Permutation {
    uint64_t size = 1;
    uint64_t seed = 0;
    uint32_t bits = 1;

    static Permutation of(uint64_t size, uint64_t seed) {
        Permutation permutation;
        permutation.size = size;
        permutation.seed = mix(seed);
        permutation.bits = size > 2 ? static_cast<uint32_t>(std::bit_width(size - 1)) : 1;
        return permutation;
    }

    GPUJOIN_HD uint64_t operator()(uint64_t x) const {
        do {
            x = step(x + seed, 0xbf58476d1ce4e5b9);
            x = step(x, 0x94d049bb133111eb);
            x = step(x, 0xd6e8feb86659fd93);
        } while (x >= size);
        return x;
    }

  private:
    GPUJOIN_HD uint64_t step(uint64_t x, uint64_t odd) const {
        const uint64_t mask = (uint64_t{1} << bits) - 1;
        x = (x * odd) & mask;
        return x ^ (x >> (bits + 1) / 2);
    }
};

// Ranks 1 .. n with probability proportional to rank^-exponent, for exponents in (0, 1], by
// rejection-inversion (Hörmann and Derflinger 1996).
struct Zipf {
    double exponent = 0;
    double size = 1;
    double first = 0;  // the integral of the density up to the first and the last rank
    double last = 0;
    double shift = 0;  // how far an inverse may lie below its rank to be taken without a test

    static Zipf of(uint64_t size, double exponent) {
        Zipf zipf{exponent, static_cast<double>(size)};
        zipf.first = zipf.integral(1.5) - 1;
        zipf.last = zipf.integral(zipf.size + 0.5);
        zipf.shift = 2 - zipf.inverse(zipf.integral(2.5) - zipf.density(2));
        return zipf;
    }

    GPUJOIN_HD double density(double x) const { return exp(-exponent * log(x)); }
    GPUJOIN_HD double integral(double x) const {
        return exponent == 1 ? log(x) : (exp((1 - exponent) * log(x)) - 1) / (1 - exponent);
    }
    GPUJOIN_HD double inverse(double y) const {
        return exponent == 1 ? exp(y) : exp(log(1 + y * (1 - exponent)) / (1 - exponent));
    }
    GPUJOIN_HD uint64_t operator()(uint64_t random) const {
        for (;; random = mix(random)) {
            double area = last + unit(random) * (first - last);
            double x = inverse(area);
            double rank = floor(x + 0.5);
            rank = rank < 1 ? 1 : rank > size ? size : rank;
            if (rank - x <= shift || area >= integral(rank + 0.5) - density(rank))
                return static_cast<uint64_t>(rank);
        }
    }
};

enum class Distribution : uint8_t {
    Uniform,
    Unique,  // each index at most once, shuffled
    Zipf,
    Hot,  // a share of the rows has one key, that of the other relation's first row; the others are uniform
};

// How a key is stored. Integers are signed; a text is 16 hexadecimal digits.
enum class Format : uint8_t { Int4, Int8, Float4, Float8, Text };

inline constexpr uint32_t kTextBytes = 16;

// Bytes of a key; of a text with its offset.
constexpr uint32_t width_of(Format format) {
    if (format == Format::Text) return kTextBytes + sizeof(uint32_t);
    return format == Format::Int4 || format == Format::Float4 ? 4 : 8;
}
constexpr bool is_float(Format format) {
    return format == Format::Float4 || format == Format::Float8;
}

// A multiplier that makes keys sparse. Its low 32 bits are odd too.
inline constexpr uint64_t kSparse = 0x9e3779b97f4a7c15;

// The keys of a relation. Made by make_keys().
struct Keys {
    Distribution distribution = Distribution::Uniform;
    uint64_t seed = 0;
    uint64_t domain = 1;
    double parameter = 0;  // Zipf: the exponent; Hot: the share of the hot key
    double match = 1;      // the share of rows that have an even index, where stride is 2
    uint32_t stride = 1;   // 2 in both relations of a join whose match share is set
    uint64_t multiplier = 1;
    uint64_t other_seed = 0;  // of the relation it is joined with, uniform over the same domain
    uint64_t other_rows = 0;  // Uniform: rows that match have the keys of so many rows there; 0: of their own
    Permutation permutation{};
    Zipf zipf{};

    // The base index of a row.
    GPUJOIN_HD uint64_t base(uint64_t row) const {
        uint64_t random = random_of(seed, row);
        switch (distribution) {
            case Distribution::Unique:
                return permutation(row);
            case Distribution::Zipf:
                return permutation(zipf(random) - 1);
            case Distribution::Hot:
                if (unit(mix(random)) < parameter) random = random_of(other_seed, 0);
                break;
            case Distribution::Uniform:
                if (other_rows > 0 && matches(row))
                    random = random_of(other_seed, scaled(random, other_rows));
                break;
        }
        return scaled(random, domain);
    }

    // May the row match? The others have odd indexes, which no row of the other relation has.
    GPUJOIN_HD bool matches(uint64_t row) const {
        return match >= 1 || unit(mix(~seed ^ (row * 0xa0761d6478bd642f))) < match;
    }

    // The bits of a row's key, moved up by `offset`.
    GPUJOIN_HD uint64_t value(uint64_t row, uint64_t offset, Format format) const {
        uint64_t index = base(row) * stride + (matches(row) ? 0 : 1) + offset;
        if (format == Format::Float8) return std::bit_cast<uint64_t>(static_cast<double>(index));
        if (format == Format::Float4) return std::bit_cast<uint32_t>(static_cast<float>(index));
        return index * multiplier;
    }

  private:
    GPUJOIN_HD static uint64_t random_of(uint64_t seed, uint64_t row) {
        return mix(seed ^ (row * 0xd1342543de82ef95));
    }
    // random * size / 2^64, for sizes below 2^32.
    GPUJOIN_HD static uint64_t scaled(uint64_t random, uint64_t size) { return (random >> 32) * size >> 32; }
};

// Fills in what the distribution precomputes. Rows may not exceed the domain with Unique; domain < 2^32.
inline Keys make_keys(Distribution distribution, uint64_t domain, uint64_t seed, double parameter = 0) {
    if (distribution == Distribution::Zipf && parameter <= 0) distribution = Distribution::Uniform;
    Keys keys{distribution, mix(seed), domain, parameter};
    keys.permutation = Permutation::of(domain, seed);
    if (distribution == Distribution::Zipf) keys.zipf = Zipf::of(domain, parameter);
    return keys;
}

}  // namespace gpujoin::bench
