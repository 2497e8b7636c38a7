// Building the lookup structure: the leaders of keys, then groups, then positions.
#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "cuda/work/launch.cuh"
#include "cuda/hash/lookup.h"
#include "cuda/work/number_rows.cuh"
#include "cuda/work/primitives.h"
#include "cuda/work/steps.cuh"
#include "cuda/work/warp_count.cuh"

namespace gpujoin::cuda {

namespace {

// A direct array is to hold values where there are so many probe rows for a build row: with as many as build
// rows, joins took 6 to 13 % longer.
constexpr uint64_t kProbeRowsPerDirectValue = 4;
// A direct array may have this many slots a build row: as much memory as the open-addressing table takes; and
// more where it stays in the device's cache, since it takes one access and no hash.
constexpr uint64_t kDirectSlotsPerRow = 4;
constexpr uint64_t kDirectSlotsAtLeast = 1024;
constexpr uint64_t kCachedSlotsPerRow = 64;
constexpr uint64_t kCachedSlots = 1u << 20;

// Enters a row into the direct array; returns the leader of its key.
__device__ uint32_t insert_direct(const LookupView& view, uint32_t row) {
    uint64_t slot;
    find_place<true>(view.layout, view.build, row, &slot);
    uint32_t held = atomicCAS(const_cast<uint32_t*>(view.direct) + slot, kNoRow, row);
    return held == kNoRow ? row : held;
}

// Enters a row into the table; returns the leader of its key. Slots change once, from empty, so that a stale
// read is either right or corrected by the exchange.
template <typename Key>
__device__ uint32_t insert_slot(const LookupView& view, uint32_t row) {
    Key key = read_key<Key, true>(view.layout, view.build, row);
    uint64_t hash = hash_of(key);
    uint32_t tag = tag_of(key, hash);
    uint64_t entry = make_slot(tag, row);
    uint64_t slot = multiply_high(hash, view.capacity);
    while (true) {
        uint64_t held = view.slots[slot];
        if (held == kEmptySlot) {
            held = atomicCAS(reinterpret_cast<unsigned long long*>(view.slots + slot), kEmptySlot, entry);
            if (held == kEmptySlot) return row;
        }
        if (tag_in(held) == tag && same_key<Key, true>(view, leader_in(held), key, view.build, row))
            return leader_in(held);
        slot = slot + 1 == view.capacity ? 0 : slot + 1;
    }
}

// Enters every row that can match, notes its leader and counts the rows of each leader.
template <typename Key>
Status insert_rows(const WorkContext& context, const LookupView& view, RequiredColumns required,
                   uint64_t rows, uint32_t* leaders, uint32_t* counts, uint32_t* duplicates) {
    return for_each_in_steps(context, rows, [=] __device__(uint64_t i) {
        auto row = static_cast<uint32_t>(i);
        if (!required.present(view.build, row)) {
            leaders[row] = kNoRow;
            return;
        }
        uint32_t leader = view.direct ? insert_direct(view, row) : insert_slot<Key>(view, row);
        leaders[row] = leader;
        count_together(counts, leader);
        if (leader != row && *static_cast<volatile uint32_t*>(duplicates) == 0) *duplicates = 1;
    });
}

Status insert_rows(const WorkContext& context, const LookupView& view, RequiredColumns required,
                   uint64_t rows, uint32_t* leaders, uint32_t* counts, uint32_t* duplicates) {
    switch (view.layout.bytes) {
        case 4:
            return insert_rows<uint32_t>(context, view, required, rows, leaders, counts, duplicates);
        case 8:
            return insert_rows<uint64_t>(context, view, required, rows, leaders, counts, duplicates);
        case 16:
            return insert_rows<Key16>(context, view, required, rows, leaders, counts, duplicates);
        default:
            return insert_rows<HashedKey>(context, view, required, rows, leaders, counts, duplicates);
    }
}

// Whether the entry of the greatest key would look like an empty slot if it held its value.
Status find_ambiguous(const WorkContext& context, const LookupView& view, const uint32_t* values,
                      bool* ambiguous) {
    DeviceArray<uint32_t> answer;
    GPUJOIN_RETURN_IF_FAILED(answer.allocate(context.account, 1, context.handle()));
    uint32_t* to = answer.data();
    GPUJOIN_RETURN_IF_FAILED(for_each(context.handle(), 1, [=] __device__(uint64_t) {
        uint32_t key = tag_in(kEmptySlot);
        uint64_t held = find_slot(view, key, nullptr, 0);
        *to = held != kEmptySlot && make_slot(key, values[leader_in(held)]) == kEmptySlot;
    }));
    uint32_t found = 0;
    GPUJOIN_RETURN_IF_FAILED(read_back(context, to, &found));
    *ambiguous = found != 0;
    return {};
}

// Whether a value would look like an empty place of a direct array.
Status find_ambiguous(const WorkContext& context, const uint32_t* values, uint64_t rows, bool* ambiguous) {
    DeviceArray<uint32_t> answer;
    GPUJOIN_RETURN_IF_FAILED(answer.allocate(context.account, 1, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(fill_bytes(context.handle(), answer.data(), 0, 1));
    uint32_t* to = answer.data();
    GPUJOIN_RETURN_IF_FAILED(for_each(context.handle(), rows, [=] __device__(uint64_t row) {
        if (values[row] == kNoRow) *to = 1;
    }));
    uint32_t found = 0;
    GPUJOIN_RETURN_IF_FAILED(read_back(context, to, &found));
    *ambiguous = found != 0;
    return {};
}

// Puts the value of each leader in its place.
Status replace_leaders(const WorkContext& context, const uint32_t* values, DeviceArray<uint32_t>* direct) {
    uint32_t* place = direct->data();
    return for_each(context.handle(), direct->size(), [=] __device__(uint64_t i) {
        if (place[i] != kNoRow) place[i] = values[place[i]];
    });
}
Status replace_leaders(const WorkContext& context, const uint32_t* values, DeviceArray<uint64_t>* slots) {
    uint64_t* slot = slots->data();
    return for_each(context.handle(), slots->size(), [=] __device__(uint64_t i) {
        uint64_t held = slot[i];
        if (held != kEmptySlot) slot[i] = make_slot(tag_in(held), values[leader_in(held)]);
    });
}

// Puts the value of each row in its place.
Status replace_rows(const WorkContext& context, const uint32_t* values, uint64_t positions, uint32_t* rows) {
    return for_each(context.handle(), positions,
                    [=] __device__(uint64_t position) { rows[position] = values[rows[position]]; });
}

// The build rows that can match, in row order.
Status list_rows(const WorkContext& context, const DeviceColumn* build, RequiredColumns required,
                 uint64_t rows, DeviceArray<uint32_t>* list, uint64_t* listed) {
    if (required.count == 0) {
        *listed = rows;
        GPUJOIN_RETURN_IF_FAILED(list->allocate(context.account, rows, context.handle()));
        return number_rows(context, rows, list->data());
    }
    DeviceArray<uint32_t> places;
    GPUJOIN_RETURN_IF_FAILED(places.allocate(context.account, rows + 1, context.handle()));
    uint32_t* place = places.data();
    GPUJOIN_RETURN_IF_FAILED(for_each(context.handle(), rows + 1, [=] __device__(uint64_t row) {
        place[row] = row < rows && required.present(build, row);
    }));
    GPUJOIN_RETURN_IF_FAILED(exclusive_sum(context.account, context.handle(), place, rows + 1));
    uint32_t count = 0;
    GPUJOIN_RETURN_IF_FAILED(read_back(context, place + rows, &count));
    *listed = count;
    GPUJOIN_RETURN_IF_FAILED(list->allocate(context.account, count, context.handle()));
    uint32_t* to = list->data();
    return for_each(context.handle(), rows, [=] __device__(uint64_t row) {
        if (place[row + 1] != place[row]) to[place[row]] = static_cast<uint32_t>(row);
    });
}

Status combine_groups(const WorkContext& context, uint64_t leaders, const uint32_t* begins,
                      const uint32_t* counts, Group* groups) {
    return for_each(context.handle(), leaders, [=] __device__(uint64_t leader) {
        groups[leader] = {begins[leader], counts[leader]};
    });
}

// Puts every row, or its value where there are values, into the next place of its group.
Status place_rows(const WorkContext& context, uint64_t rows, const uint32_t* leaders, const uint32_t* values,
                  uint32_t* next, uint32_t* places) {
    return for_each_in_steps(context, rows, [=] __device__(uint64_t row) {
        uint32_t leader = leaders[row];
        if (leader == kNoRow) return;
        places[count_together(next, leader)] = values ? values[row] : static_cast<uint32_t>(row);
    });
}

Status find_leaders(const WorkContext& context, const uint32_t* leaders, const uint32_t* rows,
                    uint64_t positions, uint32_t* found) {
    return for_each(context.handle(), positions,
                    [=] __device__(uint64_t position) { found[position] = leaders[rows[position]]; });
}

// Fences of keys that do not stay in the caches anyway.
template <typename Key>
Status make_fences(const WorkContext& context, const DeviceArray<Key>& order_keys, DeviceArray<Key>* fences) {
    constexpr uint64_t kLeastKeys = 64 << 10;
    if (order_keys.size() < kLeastKeys) return {};
    auto count = static_cast<uint32_t>(order_keys.size());
    const Key* keys = order_keys.data();
    SearchTree<Key> tree = make_search_tree<Key>(keys, count, nullptr);
    GPUJOIN_RETURN_IF_FAILED(fences->allocate(context.account, tree.fence_keys(), context.handle()));
    Key* to = fences->data();
    return for_each(context.handle(), fences->size(), [=] __device__(uint64_t i) {
        uint32_t level = 1;
        uint64_t number = i;
        while (number >= tree.padded(level)) number -= tree.padded(level++);
        uint64_t key = number;
        for (uint32_t below = 0; below < level; below++) key *= kNodeKeys;
        to[i] = keys[key < count ? key : count - 1];
    });
}

}  // namespace

Status Lookup::build(const WorkContext& context, const JoinSpec& spec, const JoinPlan& plan,
                     const KeyLayout& layout, const SpanInput& side, const PayloadSource& payload) {
    const auto& [columns, required, rows] = side;
    layout_ = layout;
    build_ = columns.device;
    by_key_ = plan.by_key;
    merge_ = plan.merge;
    positions_ = rows;
    const uint32_t* values = nullptr;  // to hold in the place of row numbers
    if (!merge_ && !plan.tests_candidates() && payload.values && payload.bytes == sizeof(uint32_t))
        values = reinterpret_cast<const uint32_t*>(payload.values);
    if (by_key_) GPUJOIN_RETURN_IF_FAILED(make_leaders(context, side));
    if (plan.range_column >= 0 && !unique_)
        GPUJOIN_RETURN_IF_FAILED(find_sort_span(context, side, columns.host[plan.range_column], &span_));
    if (merge_) {
        SortInput input{layout_,      plan.range_column, span_,    true,
                        columns.host, columns.device,    required, rows};
        GPUJOIN_RETURN_IF_FAILED(merge_side_.sort(context, input, payload, false));
        positions_ = merge_side_.tuples();
    } else if (plan.range_column >= 0) {
        const DeviceColumn& column = columns.host[plan.range_column];
        GPUJOIN_RETURN_IF_FAILED(
            order_key_bits(column, span_) <= 32
                ? make_order(context, column, rows, required, &narrow_keys_, &narrow_fences_)
                : make_order(context, column, rows, required, &order_keys_, &order_fences_));
    } else if (by_key_ && !unique_) {
        GPUJOIN_RETURN_IF_FAILED(scatter_rows(context, rows, values));
    }
    if (plan.range_column >= 0) GPUJOIN_RETURN_IF_FAILED(make_bounds(context, spec, plan));
    leaders_.reset();
    counts_.reset();
    if (!by_key_ && !merge_ && plan.range_column < 0 && required.count > 0)
        GPUJOIN_RETURN_IF_FAILED(list_rows(context, build_, required, rows, &rows_, &positions_));
    bool sorted = plan.range_column >= 0 || merge_;
    GPUJOIN_RETURN_IF_FAILED(
        packed_.pack(context, plan.packed, columns.host, {row_numbers(), positions_, sorted}));
    GPUJOIN_RETURN_IF_FAILED(tiles_.make(context, plan, columns.host, {row_numbers(), positions_, sorted}));
    const uint64_t pays_from = direct_.data() && !rows_.data() ? kProbeRowsPerDirectValue * rows : rows;
    if (values && !holds_values_ && spec.estimated_probe_rows >= pays_from)
        GPUJOIN_RETURN_IF_FAILED(fetch_values(context, values, rows));
    return context.stream.synchronize();
}

// Places of single keys cost one pass over them, and spare the search of every probe row that has none.
Status Lookup::make_leaders(const WorkContext& context, const SpanInput& input) {
    if (layout_.parts == 1 && layout_.places.parts == 0)
        GPUJOIN_RETURN_IF_FAILED(find_key_places(context, input, layout_, &layout_.places));
    uint64_t rows = input.rows;
    GPUJOIN_RETURN_IF_FAILED(make_table(context, rows));
    GPUJOIN_RETURN_IF_FAILED(leaders_.allocate(context.account, rows, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(counts_.allocate(context.account, rows, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(fill_bytes(context.handle(), counts_.data(), 0, rows));
    DeviceArray<uint32_t> duplicates;
    GPUJOIN_RETURN_IF_FAILED(duplicates.allocate(context.account, 1, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(fill_bytes(context.handle(), duplicates.data(), 0, 1));
    GPUJOIN_RETURN_IF_FAILED(insert_rows(context, view(), input.required, rows, leaders_.data(),
                                         counts_.data(), duplicates.data()));
    uint32_t found = 0;
    GPUJOIN_RETURN_IF_FAILED(read_back(context, duplicates.data(), &found));
    unique_ = found == 0;
    return {};
}

// An empty direct array where the places of keys are dense, or few, else an empty table, at most half full.
Status Lookup::make_table(const WorkContext& context, uint64_t rows) {
    const uint64_t cached = std::min(kCachedSlotsPerRow * rows, kCachedSlots);
    const uint64_t most = std::max({kDirectSlotsPerRow * rows, kDirectSlotsAtLeast, cached});
    if (layout_.places.parts > 0 && layout_.places.last < most) {
        const Status status = direct_.allocate(context.account, layout_.places.last + 1, context.handle());
        if (status.ok()) return fill_bytes(context.handle(), direct_.data(), 0xff, direct_.size());
        if (status.fault != Fault::DeviceMemory) return status;  // a table may take less
    }
    GPUJOIN_RETURN_IF_FAILED(slots_.allocate(context.account, 2 * rows + 1, context.handle()));
    return fill_bytes(context.handle(), slots_.data(), 0xff, slots_.size());
}

// Has sorted positions hold values in the place of rows, or a direct array or a table of exact keys in the
// place of leaders. Fetching them costs a random access a build row; each result saves one.
Status Lookup::fetch_values(const WorkContext& context, const uint32_t* values, uint64_t rows) {
    GPUJOIN_RETURN_IF_FAILED(end_step(context));
    if (rows_.data()) {
        holds_values_ = true;
        return replace_rows(context, values, positions_, rows_.data());
    }
    const bool is_direct = direct_.data() != nullptr;
    bool ambiguous =
        bounds_.size() > 0 || (!is_direct && (!slots_.data() || layout_.bytes != sizeof(uint32_t)));
    if (ambiguous) return {};
    GPUJOIN_RETURN_IF_FAILED(is_direct ? find_ambiguous(context, values, rows, &ambiguous)
                                       : find_ambiguous(context, view(), values, &ambiguous));
    if (ambiguous) return {};
    holds_values_ = true;
    return is_direct ? replace_leaders(context, values, &direct_) : replace_leaders(context, values, &slots_);
}

// Lays the groups out in the order of their leaders. begins: the same starts once more, by leader.
Status Lookup::make_groups(const WorkContext& context, uint64_t rows, DeviceArray<uint32_t>* begins) {
    GPUJOIN_RETURN_IF_FAILED(begins->allocate(context.account, rows, context.handle()));
    GPUJOIN_CHECK_CUDA(cudaMemcpyAsync(begins->data(), counts_.data(), rows * sizeof(uint32_t),
                                       cudaMemcpyDeviceToDevice, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(exclusive_sum(context.account, context.handle(), begins->data(), rows));
    GPUJOIN_RETURN_IF_FAILED(groups_.allocate(context.account, rows, context.handle()));
    return combine_groups(context, rows, begins->data(), counts_.data(), groups_.data());
}

Status Lookup::scatter_rows(const WorkContext& context, uint64_t rows, const uint32_t* values) {
    DeviceArray<uint32_t> begins;
    GPUJOIN_RETURN_IF_FAILED(make_groups(context, rows, &begins));
    GPUJOIN_RETURN_IF_FAILED(rows_.allocate(context.account, rows, context.handle()));
    holds_values_ = values != nullptr;
    return place_rows(context, rows, leaders_.data(), values, begins.data(), rows_.data());
}

// Sorts the rows that can match by the range column, and inside their groups if there are any; with unique
// keys there is nothing to sort.
template <typename Key>
Status Lookup::make_order(const WorkContext& context, const DeviceColumn& column, uint64_t rows,
                          RequiredColumns required, DeviceArray<Key>* order_keys, DeviceArray<Key>* fences) {
    if (!unique_) GPUJOIN_RETURN_IF_FAILED(list_rows(context, build_, required, rows, &rows_, &positions_));
    GPUJOIN_RETURN_IF_FAILED(order_keys->allocate(context.account, positions_, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(
        find_order_keys(context, column, rows_.data(), positions_, order_keys->data(), span_));
    if (unique_) return {};
    GPUJOIN_RETURN_IF_FAILED(sort_pairs(context.account, context.handle(), order_keys, &rows_, positions_,
                                        order_key_bits(column, span_)));
    GPUJOIN_RETURN_IF_FAILED(end_step(context));
    if (!by_key_) return make_fences(context, *order_keys, fences);
    GPUJOIN_RETURN_IF_FAILED(group_rows(context, rows));
    return find_order_keys(context, column, rows_.data(), positions_, order_keys->data(), span_);
}

// Sorts rows by leader, and keeps their order inside each group: groups are laid out in the order of their
// leaders.
Status Lookup::group_rows(const WorkContext& context, uint64_t rows) {
    DeviceArray<uint32_t> keys;
    GPUJOIN_RETURN_IF_FAILED(keys.allocate(context.account, positions_, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(find_leaders(context, leaders_.data(), rows_.data(), positions_, keys.data()));
    GPUJOIN_RETURN_IF_FAILED(sort_pairs(context.account, context.handle(), &keys, &rows_, positions_,
                                        static_cast<int>(std::bit_width(rows))));
    keys.reset();
    GPUJOIN_RETURN_IF_FAILED(end_step(context));
    DeviceArray<uint32_t> begins;
    return make_groups(context, rows, &begins);
}

// Term by term: "probe < build" cuts off what lies below and up to the probe's key, and so on. Where keys may
// tie for different values, the cut leaves equal keys inside.
Status Lookup::make_bounds(const WorkContext& context, const JoinSpec& spec, const JoinPlan& plan) {
    std::vector<RangeBound> bounds;
    for (const Term& term : plan.bounds) {
        bool exact = order_key_is_exact(spec.build[term.build_column]);
        switch (term.comparison) {
            case Comparison::Less:
                bounds.push_back({term.probe_column, true, exact, false});
                break;
            case Comparison::LessEqual:
                bounds.push_back({term.probe_column, true, false, false});
                break;
            case Comparison::Greater:
                bounds.push_back({term.probe_column, false, !exact, false});
                break;
            default:
                bounds.push_back({term.probe_column, false, true, false});
                break;
        }
    }
    // From below first: then those from above are near.
    auto first_above = std::stable_partition(bounds.begin(), bounds.end(),
                                             [](const RangeBound& bound) { return bound.below; });
    if (first_above != bounds.begin())
        std::for_each(first_above, bounds.end(), [](RangeBound& bound) { bound.near = true; });
    merge_cut_after_ = bounds.front().after;
    merge_probe_column_ = bounds.front().probe_column;
    return upload_vector(context.upload(), bounds, &bounds_);
}

LookupView Lookup::view() const {
    LookupView view;
    view.layout = layout_;
    view.build = build_;
    view.span = span_;
    view.direct = direct_.data();
    view.slots = slots_.data();
    view.capacity = slots_.size();
    view.groups = groups_.data();
    view.rows = row_numbers();
    view.positions = positions_;
    view.narrow_keys = merge_ ? merge_side_.narrow_keys() : narrow_keys_.data();
    view.order_keys = merge_ ? merge_side_.wide_keys() : order_keys_.data();
    view.narrow_fences = narrow_fences_.data();
    view.order_fences = order_fences_.data();
    view.bounds = bounds_.data();
    view.merge = merge_;
    view.merge_bits = merge_side_.key_bits();
    view.merge_cut_after = merge_cut_after_;
    view.bound_count = static_cast<uint32_t>(bounds_.size());
    return view;
}

}  // namespace gpujoin::cuda
