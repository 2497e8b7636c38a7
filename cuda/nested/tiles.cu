// The two halves of tile tests.
#include "cuda/nested/tiles.h"

#include <algorithm>

#include "cuda/work/launch.cuh"

namespace gpujoin::cuda {

namespace {

template <typename Key>
Status make_keys(const WorkContext& context, const JoinPlan& plan, const DeviceColumn* columns,
                 const Positions& positions, std::vector<DeviceArray<Key>>* keys) {
    for (uint16_t column : plan.tile_columns) {
        keys->emplace_back();
        GPUJOIN_RETURN_IF_FAILED(keys->back().allocate(context.account, positions.count, context.handle()));
        GPUJOIN_RETURN_IF_FAILED(
            find_order_keys(context, columns[column], positions.rows, positions.count, keys->back().data()));
    }
    return {};
}

// Cuts an interval of keys down to those that a term accepts. False: there are none.
template <typename Key>
__device__ bool cut_interval(Comparison comparison, Key key, Key* first, Key* last) {
    constexpr Key kHighest = ~Key{0};
    Key low = 0;
    Key high = kHighest;
    switch (comparison) {
        case Comparison::Equal:
            low = high = key;
            break;
        case Comparison::NotEqual:  // alone in its test: all keys but this one, wrapping around
            *first = key + 1;
            *last = key - 1;
            return true;
        case Comparison::Less:
            if (key == kHighest) return false;
            low = key + 1;
            break;
        case Comparison::LessEqual:
            low = key;
            break;
        case Comparison::Greater:
            if (key == 0) return false;
            high = key - 1;
            break;
        default:
            high = key;
    }
    *first = *first < low ? low : *first;
    *last = *last < high ? *last : high;
    return *first <= *last;
}

}  // namespace

Status TileKeys::make(const WorkContext& context, const JoinPlan& plan, const DeviceColumn* columns,
                      const Positions& positions) {
    if (plan.tile_columns.empty()) return {};
    narrow_ = std::all_of(plan.tile_columns.begin(), plan.tile_columns.end(),
                          [&](uint16_t column) { return has_narrow_order_keys(columns[column]); });
    GPUJOIN_RETURN_IF_FAILED(narrow_ ? make_keys(context, plan, columns, positions, &narrow_keys_)
                                     : make_keys(context, plan, columns, positions, &wide_keys_));
    std::vector<TileTerm> terms;
    for (size_t i = 0; i < plan.tile_terms.size(); i++)
        terms.push_back(
            {plan.tile_terms[i].probe_column, plan.tile_terms[i].comparison, plan.tile_of_term[i]});
    return upload_vector(context.upload(), terms, &terms_);
}

TileView TileKeys::view() const {
    TileView view;
    view.narrow = narrow_;
    view.tests = static_cast<uint32_t>(narrow_ ? narrow_keys_.size() : wide_keys_.size());
    for (uint32_t i = 0; i < view.tests; i++) {
        if (narrow_)
            view.keys[i] = narrow_keys_[i].data();
        else
            view.keys[i] = wide_keys_[i].data();
    }
    view.terms = terms_.data();
    view.term_count = static_cast<uint32_t>(terms_.size());
    return view;
}

template <typename Key>
Status make_intervals(const WorkContext& context, const TileView& tiles, const DeviceColumn* probe,
                      uint64_t rows, const uint32_t* candidates, TileIntervals<Key>* intervals) {
    cudaStream_t stream = context.handle();
    GPUJOIN_RETURN_IF_FAILED(intervals->first.allocate(context.account, rows * tiles.tests, stream));
    GPUJOIN_RETURN_IF_FAILED(intervals->width.allocate(context.account, rows * tiles.tests, stream));
    GPUJOIN_RETURN_IF_FAILED(intervals->live.allocate(context.account, rows, stream));
    Key* to_first = intervals->first.data();
    Key* to_width = intervals->width.data();
    uint8_t* to_live = intervals->live.data();
    return for_each(stream, rows, [=] __device__(uint64_t row) {
        Key first[kMaxTileTests];
        Key last[kMaxTileTests];
        for (uint32_t i = 0; i < kMaxTileTests; i++) {
            first[i] = 0;
            last[i] = ~Key{0};
        }
        bool live = candidates[row] > 0;
        for (uint32_t i = 0; live && i < tiles.term_count; i++) {
            const TileTerm& term = tiles.terms[i];
            const DeviceColumn& column = probe[term.probe_column];
            auto key = static_cast<Key>(order_key(column.spec, column.value(row)));
            live = cut_interval(term.comparison, key, &first[term.test], &last[term.test]);
        }
        for (uint32_t i = 0; i < tiles.tests; i++) {
            to_first[i * rows + row] = first[i];
            to_width[i * rows + row] = last[i] - first[i];
        }
        to_live[row] = live;
    });
}

template Status make_intervals(const WorkContext&, const TileView&, const DeviceColumn*, uint64_t,
                               const uint32_t*, TileIntervals<uint32_t>*);
template Status make_intervals(const WorkContext&, const TileView&, const DeviceColumn*, uint64_t,
                               const uint32_t*, TileIntervals<uint64_t>*);

}  // namespace gpujoin::cuda
