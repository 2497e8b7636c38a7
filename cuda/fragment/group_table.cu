// Finding groups, making room for new ones, and adding to all.
#include "cuda/fragment/group_table.h"

#include <algorithm>

#include "cuda/fragment/one_pass.h"
#include "cuda/fragment/renew_vector.h"
#include "cuda/work/launch.cuh"
#include "cuda/work/primitives.h"

namespace gpujoin::cuda {

namespace {

// Beyond so many groups it costs more memory than what is saved of the client's work on groups that come
// again.
constexpr uint64_t kMostGroups = 4u << 20;
// The same where they are merged in the end: as many as have numbers.
constexpr uint64_t kMostGroupsToMerge = 1u << 30;

// So many groups are merged at a time, multiples of a warp's rows: many, or there is more waiting than
// merging; few where memory is short.
constexpr uint32_t kManyGroups = 1u << 20;
constexpr uint32_t kFewGroups = 1u << 15;

// Rows of which it is found out whether their groups are known: so many first, then so many times as many.
constexpr uint64_t kFirstSample = 512;
constexpr uint64_t kSampleGrowth = 8;
// One pass pays where a row in so many at most is of a group that is not known, which a piece with fewer new
// groups than that may promise; and for all rows at once where it is one in so many.
constexpr uint64_t kFewUnknown = 4;
constexpr uint64_t kHardlyAnyUnknown = 256;
constexpr uint32_t kMostPatience = 63;

// A bit for each row, in words.
Status set_bits(const WorkContext& context, uint64_t rows, uint32_t* bits) {
    const RowPiece all{nullptr, 0, rows};
    return for_each(context.handle(), all.words(),
                    [=] __device__(uint64_t word) { bits[word] = all.wanted_of(word); });
}

}  // namespace

GroupTable::GroupTable(const DeviceSink& sink)
    : sink_(sink),
      most_groups_(sink.plan().completes_groups ? kMostGroupsToMerge : kMostGroups),
      goes_in_one_pass_(goes_in_one_pass(sink)),
      sample_rows_(kFirstSample),
      store_(stored_group_columns(sink.plan())),
      index_(sink),
      totals_(sink, &store_),
      from_(store_.views().size()) {}

// The store's memory, where it is not what it was: also because it has grown for groups that there was no
// memory for after all.
Status GroupTable::refresh(const WorkContext& context) {
    GPUJOIN_RETURN_IF_FAILED(totals_.refresh(context));
    if (version_ == store_.version()) return {};
    GPUJOIN_RETURN_IF_FAILED(renew_vector(context, store_.views(), &stored_));
    version_ = store_.version();
    return {};
}

Status GroupTable::begin_groups(const WorkContext& context, uint32_t new_groups) {
    GPUJOIN_RETURN_IF_FAILED(store_.make_room(context, store_.groups() + new_groups));
    GPUJOIN_RETURN_IF_FAILED(store_.write(context, from_, {0, index_.new_rows()}, new_groups));
    return totals_.begin(context, new_groups);
}

Status GroupTable::find_groups(const WorkContext& context, const RowPiece& piece, const uint16_t* keys,
                               const uint32_t* live, bool* is_full) {
    GPUJOIN_RETURN_IF_FAILED(refresh(context));
    uint32_t new_groups = 0;
    GPUJOIN_RETURN_IF_FAILED(
        index_.find(context, piece, keys, live, stored_.data(), store_.groups(), &new_groups));
    if (!piece.wanted) {
        expects_known_ = goes_in_one_pass_ && pieces_to_wait_ == 0 && kFewUnknown * new_groups <= piece.rows;
        if (pieces_to_wait_ > 0) pieces_to_wait_--;
        knows_nearly_all_ = false;
        sample_rows_ = std::max(sample_rows_, kSampleGrowth * piece.rows);
    }
    *is_full = store_.groups() > 0 && store_.groups() + new_groups > most_groups_;
    Status status;
    if (!*is_full && new_groups > 0) status = begin_groups(context, new_groups);
    if (*is_full || !status.ok()) {
        GPUJOIN_RETURN_IF_FAILED(index_.forget(context, piece, new_groups));
        return status;
    }
    if (store_.groups() + new_groups == 0) return {};  // all rows escaped, and there is nothing to add to
    GPUJOIN_RETURN_IF_FAILED(index_.keep(context, piece, live, store_.groups(), new_groups));
    if (new_groups > 0) store_.add(new_groups);
    return {};
}

Status GroupTable::add(const WorkContext& context, const RowPiece& piece, std::span<const PickedView> inputs,
                       const SinkValues& values, bool* is_full) {
    *is_full = !totals_.has_range(values.sizes(), piece.rows);
    if (*is_full) return {};
    const SinkPlan& plan = sink_.plan();
    for (size_t i = 0; i < plan.keys.size(); i++) from_[i] = inputs[plan.keys[i]];
    for (size_t i = 0; i < plan.aggregates.size(); i++)
        if (plan.aggregates[i].function == AggregateFunction::Any)
            from_[plan.keys.size() + i] = inputs[plan.aggregates[i].value];
    GPUJOIN_RETURN_IF_FAILED(find_groups(context, piece, sink_.keys(), values.view().live, is_full));
    if (*is_full || store_.groups() == 0) return {};
    totals_.take_range(values.sizes());
    return totals_.add(context, values.view(), index_.groups_of_rows());
}

uint32_t GroupTable::rows_at_once(uint32_t rows) const {
    const bool takes_all = !goes_in_one_pass_ || (expects_known_groups() && knows_nearly_all_);
    return takes_all || rows / 2 <= sample_rows_ ? rows : static_cast<uint32_t>(sample_rows_);
}

Status GroupTable::add_known(const WorkContext& context, const RowPiece& piece,
                             std::span<const PickedView> inputs, DeviceArray<uint32_t>* left,
                             uint32_t* left_count) {
    const uint64_t words = piece.words();
    GPUJOIN_RETURN_IF_FAILED(left->reserve(context.account, words + 1, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(refresh(context));
    KnownGroups known{};
    known.keys = {piece.inputs, stored_.data(), sink_.keys(),
                  static_cast<uint32_t>(sink_.plan().keys.size())};
    known.groups = groups();
    GPUJOIN_RETURN_IF_FAILED(index_.find_slots(context, known.groups, &known.slots));
    if (known.keys.count == 1) {
        known.single_key = {inputs[sink_.plan().keys[0]], store_.views()[0]};
        const uint32_t width = known.single_key.input.width;
        known.is_single = width > 0 && width <= sizeof(uint64_t);
    }
    KnownTotals totals{};
    GPUJOIN_RETURN_IF_FAILED(totals_.views(context, &totals.on_device, &totals.on_host, &known.total_count));
    GPUJOIN_RETURN_IF_FAILED(fill_bytes(context.handle(), left->data(), 0, words + 1));
    GPUJOIN_RETURN_IF_FAILED(
        add_in_one_pass(context, sink_, piece, inputs, known, totals, left->data(), left->data() + words));
    GPUJOIN_RETURN_IF_FAILED(read_back(context, left->data() + words, left_count));
    // Few groups are new where keys come in order, and yet all rows are of these.
    expects_known_ = kFewUnknown * *left_count <= piece.rows;
    patience_ = expects_known_ ? 0 : std::min(2 * patience_ + 1, kMostPatience);
    pieces_to_wait_ = patience_;
    knows_nearly_all_ = kHardlyAnyUnknown * *left_count <= piece.rows;
    sample_rows_ = std::max(sample_rows_, kSampleGrowth * piece.rows);
    return {};
}

Status GroupTable::merge_piece(const WorkContext& context, GroupTable* other, uint32_t rows) {
    GPUJOIN_RETURN_IF_FAILED(all_.reserve(context.account, (rows + 31) / 32, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(set_bits(context, rows, all_.data()));
    GPUJOIN_RETURN_IF_FAILED(other->refresh(context));
    const RowPiece piece{other->stored_.data(), other->merged_, rows};
    bool is_full = false;
    GPUJOIN_RETURN_IF_FAILED(find_groups(context, piece, sink_.keys_of_groups(), all_.data(), &is_full));
    if (is_full) return failure(Fault::DeviceMemory, "53200", "a table has no numbers left for groups");
    return totals_.merge(context, &other->totals_, other->merged_, rows, index_.groups_of_rows());
}

std::vector<PickedView> GroupTable::columns() const {
    std::vector<PickedView> columns = store_.views();
    columns.resize(sink_.plan().group_columns.size());
    return columns;
}

// Whether a column of groups is of any row's values.
bool GroupTable::keeps_any_value(size_t column) const {
    const SinkPlan& plan = sink_.plan();
    return column < plan.group_columns.size() &&
           plan.aggregates[column - plan.keys.size()].function == AggregateFunction::Any;
}

Status GroupTable::merge(const WorkContext& context, GroupTable* other) {
    if (!totals_.has_range(other->totals_.sizes(), other->groups())) return {};
    from_ = other->store_.views();
    for (size_t i = sink_.plan().keys.size(); i < from_.size(); i++)
        if (!keeps_any_value(i)) from_[i] = {};
    totals_.take_range(other->totals_.sizes());
    uint32_t at_once = kManyGroups;
    while (other->merged_ < other->groups()) {
        const uint32_t rows = std::min(other->groups() - other->merged_, at_once);
        const Status status = merge_piece(context, other, rows);
        if (status.fault == Fault::DeviceMemory && rows > kFewGroups) {
            at_once = kFewGroups;
            continue;
        }
        GPUJOIN_RETURN_IF_FAILED(status);
        other->merged_ += rows;
        GPUJOIN_RETURN_IF_FAILED(end_step(context));
    }
    other->clear();
    return {};
}

void GroupTable::forget() {
    clear();
    sample_rows_ = kFirstSample;
    patience_ = pieces_to_wait_ = 0;
}

void GroupTable::clear() {
    merged_ = 0;
    expects_known_ = knows_nearly_all_ = false;
    store_.clear();
    index_.clear();
    totals_.clear();
}

}  // namespace gpujoin::cuda
