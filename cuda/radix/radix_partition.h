// One side of a radix join: (key, payload) tuples, grouped into 2^bits partitions.
//
// The key of a tuple is mixed by a bijection first. So equal mixed keys mean equal keys, and the original is
// never needed again; the lowest `bits` bits number the partition, and what is left of the key is the same
// for no two different keys of a partition. Partitions are counted first, and then filled in one pass or two,
// each of which groups by at most kDigitBits bits. Tuples of a partition are in no order.
//
//   tuples    KP KP KP | KP KP KP KP KP | KP KP …     mixed keys and payloads, by partition, side by
//                                               side where they are equally wide
//   starts    0          3                8           by partition, and the end
#pragma once

#include <cstdint>

#include "cuda/columns/payload.h"
#include "cuda/work/work.h"
#include "engine/key_layout.h"

namespace gpujoin::cuda {

// The rows that become tuples, as kernels see them.
struct RadixInput {
    KeyLayout layout;             // of 4 or 8 bytes
    bool build = false;           // which side's columns these are
    const DeviceColumn* columns;  // all of the side's, on the device
    // The one column that is the key as it stands, or less plain_first where keys are places; null: there is
    // none.
    const std::byte* plain_keys;
    uint64_t plain_first = 0;
    RequiredColumns required;  // rows with a NULL here are left out
    uint64_t rows = 0;         // < 2^32 - 1
};

class RadixSide {
  public:
    // Partitions the rows of an input, in the order of the stream.
    Status partition(const WorkContext& context, const RadixInput& input, const PayloadSource& payload,
                     uint32_t bits);

    // RadixTuples (cuda/radix/radix_tuples.h) of the key's and the payload's width, rows() of them; those
    // behind the last partition are not set.
    void* tuples() const { return tuples_.data(); }
    uint64_t rows() const { return rows_; }
    const uint32_t* starts() const { return starts_.data(); }
    uint32_t partitions() const { return static_cast<uint32_t>(starts_.size() - 1); }
    const PayloadSource& payload() const { return payload_; }

  private:
    template <typename Key, typename Payload>
    Status partition_as(const WorkContext& context, const RadixInput& input, uint32_t bits);
    template <typename Key, typename Payload, typename Source>
    Status partition_from(const WorkContext& context, const Source& source, uint32_t bits);
    template <typename Source>
    Status find_starts(const WorkContext& context, const Source& source, uint32_t bits);

    PayloadSource payload_;
    uint32_t rows_ = 0;
    DeviceArray<uint32_t> tuples_;
    DeviceArray<uint32_t> starts_;
};

}  // namespace gpujoin::cuda
