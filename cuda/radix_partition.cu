// Partitioning: tuples are made of rows, sorted by the bits that number their partition, and searched for
// where each partition starts.
#include "cuda/radix_partition.h"

#include <utility>

#include "cuda/launch.cuh"
#include "cuda/lookup.cuh"
#include "cuda/primitives.h"
#include "cuda/warp_count.cuh"

namespace gpujoin {

namespace {

__device__ uint32_t mix_key(uint32_t key) {
    return mix32(key);
}
__device__ uint64_t mix_key(uint64_t key) {
    return mix(key);
}

template <typename Key>
__device__ Key input_key(const RadixInput& input, uint64_t row) {
    return mix_key(input.build ? read_key<Key, true>(input.layout, input.columns, row)
                               : read_key<Key, false>(input.layout, input.columns, row));
}

template <typename Payload>
__device__ Payload input_payload(const std::byte* values, uint64_t row) {
    return values ? reinterpret_cast<const Payload*>(values)[row] : static_cast<Payload>(row);
}

// payloads: where row numbers go; null where payloads are there already.
template <typename Key, typename Payload>
Status make_tuples(const WorkContext& context, const RadixInput& input, Key* keys, Payload* payloads) {
    return for_each(context.handle(), input.rows, [=] __device__(uint64_t row) {
        keys[row] = input_key<Key>(input, row);
        if (payloads) payloads[row] = static_cast<Payload>(row);
    });
}

// The same without the rows that cannot match.
template <typename Key, typename Payload>
Status make_present_tuples(const WorkContext& context, const RadixInput& input, const std::byte* values,
                           Key* keys, Payload* payloads, uint32_t* tuples) {
    return for_each(context.handle(), input.rows, [=] __device__(uint64_t row) {
        if (!input.required.present(input.columns, row)) return;
        uint32_t place = count_together(tuples, 0);
        keys[place] = input_key<Key>(input, row);
        payloads[place] = input_payload<Payload>(values, row);
    });
}

// The first tuple of each partition, by search.
template <typename Key>
Status find_starts(const WorkContext& context, const Key* keys, uint32_t tuples, uint32_t bits,
                   uint32_t* starts) {
    Key mask = (Key{1} << bits) - 1;
    return for_each(context.handle(), (uint64_t{1} << bits) + 1, [=] __device__(uint64_t partition) {
        uint32_t begin = 0;
        for (uint32_t end = tuples; begin < end;) {
            uint32_t middle = begin + (end - begin) / 2;
            if ((keys[middle] & mask) < partition) {
                begin = middle + 1;
            } else {
                end = middle;
            }
        }
        starts[partition] = begin;
    });
}

}  // namespace

// Payloads that are values of every row are sorted from where they are.
template <typename Key, typename Payload>
Status RadixSide::partition_as(const WorkContext& context, const RadixInput& input, uint32_t bits,
                               DeviceArray<Key>* keys, DeviceArray<Payload>* payloads) {
    DeviceArray<Key> mixed;
    DeviceArray<Payload> made;
    bool all = input.required.count == 0;
    bool in_place = all && payload_.values;
    auto tuples = static_cast<uint32_t>(input.rows);
    GPUJOIN_RETURN_IF_FAILED(mixed.allocate(context.account, input.rows, context.handle()));
    if (!in_place) GPUJOIN_RETURN_IF_FAILED(made.allocate(context.account, input.rows, context.handle()));
    if (all) {
        GPUJOIN_RETURN_IF_FAILED(make_tuples(context, input, mixed.data(), made.data()));
    } else {
        DeviceArray<uint32_t> count;
        GPUJOIN_RETURN_IF_FAILED(count.allocate(context.account, 1, context.handle()));
        GPUJOIN_RETURN_IF_FAILED(fill_bytes(context.handle(), count.data(), 0, 1));
        GPUJOIN_RETURN_IF_FAILED(
            make_present_tuples(context, input, payload_.values, mixed.data(), made.data(), count.data()));
        GPUJOIN_RETURN_IF_FAILED(read_back(context, count.data(), &tuples));
    }
    GPUJOIN_RETURN_IF_FAILED(check_cancelled(context.cancel));
    GPUJOIN_RETURN_IF_FAILED(keys->allocate(context.account, input.rows, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(payloads->allocate(context.account, input.rows, context.handle()));
    auto* values = in_place ? reinterpret_cast<const Payload*>(payload_.values) : made.data();
    GPUJOIN_RETURN_IF_FAILED(sort_pairs_into(context.account, context.handle(), mixed.data(), values, tuples,
                                             static_cast<int>(bits), keys->data(), payloads->data()));
    GPUJOIN_RETURN_IF_FAILED(starts_.allocate(context.account, (uint64_t{1} << bits) + 1, context.handle()));
    return find_starts(context, keys->data(), tuples, bits, starts_.data());
}

Status RadixSide::partition(const WorkContext& context, const RadixInput& input, const PayloadSource& payload,
                            uint32_t bits) {
    payload_ = payload;
    key_bytes_ = input.layout.bytes;
    bool wide = payload.bytes == sizeof(uint64_t);
    if (key_bytes_ == sizeof(uint32_t))
        return wide ? partition_as(context, input, bits, &keys4_, &payloads8_)
                    : partition_as(context, input, bits, &keys4_, &payloads4_);
    return wide ? partition_as(context, input, bits, &keys8_, &payloads8_)
                : partition_as(context, input, bits, &keys8_, &payloads4_);
}

const void* RadixSide::keys() const {
    return key_bytes_ == sizeof(uint32_t) ? static_cast<const void*>(keys4_.data()) : keys8_.data();
}

const void* RadixSide::payloads() const {
    return payload_.bytes == sizeof(uint32_t) ? static_cast<const void*>(payloads4_.data())
                                              : payloads8_.data();
}

}  // namespace gpujoin
