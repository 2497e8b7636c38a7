// OwnTotals: what a block of threads has of aggregates for itself while it goes over rows, in shared memory:
// each thread a word for each group, or all of them together some words for each. In the end that is added to
// the groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cuda/fragment/total_view.cuh"
#include "cuda/work/launch.cuh"

namespace gpujoin::cuda {

// Of all totals and groups.
struct OwnTotals {
    std::byte* memory;
    uint32_t groups;

    static constexpr uint64_t kBytesOfThreads = kBlockThreads * sizeof(int64_t) + 1;
    static constexpr uint64_t kBytesOfBlock = 4 * sizeof(uint32_t);

    // A word for each thread, which sums up what still fits into it; and behind those a flag.
    __device__ int64_t& word(uint32_t total, uint32_t group) const {
        return reinterpret_cast<int64_t*>(memory)[(total * groups + group) * kBlockThreads + threadIdx.x];
    }
    __device__ uint8_t& has_value(uint32_t totals, uint32_t total, uint32_t group) const {
        auto* flags = reinterpret_cast<uint8_t*>(memory + uint64_t{totals} * groups * kBlockThreads * 8);
        return flags[total * groups + group];
    }
    // Three columns of words, or one of words twice as long; and one of flags.
    __device__ uint32_t& part(uint32_t total, uint32_t number, uint32_t group) const {
        return reinterpret_cast<uint32_t*>(memory)[(4 * total + number) * groups + group];
    }
    __device__ long long& extreme(uint32_t total, uint32_t group) const {
        return reinterpret_cast<long long*>(&part(total, 0, 0))[group];
    }
};

// Sums of floats do not come here.
template <typename Body>
__device__ void with_kind_here(const TotalView& total, const Body& body) {
    with_kind(total, [&](auto kind) {
        if constexpr (!std::is_same_v<decltype(kind), FloatSum>) body(kind);
    });
}

// What one row does to a word of a thread's own.
__device__ inline void take(RowCount, const TotalPlace&, uint32_t, int64_t& word, int64_t) {
    word++;
}
__device__ inline void take(IntegerSum, const TotalPlace& to, uint32_t group, int64_t& word, int64_t value) {
    const auto sum = static_cast<int64_t>(static_cast<uint64_t>(word) + static_cast<uint64_t>(value));
    if (static_cast<int32_t>(((word ^ sum) & (value ^ sum)) >> 32) >= 0) {  // the sign alone
        word = sum;
        return;
    }
    IntegerSum::add(to, group, IntegerSum::part(word));
    word = value;
}
template <bool kIsMinimum>
__device__ inline void take(Extreme<kIsMinimum>, const TotalPlace&, uint32_t, int64_t& word, int64_t value) {
    word = Extreme<kIsMinimum>::better(word, value);
}

// And to the block's own, which others add to at the same time.
__device__ inline void take_shared(RowCount, const OwnTotals& own, uint32_t total, uint32_t group, int64_t) {
    atomicAdd(&own.part(total, 0, group), 1u);
}
__device__ inline void take_shared(IntegerSum, const OwnTotals& own, uint32_t total, uint32_t group,
                                   int64_t value) {
    int64_t rest = value;
    for (uint32_t number = 0; number < 3 && rest != 0; number++) {
        const auto low = static_cast<uint32_t>(rest);
        const uint32_t before = low ? atomicAdd(&own.part(total, number, group), low) : 0;
        rest = (rest >> 32) + (before + low < before);
    }
}
template <bool kIsMinimum>
__device__ inline void take_shared(Extreme<kIsMinimum>, const OwnTotals& own, uint32_t total, uint32_t group,
                                   int64_t value) {
    Extreme<kIsMinimum>::add({reinterpret_cast<std::byte*>(&own.extreme(total, 0)), nullptr}, group, value);
}

// What all threads have, in the lanes of a warp together.
__device__ inline RowCount::Part sum_up(RowCount, const int64_t* words) {
    unsigned long long sum = 0;
    for (uint32_t i = threadIdx.x & 31; i < kBlockThreads; i += 32) sum += words[i];
    return warp_reduce(sum, [](auto a, auto b) { return a + b; });
}
__device__ inline IntegerSum::Part sum_up(IntegerSum, const int64_t* words) {
    // Each half is far from leaving its word.
    unsigned long long low = 0;
    long long high = 0;
    for (uint32_t i = threadIdx.x & 31; i < kBlockThreads; i += 32) {
        low += static_cast<uint32_t>(words[i]);
        high += words[i] >> 32;
    }
    auto plus = [](auto a, auto b) { return a + b; };
    low = warp_reduce(low, plus);
    high = warp_reduce(high, plus);
    const auto shifted = static_cast<unsigned long long>(high) << 32;
    return {shifted + low, (high >> 32) + (shifted + low < low)};
}
template <bool kIsMinimum>
__device__ inline long long sum_up(Extreme<kIsMinimum>, const int64_t* words) {
    long long best = Extreme<kIsMinimum>::none();
    for (uint32_t i = threadIdx.x & 31; i < kBlockThreads; i += 32)
        best = Extreme<kIsMinimum>::better(best, words[i]);
    return warp_reduce(best, [](auto a, auto b) { return Extreme<kIsMinimum>::better(a, b); });
}

__device__ inline RowCount::Part own_part(RowCount, const OwnTotals& own, uint32_t total, uint32_t group) {
    return own.part(total, 0, group);
}
__device__ inline IntegerSum::Part own_part(IntegerSum, const OwnTotals& own, uint32_t total,
                                            uint32_t group) {
    return {uint64_t{own.part(total, 1, group)} << 32 | own.part(total, 0, group),
            static_cast<int32_t>(own.part(total, 2, group))};
}
template <bool kIsMinimum>
__device__ inline long long own_part(Extreme<kIsMinimum>, const OwnTotals& own, uint32_t total,
                                     uint32_t group) {
    return own.extreme(total, group);
}

}  // namespace gpujoin::cuda
