// The loops over keys that gain from wide vectors.
#include "engine/cpu/radix/radix_side.h"

#include "engine/cpu/work/simd.h"

namespace gpujoin::cpu {

GPUJOIN_VECTOR void make_tuples(const uint32_t* keys, const uint32_t* payloads, uint32_t rows,
                                RadixTuple<uint32_t>* tuples) {
    for (uint32_t i = 0; i < rows; i++) tuples[i] = {mix32(keys[i]), payloads[i]};
}

GPUJOIN_VECTOR void make_tuples(const uint64_t* keys, const uint64_t* payloads, uint32_t rows,
                                RadixTuple<uint64_t>* tuples) {
    for (uint32_t i = 0; i < rows; i++) tuples[i] = {mix(keys[i]), payloads[i]};
}

}  // namespace gpujoin::cpu
