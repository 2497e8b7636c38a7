// The (key, payload) tuples of a radix join in memory. Where both are equally wide they lie side by side, so
// that a run of tuples is one stretch of memory and a tuple can be read at once; else keys and payloads lie
// apart.
#pragma once

#include <cstdint>

#include "engine/host_device.h"

namespace gpujoin::cuda {

template <typename Key, typename Payload>
struct alignas(sizeof(Key) == sizeof(Payload) ? 2 * sizeof(Key) : sizeof(uint64_t)) RadixTuple {
    Key key;
    Payload payload;
};

// A view of `count` tuples in memory of count * kBytes bytes that is aligned to 16.
template <typename Key, typename Payload, bool SideBySide = sizeof(Key) == sizeof(Payload)>
class RadixTuples {
  public:
    using Tuple = RadixTuple<Key, Payload>;
    static constexpr uint64_t kBytes = sizeof(Tuple);

    RadixTuples() = default;
    GPUJOIN_HD RadixTuples(void* memory, uint64_t) : tuples_(static_cast<Tuple*>(memory)) {}

    GPUJOIN_HD Tuple get(uint64_t i) const { return tuples_[i]; }
    GPUJOIN_HD void set(uint64_t i, const Tuple& tuple) const { tuples_[i] = tuple; }

  private:
    Tuple* tuples_;
};

// The wider ones come first, so that both are aligned.
template <typename Key, typename Payload>
class RadixTuples<Key, Payload, false> {
  public:
    using Tuple = RadixTuple<Key, Payload>;
    static constexpr uint64_t kBytes = sizeof(Key) + sizeof(Payload);

    RadixTuples() = default;
    GPUJOIN_HD RadixTuples(void* memory, uint64_t count) {
        constexpr bool kWideKeys = sizeof(Key) > sizeof(Payload);
        void* narrow = static_cast<uint64_t*>(memory) + count;
        keys_ = static_cast<Key*>(kWideKeys ? memory : narrow);
        payloads_ = static_cast<Payload*>(kWideKeys ? narrow : memory);
    }

    GPUJOIN_HD Tuple get(uint64_t i) const { return {keys_[i], payloads_[i]}; }
    GPUJOIN_HD void set(uint64_t i, const Tuple& tuple) const {
        keys_[i] = tuple.key;
        payloads_[i] = tuple.payload;
    }

  private:
    Key* keys_;
    Payload* payloads_;
};

}  // namespace gpujoin::cuda
