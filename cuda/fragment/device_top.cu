// Rows are selected by the bound as it is, and once more by what their own keys make of it.
#include "cuda/fragment/device_top.h"

#include <thrust/iterator/counting_iterator.h>

#include <cub/device/device_select.cuh>

#include "cuda/work/launch.cuh"
#include "cuda/work/primitives.h"
#include "cuda/work/with_temporary.cuh"

namespace gpujoin::cuda {

namespace {

struct IsWithin {
    const uint64_t* words;
    uint64_t bound;
    GPUJOIN_HD bool operator()(uint32_t row) const { return words[row] <= bound; }
};

struct Selection {
    const uint64_t* words;  // of all rows
    uint32_t rows;
    uint32_t* list;
    uint32_t* selected;
};

Status find_words(const WorkContext& context, const PickedView& key, const TopOrder& order, uint32_t rows,
                  uint64_t* words) {
    return for_each(context.handle(), rows, [=] __device__(uint64_t i) {
        const uint64_t row = key.row(i);
        words[i] = key.is_null(row) ? order.word_of_null() : order.word(key.value(row));
    });
}

Status select_within(const WorkContext& context, uint64_t bound, const Selection& selection) {
    DeviceArray<uint32_t> count;
    GPUJOIN_RETURN_IF_FAILED(count.allocate(context.account, 1, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(
        with_temporary(context.account, context.handle(), [&](void* temporary, size_t& bytes) {
            return cub::DeviceSelect::If(temporary, bytes, thrust::counting_iterator<uint32_t>(0),
                                         selection.list, count.data(), selection.rows,
                                         IsWithin{selection.words, bound}, context.handle());
        }));
    return read_back(context, count.data(), selection.selected);
}

// The least words of the selected rows, no more than are wanted.
Status add_keys(const WorkContext& context, const Selection& selection, TopKeys& keys) {
    const uint32_t selected = *selection.selected;
    DeviceArray<uint64_t> words;
    GPUJOIN_RETURN_IF_FAILED(words.allocate(context.account, selected, context.handle()));
    const uint64_t* of_rows = selection.words;
    const uint32_t* list = selection.list;
    uint64_t* to = words.data();
    GPUJOIN_RETURN_IF_FAILED(
        for_each(context.handle(), selected, [=] __device__(uint64_t i) { to[i] = of_rows[list[i]]; }));
    if (selected > keys.count())
        GPUJOIN_RETURN_IF_FAILED(sort_keys(context.account, context.handle(), &words, selected));
    std::vector<uint64_t> least(std::min(selected, keys.count()));
    GPUJOIN_RETURN_IF_FAILED(context.transfer.download(
        context.handle(), reinterpret_cast<std::byte*>(least.data()),
        reinterpret_cast<const std::byte*>(words.data()), least.size() * sizeof(uint64_t), Memory::Host));
    GPUJOIN_RETURN_IF_FAILED(context.stream.synchronize());
    for (uint64_t word : least) keys.add(word);
    keys.settle();
    return {};
}

Status select(const WorkContext& context, const PickedView& key, const TopOrder& order, TopKeys& keys,
              Selection selection) {
    DeviceArray<uint64_t> words;
    GPUJOIN_RETURN_IF_FAILED(words.allocate(context.account, selection.rows, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(find_words(context, key, order, selection.rows, words.data()));
    selection.words = words.data();
    const uint64_t bound = keys.bound();
    GPUJOIN_RETURN_IF_FAILED(select_within(context, bound, selection));
    if (*selection.selected == 0) return {};
    const bool are_few = *selection.selected <= keys.count();
    GPUJOIN_RETURN_IF_FAILED(add_keys(context, selection, keys));
    return are_few || keys.bound() == bound ? Status{} : select_within(context, keys.bound(), selection);
}

}  // namespace

Status select_top_rows(const WorkContext& context, const PickedView& key, const TopOrder& order,
                       uint32_t rows, TopKeys& keys, uint32_t* list, uint32_t* selected) {
    *selected = 0;
    if (rows == 0) return {};
    const Status status = select(context, key, order, keys, {nullptr, rows, list, selected});
    if (status.fault != Fault::DeviceMemory) return status;
    *selected = rows;
    return {};
}

}  // namespace gpujoin::cuda
