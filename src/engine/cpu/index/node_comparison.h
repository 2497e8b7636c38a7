// NodeComparison: compares the keys of one tree node with a bound, all at once: bit k of the result says that
// key k is at least the bound. One class for each instruction set; code that uses one is a template over it,
// inlined into a function that is compiled for that set.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#define GPUJOIN_X86 1
#endif

namespace gpujoin::cpu {

inline constexpr uint32_t kTreeNodeBits = 4;
inline constexpr uint32_t kTreeNode = 1u << kTreeNodeBits;

struct PlainNodeComparison {
    static inline uint64_t at_least(const uint64_t* node, uint64_t bound) {
        uint64_t mask = 0;
        for (uint32_t k = 0; k < kTreeNode; k++) mask |= uint64_t{node[k] >= bound} << k;
        return mask;
    }
};

#ifdef GPUJOIN_X86

struct Avx2NodeComparison {
    __attribute__((target("avx2"))) static inline uint64_t at_least(const uint64_t* node, uint64_t bound) {
        // Only signed comparisons exist: both sides are moved by half the range.
        const __m256i half = _mm256_set1_epi64x(INT64_MIN);
        const __m256i limit = _mm256_xor_si256(_mm256_set1_epi64x(static_cast<int64_t>(bound)), half);
        uint64_t less = 0;
        for (uint32_t k = 0; k < kTreeNode; k += 4) {
            __m256i keys = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(node + k));
            __m256i below = _mm256_cmpgt_epi64(limit, _mm256_xor_si256(keys, half));
            less |= static_cast<uint64_t>(_mm256_movemask_pd(_mm256_castsi256_pd(below))) << k;
        }
        return less ^ ((1u << kTreeNode) - 1);
    }
};

struct Avx512NodeComparison {
    __attribute__((target("avx512f"))) static inline uint64_t at_least(const uint64_t* node, uint64_t bound) {
        const __m512i limit = _mm512_set1_epi64(static_cast<int64_t>(bound));
        uint64_t low = _mm512_cmpge_epu64_mask(_mm512_loadu_si512(node), limit);
        uint64_t high = _mm512_cmpge_epu64_mask(_mm512_loadu_si512(node + kTreeNode / 2), limit);
        return low | high << (kTreeNode / 2);
    }
};

#endif

}  // namespace gpujoin::cpu
