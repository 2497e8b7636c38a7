// Packing build columns.
#include "cuda/index/packed_columns.h"

#include <algorithm>
#include <map>

#include "cuda/work/launch.cuh"

namespace gpujoin::cuda {

namespace {

// The least and greatest of each group of `size` elements: of keys, whose least and greatest they are
// themselves, or of nodes one level below.
Status bound_groups(const WorkContext& context, const uint64_t* least, const uint64_t* greatest,
                    uint64_t elements, uint32_t size, uint64_t* group_least, uint64_t* group_greatest) {
    return for_each(context.handle(), (elements + size - 1) / size, [=] __device__(uint64_t group) {
        uint64_t low = ~uint64_t{0};
        uint64_t high = 0;
        uint64_t end = (group + 1) * size < elements ? (group + 1) * size : elements;
        for (uint64_t i = group * size; i < end; i++) {
            low = least[i] < low ? least[i] : low;
            high = greatest[i] > high ? greatest[i] : high;
        }
        group_least[group] = low;
        group_greatest[group] = high;
    });
}

uint64_t groups_of(uint64_t elements, uint64_t size) {
    return (elements + size - 1) / size;
}

}  // namespace

template <typename Key>
Status find_order_keys(const WorkContext& context, DeviceColumn column, const uint32_t* rows,
                       uint64_t positions, Key* keys, const KeySpan& span) {
    return for_each(context.handle(), positions, [=] __device__(uint64_t position) {
        uint64_t row = rows ? rows[position] : position;
        uint64_t key = column.is_valid(row) ? order_key(column.spec, column.value(row)) : 0;
        keys[position] = static_cast<Key>(span.rebase(key));
    });
}

template Status find_order_keys(const WorkContext&, DeviceColumn, const uint32_t*, uint64_t, uint32_t*,
                                const KeySpan&);
template Status find_order_keys(const WorkContext&, DeviceColumn, const uint32_t*, uint64_t, uint64_t*,
                                const KeySpan&);

// Several terms may share a column.
Status PackedColumns::pack(const WorkContext& context, const std::vector<Term>& terms,
                           const DeviceColumn* columns, const Positions& positions) {
    if (terms.empty() || positions.count == 0) return {};
    has_tree_ = positions.sorted;
    if (has_tree_) number_nodes(positions.count);
    std::map<uint16_t, size_t> places;
    std::vector<PackedTerm> packed;
    for (const Term& term : terms) {
        const DeviceColumn& source = columns[term.build_column];
        auto [place, is_new] = places.try_emplace(term.build_column, columns_.size());
        if (is_new) {
            columns_.emplace_back();
            GPUJOIN_RETURN_IF_FAILED(pack_column(context, source, positions, &columns_.back()));
        }
        const Column& column = columns_[place->second];
        packed.push_back({column.keys.data(), column.least.data(), column.greatest.data(), term.probe_column,
                          packed_outcomes(term.comparison, order_key_is_exact(source.spec))});
    }
    return upload_vector(context.upload(), packed, &terms_);
}

void PackedColumns::number_nodes(uint64_t positions) {
    uint64_t nodes = groups_of(positions, kZone);
    for (uint64_t& first : level_first_) {
        first = nodes_;
        nodes_ += nodes;
        nodes = groups_of(nodes, uint64_t{1} << kZoneFanoutBits);
    }
}

Status PackedColumns::pack_column(const WorkContext& context, const DeviceColumn& column,
                                  const Positions& positions, Column* packed) const {
    cudaStream_t stream = context.handle();
    GPUJOIN_RETURN_IF_FAILED(packed->keys.allocate(context.account, positions.count, stream));
    uint64_t* keys = packed->keys.data();
    GPUJOIN_RETURN_IF_FAILED(find_order_keys(context, column, positions.rows, positions.count, keys));
    if (!has_tree_) return {};
    GPUJOIN_RETURN_IF_FAILED(packed->least.allocate(context.account, nodes_, stream));
    GPUJOIN_RETURN_IF_FAILED(packed->greatest.allocate(context.account, nodes_, stream));
    uint64_t* least = packed->least.data();
    uint64_t* greatest = packed->greatest.data();
    GPUJOIN_RETURN_IF_FAILED(bound_groups(context, keys, keys, positions.count, kZone, least, greatest));
    for (uint32_t level = 1; level < kZoneLevels; level++) {
        uint64_t below = level_first_[level - 1];
        uint64_t above = level_first_[level];
        GPUJOIN_RETURN_IF_FAILED(bound_groups(context, least + below, greatest + below, above - below,
                                              1u << kZoneFanoutBits, least + above, greatest + above));
    }
    return {};
}

PackedTerms PackedColumns::view() const {
    PackedTerms view;
    view.terms = terms_.data();
    view.count = static_cast<uint32_t>(terms_.size());
    view.has_tree = has_tree_;
    std::copy(std::begin(level_first_), std::end(level_first_), view.level_first);
    return view;
}

}  // namespace gpujoin::cuda
