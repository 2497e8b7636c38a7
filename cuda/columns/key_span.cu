// Finding spans.
#include "cuda/columns/key_span.h"

#include <algorithm>
#include <cub/device/device_reduce.cuh>
#include <optional>
#include <thrust/iterator/counting_iterator.h>

#include "cuda/work/with_temporary.cuh"

namespace gpujoin::cuda {

namespace {

constexpr uint64_t kSampleRows = 64 << 10;
constexpr int kPassBits = 8;  // that a pass of the radix sort looks at

int passes_over(int bits) {
    return (bits + kPassBits - 1) / kPassBits;
}

// What is known of some rows' keys; first > last where there are none.
struct RowsSpan {
    uint64_t first = ~uint64_t{0};
    uint64_t last = 0;
};

struct SpanOfBoth {
    __device__ RowsSpan operator()(const RowsSpan& a, const RowsSpan& b) const {
        return {a.first < b.first ? a.first : b.first, a.last > b.last ? a.last : b.last};
    }
};

// Of every step-th row.
struct SpanOfRow {
    DeviceColumn column;
    const DeviceColumn* columns;
    RequiredColumns required;
    uint64_t step;

    __device__ RowsSpan operator()(uint64_t i) const {
        if (!required.present(columns, i * step)) return {};
        uint64_t key = order_key(column.spec, column.value(i * step));
        return {key, key};
    }
};

// A sample hardly has the very ends of its column.
KeySpan widen(const KeySpan& sample) {
    uint64_t margin = (sample.last - sample.first) / 64;
    return {sample.first - std::min(margin, sample.first), sample.last + std::min(margin, ~sample.last)};
}

// The span of all rows' keys, or what it may be by every step-th one; nothing where none of them can match.
Status find_span(const WorkContext& context, const SpanInput& input, const DeviceColumn& column,
                 uint64_t step, std::optional<KeySpan>* span) {
    DeviceArray<RowsSpan> result;
    GPUJOIN_RETURN_IF_FAILED(result.allocate(context.account, 1, context.handle()));
    SpanOfRow row{column, input.columns.device, input.required, step};
    uint64_t rows = (input.rows + step - 1) / step;
    auto reduce = [&](void* temporary, size_t& bytes) {
        return cub::DeviceReduce::TransformReduce(temporary, bytes, thrust::counting_iterator<uint64_t>(0),
                                                  result.data(), rows, SpanOfBoth{}, row, RowsSpan{},
                                                  context.handle());
    };
    GPUJOIN_RETURN_IF_FAILED(with_temporary(context.account, context.handle(), reduce));
    RowsSpan found;
    GPUJOIN_RETURN_IF_FAILED(read_back(context, result.data(), &found));
    span->reset();
    if (found.first > found.last) return {};
    *span = {found.first, found.last};
    if (step > 1) *span = widen(**span);
    return {};
}

Status find_places(const WorkContext& context, const SpanInput& input, const KeyLayout& layout, uint64_t step,
                   KeyPlaces* places) {
    auto column = [&](uint32_t i) { return input.columns.host[layout.part[i].build_column]; };
    *places = {};
    if (layout.parts > KeyPlaces::kMaxParts) return {};
    for (uint32_t i = 0; i < layout.parts; i++)
        if (!order_key_is_exact(column(i).spec)) return {};
    KeySpan spans[KeyPlaces::kMaxParts];
    for (uint32_t i = 0; i < layout.parts; i++) {
        GPUJOIN_RETURN_IF_FAILED(check_cancelled(context.cancel));
        std::optional<KeySpan> span;
        GPUJOIN_RETURN_IF_FAILED(find_span(context, input, column(i), step, &span));
        if (!span) return {};
        spans[i] = *span;
    }
    *places = make_key_places(spans, layout.parts);
    return {};
}

// What keys cost: passes where rows are sorted by them, else bytes.
int cost_of(const KeyLayout& layout, bool sorted) {
    constexpr int kHashed = sizeof(Key16) + 1;
    if (sorted) return passes_over(sort_key_bits(layout));
    return layout.bytes > 0 ? static_cast<int>(layout.bytes) : kHashed;
}

int least_cost(bool sorted) {
    return sorted ? 1 : static_cast<int>(sizeof(uint32_t));
}

KeyLayout by_place(const KeyLayout& layout, const KeyPlaces& places) {
    KeyLayout placed = layout;
    placed.places = places;
    placed.by_place = true;
    placed.bytes = places.last < UINT32_MAX ? sizeof(uint32_t) : sizeof(uint64_t);
    return placed;
}

// Calls find(step, &pays) for a sample of the rows, and if it pays there for all of them.
template <typename Find>
Status sample_first(uint64_t rows, const Find& find) {
    bool pays = true;
    if (rows > kSampleRows) GPUJOIN_RETURN_IF_FAILED(find((rows - 1) / kSampleRows + 1, &pays));
    return pays ? find(1, &pays) : Status{};
}

}  // namespace

Status find_key_places(const WorkContext& context, const SpanInput& input, const KeyLayout& layout,
                       KeyPlaces* places) {
    return find_places(context, input, layout, 1, places);
}

Status shorten_keys(const WorkContext& context, const SpanInput& input, bool sorted, KeyLayout* layout) {
    const int cost = cost_of(*layout, sorted);
    if (cost == least_cost(sorted)) return {};
    return sample_first(input.rows, [&](uint64_t step, bool* pays) -> Status {
        KeyPlaces places;
        GPUJOIN_RETURN_IF_FAILED(find_places(context, input, *layout, step, &places));
        *pays = places.parts > 0 && cost_of(by_place(*layout, places), sorted) < cost;
        if (step > 1) return {};
        layout->places = places;
        if (*pays) *layout = by_place(*layout, places);
        return {};
    });
}

Status find_sort_span(const WorkContext& context, const SpanInput& input, const DeviceColumn& column,
                      KeySpan* span) {
    const int passes = passes_over(order_key_bits(column, *span));
    return sample_first(input.rows, [&](uint64_t step, bool* pays) -> Status {
        std::optional<KeySpan> found;
        GPUJOIN_RETURN_IF_FAILED(find_span(context, input, column, step, &found));
        *pays = found && found->last - found->first <= KeySpan{}.last - KeySpan{}.first &&
                passes_over(found->bits()) < passes;
        if (*pays && step == 1) *span = *found;
        return {};
    });
}

}  // namespace gpujoin::cuda
