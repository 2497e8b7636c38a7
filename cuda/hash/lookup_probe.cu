// Searching the lookup structure for the rows of a probe batch.
#include "cuda/work/kernel.h"
#include "cuda/work/launch.cuh"
#include "cuda/hash/lookup.h"
#include "cuda/merge/merge_search.h"

namespace gpujoin::cuda {

namespace {

// The group of each probe row's key; nothing for rows with a NULL that cannot match.
template <typename Key>
Status find_groups(const WorkContext& context, const LookupView& view, const DeviceColumn* probe,
                   RequiredColumns required, uint64_t rows, uint32_t* begin, uint32_t* count) {
    return for_each(context.handle(), rows, [=] __device__(uint64_t row) {
        uint32_t leader = kNoRow;
        bool found = required.present(probe, row) && find_leader<Key>(view, probe, row, &leader);
        Group group{leader, found};
        if (view.groups && found) group = view.groups[leader];
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

constexpr uint32_t kSearchThreads = 512;
constexpr uint64_t kLeastSearches = 16 << 10;  // fewer do not pay for loading roots

// Narrows all positions to those within each probe row's bounds, by a tree whose root each block loads.
template <typename Key>
__global__ void __launch_bounds__(kSearchThreads)
    narrow_positions(const __grid_constant__ LookupView view, const __grid_constant__ SearchTree<Key> tree,
                     const DeviceColumn* probe, uint64_t rows, uint32_t* begin, uint32_t* count) {
    __shared__ Key root[SearchTree<Key>::kRootKeys];
    for (uint32_t i = threadIdx.x; i < tree.count[tree.top]; i += kSearchThreads)
        root[i] = tree.level[tree.top][i];
    __syncthreads();
    uint64_t step = uint64_t{gridDim.x} * kSearchThreads;
    for (uint64_t row = uint64_t{blockIdx.x} * kSearchThreads + threadIdx.x; row < rows; row += step) {
        if (count[row] == 0) continue;
        Group inside = narrow(view, tree.level[0], {0, tree.count[0]}, probe, row, 0, &tree, root);
        begin[row] = inside.begin;
        count[row] = inside.count;
    }
}

template <typename Key>
Status narrow_by_tree(const WorkContext& context, const LookupView& view, const Key* order_keys,
                      const Key* fences, const DeviceColumn* probe, uint64_t rows, uint32_t* begin,
                      uint32_t* count) {
    if (fault_due(FaultPoint::Launch)) return cuda_status(cudaErrorLaunchFailure, "kernel launch");
    auto tree = make_search_tree(order_keys, static_cast<uint32_t>(view.positions), fences);
    auto kernel = narrow_positions<Key>;
    uint32_t blocks = 0;
    GPUJOIN_RETURN_IF_FAILED(find_resident_blocks(kernel, kSearchThreads, 0, &blocks));
    kernel<<<blocks, kSearchThreads, 0, context.handle()>>>(view, tree, probe, rows, begin, count);
    GPUJOIN_CHECK_CUDA(cudaGetLastError());
    return {};
}

template <typename Key>
Status narrow_all(const WorkContext& context, const LookupView& view, const Key* order_keys,
                  const Key* fences, const DeviceColumn* probe, uint64_t rows, uint32_t* begin,
                  uint32_t* count) {
    if (fences && rows >= kLeastSearches)
        return narrow_by_tree(context, view, order_keys, fences, probe, rows, begin, count);
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
    if (view.narrow_keys)
        return narrow_all(context, view, view.narrow_keys, view.narrow_fences, probe, rows, begin, count);
    return narrow_all(context, view, view.order_keys, view.order_fences, probe, rows, begin, count);
}

}  // namespace gpujoin::cuda
