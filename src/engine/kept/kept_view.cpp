// Conditions are tested column by column on some thousand rows at a time, which stay in the processor's
// cache; the numbers of those that pass are kept, and their values gathered.
#include "engine/kept/kept_view.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/cpu/columns/copy_value.h"
#include "engine/kept/kept_conditions.h"
#include "engine/mapping.h"

namespace gpujoin {

namespace {

constexpr uint32_t kRowsAtATime = 8192;
constexpr uint32_t kFewestViewed = 128;
constexpr uint64_t kShareOfJoin = 4;       // a batch takes a fourth at most of the memory there is
constexpr uint64_t kMostBytes = 4u << 20;  // of the Bytes columns of a batch, about
constexpr uint64_t kFewestSkipped = 4 * kStretchRows;  // between rows of two parts

Status malformed_scan(const char* detail) {
    return malformed("scan of kept columns").with_detail("%s", detail);
}

Status out_of_memory_for_scan() {
    return failure(Fault::HostMemory, "53200", "out of memory for joins")
        .with_detail("The memory set aside for all joins together is used up.")
        .with_hint("Increase gpujoin.host_memory, or set gpujoin.enabled to off for this query.");
}

// Integers may be kept narrower than they are wanted.
bool can_give(const ColumnSpec& kept, const ColumnSpec& wanted) {
    if (kept.nullable && !wanted.nullable) return false;
    if (kept.type == wanted.type) return true;
    return kept.order == ValueOrder::Signed && wanted.order == ValueOrder::Signed &&
           wanted.type <= ColumnType::Fixed8 && kept.type < wanted.type;
}

Status validate_part(const KeptView& view, std::span<const KeptCondition> conditions,
                     std::span<const ColumnSpec> source) {
    const auto& columns = view.columns;
    if (columns.size() < source.size()) return malformed_scan("It has fewer columns than its source.");
    for (size_t i = 0; i < source.size(); i++)
        if (!can_give(columns[i]->column.spec, source[i]))
            return malformed_scan("A column is not what its source has.");
    for (const KeptCondition& condition : conditions)
        if (condition.column >= columns.size() ||
            !can_test(condition, columns[condition.column]->column.spec))
            return malformed_scan("A condition is not on a column of its kind.");
    return {};
}

// The rows from begin to end of the chunk's.
KeptPart cut(const KeptPart& part, uint64_t begin, uint64_t end) {
    KeptPart some = part;
    some.begin = begin;
    some.rows = end - begin;
    return some;
}

}  // namespace

void KeptScan::add(KeptView view, const ChunkMap& map, uint32_t number) {
    const KeptChunk& chunk = view.rows_of();
    const uint64_t chunk_rows = chunk.rows();
    const bool wants_all = map.contains(chunk.blocks_with_rows());
    parts.push_back({std::move(view), map, rows(), 0, chunk_rows, number, wants_all});
}

void KeptScan::add(const KeptPart& part) {
    const uint64_t first_row = rows();
    parts.push_back(part);
    parts.back().first_row = first_row;
}

// Of rows that lie one behind the other, or hardly anything between them, one part is made: each takes work.
void KeptScan::add_passing(const KeptPart& part) {
    const uint64_t stop = part.begin + part.rows;
    uint64_t begin = part.begin;
    uint64_t end = begin;
    for (uint64_t first = begin; first < stop; first += kStretchRows) {
        if (!may_pass_in(part.view, first / kStretchRows)) continue;
        if (end == begin || first - end >= kFewestSkipped) {
            if (end > begin) add(cut(part, begin, end));
            begin = first;
        }
        end = std::min(first + kStretchRows, stop);
    }
    if (end > begin) add(cut(part, begin, end));
}

bool KeptScan::may_pass_in(const KeptView& view, uint64_t stretch) const {
    const ValueBounds* bounds[kMaxKeptConditions];
    for (size_t i = 0; i < conditions.size(); i++)
        bounds[i] = view.columns[conditions[i].column]->bounds_of(stretch);
    return may_pass(conditions, {bounds, conditions.size()});
}

uint64_t KeptScan::skip_stretches() {
    if (std::ranges::all_of(conditions, &KeptCondition::is_of_bytes)) return 0;
    const uint64_t all_rows = rows();
    for (const KeptPart& part : std::exchange(parts, {})) add_passing(part);
    return all_rows - rows();
}

uint64_t KeptPart::data_bytes(size_t column) const {
    const KeptValues& values = *view.columns[column];
    if (values.compression != KeptCompression::Dictionary) return most_data_bytes(column);
    return values.all_bytes * rows / std::max<uint64_t>(view.rows_of().rows(), 1);
}

uint64_t KeptPart::most_data_bytes(size_t column) const {
    const KeptValues& values = *view.columns[column];
    if (values.compression == KeptCompression::Dictionary) return values.all_bytes;
    return values.data.bytes() > 0 ? values.start_of(begin + rows) - values.start_of(begin) : 0;
}

const KeptPart& KeptScan::part_of(uint64_t row) const {
    return *std::ranges::upper_bound(parts, row, {}, &KeptPart::end_row);
}

uint32_t KeptScan::rows_within(uint64_t bytes, size_t columns, uint32_t most_rows, uint32_t fewest) const {
    uint64_t all_bytes = 0;
    for (const KeptPart& part : parts)
        for (size_t i = 0; i < columns; i++) all_bytes += part.data_bytes(i);
    const uint64_t average = all_bytes / std::max<uint64_t>(rows(), 1);
    uint32_t within = most_rows;
    while (within > fewest && within * average > bytes) within /= 2;
    return within;
}

Status validate_kept_scan(const KeptScan& scan, std::span<const ColumnSpec> source) {
    if (!are_sound(scan.conditions)) return malformed_scan("A condition does not lead on.");
    for (const KeptPart& part : scan.parts)
        GPUJOIN_RETURN_IF_FAILED(validate_part(part.view, scan.conditions, source));
    return {};
}

KeptRows::KeptRows(const KeptScan& scan, KeptPosition& position, std::span<const ColumnSpec> source,
                   uint32_t most_rows, Ledger* ledger)
    : scan_(scan), position_(position), source_(source), most_rows_(most_rows), ledger_(ledger) {
    outputs_.resize(source.size());
    views_.resize(source.size());
    for (size_t i = 0; i < source.size(); i++) outputs_[i].spec = source[i];
}

KeptRows::~KeptRows() {
    ledger_->release(charged_);
}

// Whether there is as much again, several times, for what the engine does with a batch.
bool KeptRows::has_room(uint64_t bytes) const {
    if (!ledger_->charge(kShareOfJoin * bytes)) return false;
    ledger_->release(kShareOfJoin * bytes);
    return true;
}

// For as many rows at a time as there is memory for.
Status KeptRows::set_aside() {
    const uint32_t most = scan_.rows_within(kMostBytes, source_.size(), most_rows_, kFewestViewed);
    auto rows = static_cast<uint32_t>(std::clamp<uint64_t>(scan_.rows(), kFewestViewed, most));
    while (rows > kFewestViewed && !has_room(array_bytes(rows))) rows /= 2;
    rows_at_a_time_ = std::min(rows, kRowsAtATime);
    selected_.resize(rows_at_a_time_);
    places_.resize(rows_at_a_time_);
    charged_ = rows_at_a_time_ * (sizeof selected_[0] + sizeof places_[0]);
    if (!ledger_->charge(charged_)) {
        charged_ = 0;
        return out_of_memory_for_scan();
    }
    capacity_ = rows;
    for (size_t i = 0; i < outputs_.size(); i++) {
        if (set_aside(i).ok()) continue;
        leave_room();
        return out_of_memory_for_scan();
    }
    return {};
}

// To others.
void KeptRows::leave_room() {
    for (Output& output : outputs_) output = {output.spec, {}, {}, {}};
    ledger_->release(std::exchange(charged_, 0));
    capacity_ = 0;
}

// Of the arrays for so many rows, but for texts: they take whole pages.
uint64_t KeptRows::array_bytes(uint64_t rows) const {
    uint64_t bytes = 0;
    for (const ColumnSpec& spec : source_) {
        const uint32_t width = fixed_width(spec.type);
        bytes += round_up(validity_bytes(rows), kPage) +
                 round_up(width ? rows * width : (rows + 1) * sizeof(uint32_t), kPage);
    }
    return bytes;
}

// Texts take memory as they come.
Status KeptRows::set_aside(size_t column) {
    Output& output = outputs_[column];
    GPUJOIN_RETURN_IF_FAILED(output.validity.allocate(ledger_, validity_bytes(capacity_)));
    if (const uint32_t width = fixed_width(output.spec.type))
        return output.values.allocate(ledger_, uint64_t{capacity_} * width);
    uint64_t bytes = 0;
    for (const KeptPart& part : scan_.parts) bytes += part.most_data_bytes(column);
    GPUJOIN_RETURN_IF_FAILED(
        output.data.reserve(ledger_, std::min<uint64_t>(bytes, UINT32_MAX) + cpu::kCopiedAtOnce));
    return output.values.allocate(ledger_, (uint64_t{capacity_} + 1) * sizeof(uint32_t));
}

// Numbers of the rows that are of wanted blocks.
uint32_t KeptRows::select_wanted(const KeptPart& part, uint64_t first, uint64_t end) {
    uint32_t count = 0;
    const KeptChunk& chunk = part.view.rows_of();
    uint32_t block = chunk.block_of(first);
    for (uint64_t row = first; row < end; block++) {
        const uint64_t stop = std::min(end, chunk.first_row(block + 1));
        if (part.map.has(block))
            for (; row < stop; row++) selected_[count++] = static_cast<uint32_t>(row);
        row = stop;
    }
    return count;
}

// Of the rows of a part, from its first row on.
uint32_t KeptRows::select(const KeptPart& part, uint64_t first, uint64_t end) {
    auto count = static_cast<uint32_t>(end - first);
    if (part.wants_all)
        for (uint32_t i = 0; i < count; i++) selected_[i] = static_cast<uint32_t>(first) + i;
    else
        count = select_wanted(part, first, end);
    return select_passing(part.view.columns, scan_.conditions, selected_.data(), count, places_.data());
}

// A NULL has the code of any value, but is to have a value of zero bytes.
void KeptRows::gather_validity(Output& output, const KeptValues& values, uint32_t count) const {
    const uint8_t* bits = values.validity_bits();
    if (!bits) return;
    auto* validity = output.validity.as<uint8_t>();
    if (!output.has_nulls) std::fill_n(validity, validity_bytes(capacity_), uint8_t{0xff});
    output.has_nulls = true;
    const bool has_codes = values.compression == KeptCompression::FrameOfReference;
    const uint32_t width = has_codes ? fixed_width(output.spec.type) : 0;
    auto* value = output.values.as<std::byte>();
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t from = selected_[i];
        const uint32_t to = rows_ + i;
        if (bits[from >> 3] >> (from & 7) & 1) continue;
        validity[to >> 3] &= static_cast<uint8_t>(~(1u << (to & 7)));
        if (width > 0) memset(value + uint64_t{to} * width, 0, width);
    }
}

// Whether so many rows that are selected lie one behind the other.
bool KeptRows::are_run(uint32_t count) const {
    return selected_[count - 1] - selected_[0] == count - 1;
}

// So many bytes more. Too many are as good as no room.
Status KeptRows::grow_texts(Output& output, uint64_t bytes) const {
    const uint64_t end = output.values.as<uint32_t>()[rows_] + bytes;
    const bool has_grown = end <= UINT32_MAX && output.data.grow(end + cpu::kCopiedAtOnce).ok();
    return has_grown ? Status{} : out_of_memory_for_scan();
}

// Of values that lie one behind the other, as the rows do.
Status KeptRows::gather_run_of_texts(Output& output, const KeptValues& values, uint32_t count) const {
    auto* offsets = output.values.as<uint32_t>() + rows_;
    const auto* starts = values.starts.as<uint32_t>() + selected_[0];
    const uint32_t bytes = starts[count] - starts[0];
    GPUJOIN_RETURN_IF_FAILED(grow_texts(output, bytes));
    if (bytes > 0)
        memcpy(output.data.as<std::byte>() + offsets[0], values.data.as<std::byte>() + starts[0], bytes);
    const uint32_t shift = offsets[0] - starts[0];
    for (uint32_t i = 1; i <= count; i++) offsets[i] = starts[i] + shift;
    return {};
}

template <typename Entries>
Status KeptRows::gather_entries(Output& output, const KeptValues& values, uint32_t count,
                                const Entries& entries) const {
    auto* offsets = output.values.as<uint32_t>() + rows_;
    uint64_t end = offsets[0];
    for (uint32_t i = 0; i < count; i++) {
        end += values.length_of(entries(selected_[i]));
        offsets[i + 1] = static_cast<uint32_t>(end);
    }
    GPUJOIN_RETURN_IF_FAILED(grow_texts(output, end - offsets[0]));
    auto* data = output.data.as<std::byte>();
    const auto* from = values.data.as<std::byte>();  // nullptr where no value has any bytes
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t first = values.start_of(entries(selected_[i]));
        cpu::copy_value(from + first, offsets[i + 1] - offsets[i],
                        static_cast<int64_t>(values.data.bytes() - first), cpu::kCopiedAtOnce,
                        data + offsets[i]);
    }
    return {};
}

Status KeptRows::gather_texts(Output& output, const KeptValues& values, uint32_t count) const {
    if (values.compression == KeptCompression::Plain && are_run(count))
        return gather_run_of_texts(output, values, count);
    Status status;
    with_entries(values, [&](auto entries) { status = gather_entries(output, values, count, entries); });
    return status;
}

Status KeptRows::gather(const KeptPart& part, uint32_t count) {
    for (size_t i = 0; i < source_.size(); i++) {
        Output& output = outputs_[i];
        const KeptValues& values = *part.view.columns[i];
        if (uint32_t width = fixed_width(output.spec.type))
            gather_fixed(values, output.spec.type, selected_.data(), count, are_run(count),
                         output.values.as<std::byte>() + uint64_t{rows_} * width);
        else
            GPUJOIN_RETURN_IF_FAILED(gather_texts(output, values, count));
    }
    for (size_t i = 0; i < source_.size(); i++) gather_validity(outputs_[i], *part.view.columns[i], count);
    rows_ += count;
    return {};
}

void KeptRows::read_first(uint64_t first, uint64_t end) {
    next_ = first;
    end_ = end;
}

// False at the end.
bool KeptRows::take_rows() {
    if (next_ < end_) return true;
    next_ = position_.next_row.fetch_add(rows_at_a_time_);
    end_ = std::min(scan_.rows(), next_ + rows_at_a_time_);
    return next_ < end_;
}

Status KeptRows::read_up_to(uint64_t stop) {
    const KeptPart& part = scan_.part_of(next_);
    const uint32_t count = select(part, part.row_of_chunk(next_), part.row_of_chunk(stop));
    if (count > 0) GPUJOIN_RETURN_IF_FAILED(gather(part, count));
    next_ = stop;
    return {};
}

// Of the rows that were taken, as far as they are of one part. Texts for which there is no memory are left to
// the next batch, or as many as there must be.
Status KeptRows::read_some() {
    uint64_t stop = std::min({end_, next_ + rows_at_a_time_, scan_.part_of(next_).end_row()});
    for (;;) {
        const Status status = read_up_to(stop);
        is_full_ = status.fault == Fault::HostMemory && rows_ > 0;
        if (is_full_) return {};
        if (status.fault != Fault::HostMemory || stop == next_ + 1) return status;
        stop = next_ + (stop - next_) / 2;
    }
}

Status KeptRows::read_batch() {
    rows_ = 0;
    is_full_ = false;
    for (Output& output : outputs_) output.has_nulls = false;
    while (!is_full_ && rows_ + rows_at_a_time_ <= capacity_ && take_rows())
        GPUJOIN_RETURN_IF_FAILED(read_some());
    return {};
}

Status KeptRows::next(BatchView* batch) {
    if (capacity_ == 0) GPUJOIN_RETURN_IF_FAILED(set_aside());
    if (const Status status = read_batch(); !status.ok()) {
        leave_room();
        return status;
    }
    for (size_t i = 0; i < outputs_.size(); i++) {
        const Output& output = outputs_[i];
        ColumnView& view = views_[i] = {};
        if (output.has_nulls) view.validity = output.validity.as<uint8_t>();
        if (output.spec.type == ColumnType::Bytes) {
            view.offsets = output.values.as<uint32_t>();
            view.data = output.data.as<std::byte>();
            view.data_bytes = view.offsets[rows_];
        } else {
            view.values = output.values.as<std::byte>();
        }
    }
    *batch = {rows_, views_, Memory::Host};
    return {};
}

}  // namespace gpujoin
