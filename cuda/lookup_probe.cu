// Searching the lookup structure for the rows of a probe batch.
#include "cuda/launch.cuh"
#include "cuda/lookup.h"
#include "cuda/merge_search.h"

namespace gpujoin {

namespace {

// The group of each probe row's key; nothing for rows with a NULL that cannot match.
template <typename Key>
Status find_groups(const WorkContext& context, const LookupView& view, const DeviceColumn* probe,
                   RequiredColumns required, uint64_t rows, uint32_t* begin, uint32_t* count) {
    return for_each(context.handle(), rows, [=] __device__(uint64_t row) {
        uint32_t leader = required.present(probe, row) ? find_leader<Key>(view, probe, row) : kNoRow;
        Group group{leader, leader != kNoRow};
        if (view.groups && leader != kNoRow) group = view.groups[leader];
        begin[row] = group.begin;
        count[row] = group.count;
    });
}

Status find_groups(const WorkContext& context, const LookupView& view, const DeviceColumn* probe,
                   RequiredColumns required, uint64_t rows, uint32_t* begin, uint32_t* count) {
    switch (view.layout.bytes) {
        case 4:
            return find_groups<uint32_t>(context, view, probe, required, rows, begin, count);
        case 8:
            return find_groups<uint64_t>(context, view, probe, required, rows, begin, count);
        case 16:
            return find_groups<Key16>(context, view, probe, required, rows, begin, count);
        default:
            return find_groups<HashedKey>(context, view, probe, required, rows, begin, count);
    }
}

// Without a key every position is a candidate.
Status take_all(const WorkContext& context, const LookupView& view, const DeviceColumn* probe,
                RequiredColumns required, uint64_t rows, uint32_t* begin, uint32_t* count) {
    auto all = static_cast<uint32_t>(view.positions);
    return for_each(context.handle(), rows, [=] __device__(uint64_t row) {
        begin[row] = 0;
        count[row] = required.present(probe, row) ? all : 0;
    });
}

template <typename Key>
Status narrow_all(const WorkContext& context, const LookupView& view, const Key* order_keys,
                  const DeviceColumn* probe, uint64_t rows, uint32_t* begin, uint32_t* count) {
    return for_each(context.handle(), rows, [=] __device__(uint64_t row) {
        if (count[row] == 0) return;
        Group inside = narrow(view, order_keys, {begin[row], count[row]}, probe, row);
        begin[row] = inside.begin;
        count[row] = inside.count;
    });
}

}  // namespace

Status find_candidates(const WorkContext& context, const Lookup& lookup, const DeviceColumn* probe,
                       RequiredColumns required, uint64_t rows, Candidates* candidates) {
    GPUJOIN_RETURN_IF_FAILED(candidates->begin.allocate(context.account, rows, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(candidates->count.allocate(context.account, rows, context.handle()));
    LookupView view = lookup.view();
    if (view.merge) return find_by_merge(context, view, probe, required, rows, candidates);
    uint32_t* begin = candidates->begin.data();
    uint32_t* count = candidates->count.data();
    auto find = lookup.by_key() ? static_cast<decltype(&take_all)>(find_groups) : take_all;
    GPUJOIN_RETURN_IF_FAILED(find(context, view, probe, required, rows, begin, count));
    if (!lookup.has_bounds()) return {};
    return view.narrow_keys ? narrow_all(context, view, view.narrow_keys, probe, rows, begin, count)
                            : narrow_all(context, view, view.order_keys, probe, rows, begin, count);
}

}  // namespace gpujoin
