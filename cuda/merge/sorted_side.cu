// Sorting: keys and payloads are sorted from where they are if they can be, else tuples are made of rows
// first.
#include "cuda/merge/sorted_side.h"

#include <utility>

#include "cuda/columns/key_span.h"
#include "cuda/work/launch.cuh"
#include "cuda/work/number_rows.cuh"
#include "cuda/work/primitives.h"

namespace gpujoin::cuda {

namespace {

// How a row's key is read, as kernels see it.
template <typename Key>
struct RowKey {
    KeyLayout layout;
    int column;
    KeySpan span;
    bool build;
    const DeviceColumn* columns;

    __device__ Key operator()(uint64_t row) const {
        if (column >= 0)
            return static_cast<Key>(span.rebase(order_key(columns[column].spec, columns[column].value(row))));
        return build ? read_sort_key<Key, true>(layout, columns, row)
                     : read_sort_key<Key, false>(layout, columns, row);
    }
};

template <typename Key>
RowKey<Key> row_key(const SortInput& input) {
    return {input.layout, input.column, input.span, input.build, input.device};
}

int key_bits_of(const SortInput& input) {
    return input.column >= 0 ? order_key_bits(input.host[input.column], input.span)
                             : sort_key_bits(input.layout);
}

// The keys of all rows, if they lie in a column just so; else null.
template <typename Key>
const Key* keys_in_place(const SortInput& input) {
    if (input.layout.by_place || input.span != KeySpan{}) return nullptr;
    const KeyPart& part = input.layout.part[0];
    bool single = input.column < 0 && input.layout.parts == 1;
    if (input.column < 0 && !single) return nullptr;
    const DeviceColumn& column =
        input.host[single ? (input.build ? part.build_column : part.probe_column) : input.column];
    if (column.width != sizeof(Key)) return nullptr;
    if (!single && column.spec.order != ValueOrder::Unsigned) return nullptr;
    return reinterpret_cast<const Key*>(column.values);
}

template <typename Key>
Status make_keys(const WorkContext& context, const RowKey<Key>& key, uint64_t rows, Key* keys) {
    return for_each(context.handle(), rows, [=] __device__(uint64_t row) { keys[row] = key(row); });
}

// places: one more than there are rows; becomes the number of rows before each that can match.
Status find_places(const WorkContext& context, const DeviceColumn* columns, RequiredColumns required,
                   uint64_t rows, uint32_t* places) {
    GPUJOIN_RETURN_IF_FAILED(for_each(context.handle(), rows + 1, [=] __device__(uint64_t row) {
        places[row] = row < rows && required.present(columns, row);
    }));
    return exclusive_sum(context.account, context.handle(), places, rows + 1);
}

// Tuples of the rows that can match in row order; behind them, if wanted, the payloads of the others.
template <typename Key, typename Payload>
Status place_tuples(const WorkContext& context, const RowKey<Key>& key, const std::byte* values,
                    const uint32_t* places, uint64_t rows, uint64_t tuples, bool keep_absent, Key* keys,
                    Payload* payloads) {
    return for_each(context.handle(), rows, [=] __device__(uint64_t row) {
        uint64_t place = places[row];
        bool present = places[row + 1] != place;
        if (!present && !keep_absent) return;
        if (present) keys[place] = key(row);
        payloads[present ? place : tuples + row - place] =
            values ? reinterpret_cast<const Payload*>(values)[row] : static_cast<Payload>(row);
    });
}

}  // namespace

template <typename Key, typename Payload>
Status SortedSide::sort_all(const WorkContext& context, const SortInput& input, DeviceArray<Key>* keys,
                            DeviceArray<Payload>* payloads) {
    tuples_ = entries_ = input.rows;
    const Key* key_column = keys_in_place<Key>(input);
    auto* value_column = reinterpret_cast<const Payload*>(payload_.values);
    DeviceArray<Key> made_keys;
    DeviceArray<Payload> made_payloads;
    if (!key_column) {
        GPUJOIN_RETURN_IF_FAILED(made_keys.allocate(context.account, tuples_, context.handle()));
        GPUJOIN_RETURN_IF_FAILED(make_keys(context, row_key<Key>(input), tuples_, made_keys.data()));
    }
    if (!value_column) {
        GPUJOIN_RETURN_IF_FAILED(made_payloads.allocate(context.account, tuples_, context.handle()));
        GPUJOIN_RETURN_IF_FAILED(number_rows(context, tuples_, made_payloads.data()));
    }
    if (!key_column && !value_column) {
        *keys = std::move(made_keys);
        *payloads = std::move(made_payloads);
        return sort_pairs(context.account, context.handle(), keys, payloads, tuples_, key_bits_);
    }
    GPUJOIN_RETURN_IF_FAILED(keys->allocate(context.account, tuples_, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(payloads->allocate(context.account, tuples_, context.handle()));
    return sort_pairs_into(context.account, context.handle(), key_column ? key_column : made_keys.data(),
                           value_column ? value_column : made_payloads.data(), tuples_, key_bits_,
                           keys->data(), payloads->data());
}

template <typename Key, typename Payload>
Status SortedSide::sort_present(const WorkContext& context, const SortInput& input, bool keep_absent,
                                DeviceArray<Key>* keys, DeviceArray<Payload>* payloads) {
    DeviceArray<uint32_t> places;
    GPUJOIN_RETURN_IF_FAILED(places.allocate(context.account, input.rows + 1, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(find_places(context, input.device, input.required, input.rows, places.data()));
    uint32_t present = 0;
    GPUJOIN_RETURN_IF_FAILED(read_back(context, places.data() + input.rows, &present));
    tuples_ = present;
    entries_ = keep_absent ? input.rows : tuples_;
    DeviceArray<Key> made_keys;
    DeviceArray<Payload> made_payloads;
    GPUJOIN_RETURN_IF_FAILED(made_keys.allocate(context.account, tuples_, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(made_payloads.allocate(context.account, entries_, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(place_tuples(context, row_key<Key>(input), payload_.values, places.data(),
                                          input.rows, tuples_, keep_absent, made_keys.data(),
                                          made_payloads.data()));
    places.reset();
    if (entries_ == tuples_) {
        *keys = std::move(made_keys);
        *payloads = std::move(made_payloads);
        return sort_pairs(context.account, context.handle(), keys, payloads, tuples_, key_bits_);
    }
    GPUJOIN_RETURN_IF_FAILED(keys->allocate(context.account, tuples_, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(payloads->allocate(context.account, entries_, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(sort_pairs_into(context.account, context.handle(), made_keys.data(),
                                             made_payloads.data(), tuples_, key_bits_, keys->data(),
                                             payloads->data()));
    GPUJOIN_CHECK_CUDA(cudaMemcpyAsync(payloads->data() + tuples_, made_payloads.data() + tuples_,
                                       (entries_ - tuples_) * sizeof(Payload), cudaMemcpyDeviceToDevice,
                                       context.handle()));
    return {};
}

template <typename Key>
Status SortedSide::sort_by(const WorkContext& context, const SortInput& input, bool keep_absent,
                           DeviceArray<Key>* keys) {
    auto sort_into = [&](auto* payloads) {
        return input.required.count > 0 ? sort_present(context, input, keep_absent, keys, payloads)
                                        : sort_all(context, input, keys, payloads);
    };
    return payload_.bytes == sizeof(uint64_t) ? sort_into(&payloads8_) : sort_into(&payloads4_);
}

Status SortedSide::sort(const WorkContext& context, const SortInput& input, const PayloadSource& payload,
                        bool keep_absent) {
    payload_ = payload;
    key_bits_ = key_bits_of(input);
    return key_bits_ <= 32 ? sort_by(context, input, keep_absent, &keys4_)
                           : sort_by(context, input, keep_absent, &keys8_);
}

void SortedSide::forget_keys() {
    keys4_.reset();
    keys8_.reset();
}

const void* SortedSide::payloads() const {
    return payload_.bytes == sizeof(uint64_t) ? static_cast<const void*>(payloads8_.data())
                                              : payloads4_.data();
}

}  // namespace gpujoin::cuda
