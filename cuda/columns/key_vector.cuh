// Several keys that are read at once. They lie at a multiple of 16 bytes.
#pragma once

#include <cstdint>

namespace gpujoin::cuda {

template <typename Key>
struct alignas(16) KeyVector {
    static constexpr uint32_t kKeys = 16 / sizeof(Key);
    Key key[kKeys];
};

}  // namespace gpujoin::cuda
