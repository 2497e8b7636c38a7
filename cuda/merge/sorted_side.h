// One side of a merge join: (key, payload) tuples in the order of their keys. Rows whose keys are equal keep
// their order. Behind the tuples may come the payloads of the rows that cannot match, for joins that give
// those back too.
//
//   keys      K K K K K K K K               sorted
//   payloads  P P P P P P P P | P P P
#pragma once

#include <cstdint>

#include "cuda/columns/key_reading.cuh"
#include "cuda/columns/payload.h"
#include "cuda/work/work.h"

namespace gpujoin::cuda {

// The rows that become tuples.
struct SortInput {
    KeyLayout layout;                      // of the key, unless a column is named
    int column = -1;                       // the column whose order key is the key
    KeySpan span;                          // by which it is rebased
    bool build = false;                    // which side's columns these are
    const DeviceColumn* host = nullptr;    // all of the side's
    const DeviceColumn* device = nullptr;  // the same on the device
    RequiredColumns required;              // rows with a NULL here cannot match
    uint64_t rows = 0;                     // < 2^32 - 1
};

class SortedSide {
  public:
    // Sorts the rows of an input. Waits for the stream only where rows may be left out.
    Status sort(const WorkContext& context, const SortInput& input, const PayloadSource& payload,
                bool keep_absent);
    // Gives the keys back when they have done their work.
    void forget_keys();

    // Narrow keys have at most 32 bits.
    const uint32_t* narrow_keys() const { return keys4_.data(); }
    const uint64_t* wide_keys() const { return keys8_.data(); }
    const void* payloads() const;
    const PayloadSource& payload() const { return payload_; }
    // The numbers of the rows; null where values ride along instead.
    const uint32_t* row_numbers() const { return payload_.values ? nullptr : payloads4_.data(); }
    int key_bits() const { return key_bits_; }  // that may differ
    uint64_t tuples() const { return tuples_; }
    uint64_t entries() const { return entries_; }  // with those that cannot match

  private:
    template <typename Key>
    Status sort_by(const WorkContext& context, const SortInput& input, bool keep_absent,
                   DeviceArray<Key>* keys);
    template <typename Key, typename Payload>
    Status sort_all(const WorkContext& context, const SortInput& input, DeviceArray<Key>* keys,
                    DeviceArray<Payload>* payloads);
    template <typename Key, typename Payload>
    Status sort_present(const WorkContext& context, const SortInput& input, bool keep_absent,
                        DeviceArray<Key>* keys, DeviceArray<Payload>* payloads);

    PayloadSource payload_;
    int key_bits_ = 0;
    uint64_t tuples_ = 0;
    uint64_t entries_ = 0;
    DeviceArray<uint32_t> keys4_, payloads4_;
    DeviceArray<uint64_t> keys8_, payloads8_;
};

}  // namespace gpujoin::cuda
