// Finding groups, making room for new ones, and adding to all.
#include "cuda/fragment/group_table.h"

#include <algorithm>

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
constexpr uint64_t kFirstSample = 512, kFirstSampleOfPass = 65536;
constexpr uint64_t kSampleGrowth = 8;
// Where a row in so many at least begins a group, each row has room for one, and pieces have as many rows as
// there are groups, or these if those are fewer; else as many rows as may double the groups.
constexpr double kManyNew = 0.25;
constexpr uint64_t kRowsAtOnce = 4u << 20;
// One pass pays where a row in so many at most is of a group that is not known, which a piece with fewer new
// groups than that may promise; and for all rows at once where it is one in so many.
constexpr uint64_t kFewUnknown = 4;
constexpr uint64_t kHardlyAnyUnknown = 256;
constexpr uint32_t kMostPatience = 63;

// Whether a column of groups is of some row's values: a key, or any value of theirs.
bool copies_value(const SinkPlan& plan, size_t column) {
    return column < plan.keys.size() ||
           plan.aggregates[column - plan.keys.size()].function == AggregateFunction::Any;
}

// Whether threads can write all that groups have of rows.
bool can_grow_in_pass(const DeviceSink& sink) {
    const SinkPlan& plan = sink.plan();
    if (!goes_in_one_pass(sink) || plan.keys.empty()) return false;
    size_t copied = 0;
    for (size_t i = 0; i < plan.group_columns.size(); i++) {
        if (!copies_value(plan, i)) continue;
        const uint32_t width = fixed_width(plan.group_columns[i].type);
        if (width == 0 || width > sizeof(uint64_t)) return false;
        copied++;
    }
    return copied <= GrowingGroups::kMostColumns;
}

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
      grows_in_pass_(can_grow_in_pass(sink)),
      sample_rows_(grows_in_pass_ ? kFirstSampleOfPass : kFirstSample),
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
    note_inputs(inputs);
    totals_.note_values(inputs);
    GPUJOIN_RETURN_IF_FAILED(find_groups(context, piece, sink_.keys(), values.view().live, is_full));
    if (*is_full || store_.groups() == 0) return {};
    totals_.take_range(values.sizes());
    return totals_.add(context, values.view(), index_.groups_of_rows());
}

// What groups that are new have of rows.
void GroupTable::note_inputs(std::span<const PickedView> inputs) {
    const SinkPlan& plan = sink_.plan();
    for (size_t i = 0; i < plan.keys.size(); i++) from_[i] = inputs[plan.keys[i]];
    for (size_t i = 0; i < plan.aggregates.size(); i++)
        if (plan.aggregates[i].function == AggregateFunction::Any)
            from_[plan.keys.size() + i] = inputs[plan.aggregates[i].value];
}

uint32_t GroupTable::rows_at_once(uint32_t rows) const {
    const bool takes_all = !goes_in_one_pass_ || (takes_one_pass() && knows_nearly_all_);
    return takes_all || rows / 2 <= sample_rows_ ? rows : static_cast<uint32_t>(sample_rows_);
}

RowKeys GroupTable::row_keys(const RowPiece& piece, std::span<const PickedView> inputs) const {
    const SinkPlan& plan = sink_.plan();
    RowKeys keys{};
    keys.all = {piece.inputs, stored_.data(), sink_.keys(), static_cast<uint32_t>(plan.keys.size())};
    if (plan.keys.size() == 1) {
        keys.single = {inputs[plan.keys[0]], store_.views()[0]};
        const uint32_t width = keys.single.input.width;
        keys.is_single = width > 0 && width <= sizeof(uint64_t);
    }
    return keys;
}

Status GroupTable::find_totals(const WorkContext& context, KnownTotals* totals) {
    return totals_.views(context, &totals->on_device, &totals->on_host, &totals->count);
}

// Where all groups are nearly sure to be known, and so few that threads add them up apart, none are begun on
// the way: that takes less.
Status GroupTable::add_in_one_pass(const WorkContext& context, const RowPiece& piece,
                                   std::span<const PickedView> inputs, DeviceArray<uint32_t>* left,
                                   uint32_t* left_count) {
    GPUJOIN_RETURN_IF_FAILED(left->reserve(context.account, piece.words(), context.handle()));
    GPUJOIN_RETURN_IF_FAILED(counts_.reserve(context.account, 1, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(fill_bytes(context.handle(), left->data(), 0, piece.words()));
    GPUJOIN_RETURN_IF_FAILED(fill_bytes(context.handle(), counts_.data(), 0, 1));
    totals_.note_values(inputs);
    bool are_known = !grows_in_pass_;
    if (grows_in_pass_ && knows_nearly_all_)
        GPUJOIN_RETURN_IF_FAILED(have_own_totals(groups(), totals_.count(), &are_known));
    GPUJOIN_RETURN_IF_FAILED(are_known ? run_known(context, piece, inputs, left->data())
                                       : run_growing(context, piece, inputs, left->data()));
    PassCounts counts;
    GPUJOIN_RETURN_IF_FAILED(read_back(context, counts_.data(), &counts));
    store_.add(counts.begun);
    *left_count = counts.left;
    note_pass(piece.rows, counts);
    if (!are_known) note_growth(piece.rows, counts.begun);
    return {};
}

Status GroupTable::run_known(const WorkContext& context, const RowPiece& piece,
                             std::span<const PickedView> inputs, uint32_t* left) {
    GPUJOIN_RETURN_IF_FAILED(refresh(context));
    KnownGroups known{row_keys(piece, inputs), {}, groups()};
    GPUJOIN_RETURN_IF_FAILED(index_.find_slots(context, known.count, &known.slots));
    KnownTotals totals{};
    GPUJOIN_RETURN_IF_FAILED(find_totals(context, &totals));
    return cuda::add_in_one_pass(context, sink_, piece, inputs, known, totals, left, &counts_.data()->left);
}

Status GroupTable::run_growing(const WorkContext& context, const RowPiece& piece,
                               std::span<const PickedView> inputs, uint32_t* left) {
    const uint64_t room = room_for(piece.rows);
    GPUJOIN_RETURN_IF_FAILED(store_.make_room(context, store_.groups() + room));
    GPUJOIN_RETURN_IF_FAILED(refresh(context));
    GPUJOIN_RETURN_IF_FAILED(totals_.begin(context, room));
    GroupSlots slots{};
    GPUJOIN_RETURN_IF_FAILED(index_.find_slots(context, store_.groups() + room, &slots));
    GrowingGroups growing{};
    growing.keys = row_keys(piece, inputs);
    growing.slots = reinterpret_cast<unsigned long long*>(index_.slots());
    growing.mask = slots.mask;
    growing.count = groups();
    growing.begun = &counts_.data()->begun;
    growing.promised = &counts_.data()->promised;
    growing.room = static_cast<uint32_t>(room);
    growing.has_room = room >= piece.rows;
    note_inputs(inputs);
    for (size_t i = 0; i < from_.size(); i++)
        if (from_[i].is_there())
            growing.columns[growing.column_count++] = {from_[i], store_.values(i), store_.null_flags(i)};
    KnownTotals totals{};
    GPUJOIN_RETURN_IF_FAILED(find_totals(context, &totals));
    return cuda::add_in_one_pass(context, sink_, piece, inputs, growing, totals, left, &counts_.data()->left);
}

// As many groups as rows of a piece may begin.
uint64_t GroupTable::room_for(uint64_t rows) const {
    const uint64_t numbers = most_groups_ - std::min<uint64_t>(most_groups_, groups());
    const uint64_t wanted = new_share_ >= kManyNew ? rows : std::max<uint64_t>(groups(), kFirstSampleOfPass);
    return std::min({rows, wanted, numbers});
}

// Few groups are new where keys come in order, and yet all rows are of these.
void GroupTable::note_pass(uint64_t rows, const PassCounts& counts) {
    const uint64_t unknown = uint64_t{counts.left} + counts.begun;
    expects_known_ = kFewUnknown * unknown <= rows;
    patience_ = expects_known_ ? 0 : std::min(2 * patience_ + 1, kMostPatience);
    pieces_to_wait_ = patience_;
    knows_nearly_all_ = kHardlyAnyUnknown * unknown <= rows;
    sample_rows_ = std::max(sample_rows_, kSampleGrowth * rows);
}

void GroupTable::note_growth(uint64_t rows, uint64_t begun) {
    new_share_ = static_cast<double>(begun) / static_cast<double>(rows);
    double most = groups();
    if (new_share_ < kManyNew) most = std::min(most / std::max(new_share_, 1e-9), 1e9);
    sample_rows_ = std::max(std::min(kSampleGrowth * rows, kRowsAtOnce), static_cast<uint64_t>(most));
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

Status GroupTable::merge(const WorkContext& context, GroupTable* other) {
    if (!totals_.has_range(other->totals_.sizes(), other->groups())) return {};
    from_ = other->store_.views();
    for (size_t i = sink_.plan().keys.size(); i < from_.size(); i++)
        if (i >= sink_.plan().group_columns.size() || !copies_value(sink_.plan(), i)) from_[i] = {};
    totals_.take_range(other->totals_.sizes());
    totals_.note_values(other->totals_);
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
    sample_rows_ = grows_in_pass_ ? kFirstSampleOfPass : kFirstSample;
    patience_ = pieces_to_wait_ = 0;
}

void GroupTable::clear() {
    merged_ = 0;
    expects_known_ = knows_nearly_all_ = false;
    new_share_ = 1;
    store_.clear();
    index_.clear();
    totals_.clear();
}

}  // namespace gpujoin::cuda
