// See kept_chunk.h.
#include "engine/kept/kept_chunk.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/mapping.h"

namespace gpujoin {

namespace {

constexpr uint64_t kMaxRows = std::numeric_limits<uint32_t>::max();

// To huge pages where hardly more than that would be taken.
uint64_t round_to_pages(uint64_t bytes) {
    const uint64_t huge = round_up(bytes, kHugePage);
    return huge - bytes <= huge / 4 ? huge : round_up(bytes, kPage);
}

Status out_of_kept_memory() {
    return failure(Fault::HostMemory, "53200", "out of memory for kept columns");
}

Status malformed_chunk() {
    return malformed("rows of a chunk")
        .with_detail("Its blocks do not follow those before, or have other numbers of rows.");
}

uint8_t lowest_bits(uint64_t count) {
    return static_cast<uint8_t>(count < 8 ? (1u << count) - 1 : 0xFF);
}

// Sets those from the first one on that are set in eight more. All that follow are zero.
void add_byte(uint8_t* bits, uint64_t first, uint8_t more) {
    const uint64_t shift = first & 7;
    bits[first >> 3] |= static_cast<uint8_t>(more << shift);
    const auto rest = static_cast<uint8_t>(shift == 0 ? 0 : more >> (8 - shift));
    if (rest != 0) bits[(first >> 3) + 1] = rest;
}

// more: nullptr for bits that are all set.
void add_bits(uint8_t* bits, uint64_t first, const uint8_t* more, uint64_t count) {
    for (uint64_t bit = 0; bit < count; bit += 8) {
        const uint8_t byte = more ? more[bit >> 3] : 0xFF;
        add_byte(bits, first + bit, byte & lowest_bits(count - bit));
    }
}

// Those from the first one on, to the beginning of others, which are zero.
void copy_bits(const uint8_t* bits, uint64_t first, uint64_t count, uint8_t* to) {
    for (uint64_t i = 0; i < count; i++)
        to[i >> 3] |= static_cast<uint8_t>((bits[(first + i) >> 3] >> ((first + i) & 7) & 1) << (i & 7));
}

}  // namespace

KeptArray::KeptArray(KeptArray&& other) noexcept
    : ledger_(other.ledger_),
      memory_(std::exchange(other.memory_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

KeptArray::~KeptArray() {
    if (memory_) munmap(memory_, capacity_);
    ledger_->release(capacity_);
}

// The kernel moves pages, so that nothing is copied.
bool KeptArray::map(uint64_t capacity) {
    if (memory_) {
        void* memory = mremap(memory_, capacity_, capacity, MREMAP_MAYMOVE);
        if (memory == MAP_FAILED) return false;
        memory_ = static_cast<std::byte*>(memory);
        return true;
    }
    memory_ = map_memory(capacity);
    if (memory_ && capacity % kHugePage == 0) madvise(memory_, capacity, MADV_HUGEPAGE);
    return memory_ != nullptr;
}

bool KeptArray::take(uint64_t capacity) {
    if (!ledger_->charge(capacity - capacity_)) return false;
    const bool is_mapped = map(capacity);
    if (!is_mapped) ledger_->release(capacity - capacity_);
    if (is_mapped) capacity_ = capacity;
    return is_mapped;
}

// An array that grows is where its pages are moved to, which need not be at the start of a huge one.
bool KeptArray::reserve(uint64_t bytes) {
    if (bytes <= capacity_) return true;
    if (!memory_ && take(round_to_pages(bytes))) return true;
    return take(round_up(bytes, kPage));
}

bool KeptArray::grow_to(uint64_t bytes) {
    return bytes <= capacity_ || reserve(std::max(bytes, capacity_ + capacity_ / 2));
}

bool KeptArray::append(const void* bytes, uint64_t count) {
    if (count == 0) return true;
    if (!grow_to(bytes_ + count)) return false;
    memcpy(memory_ + bytes_, bytes, count);
    bytes_ += count;
    return true;
}

bool KeptArray::resize(uint64_t bytes) {
    if (!grow_to(bytes)) return false;
    bytes_ = bytes;
    return true;
}

void KeptArray::shrink() {
    const uint64_t capacity = capacity_ % kHugePage == 0 ? round_to_pages(bytes_) : round_up(bytes_, kPage);
    if (capacity == 0 || capacity >= capacity_ || !map(capacity)) return;
    ledger_->release(capacity_ - capacity);
    capacity_ = capacity;
}

KeptChunk::KeptChunk(std::span<const ChunkColumn> columns, Ledger* ledger)
    : ledger_(ledger),
      first_row_(kChunkBlocks + 1, 0),
      is_charged_(ledger->charge(kFixedBytes)),
      failed_(!is_charged_) {
    columns_.reserve(columns.size());
    for (const ChunkColumn& column : columns) columns_.emplace_back(column, ledger);
}

void KeptChunk::expect(uint64_t rows) {
    for (KeptValues& values : columns_) {
        const uint32_t width = fixed_width(values.column.spec.type);
        values.values.reserve(rows * (width ? width : sizeof(uint32_t)));
    }
}

KeptChunk::~KeptChunk() {
    if (is_charged_) ledger_->release(kFixedBytes);
}

// What comes before the first NULL is not NULL.
bool KeptChunk::append_validity(KeptValues& values, const uint8_t* bits, uint64_t rows) {
    const uint64_t before = rows_so_far_;
    if (!bits && values.validity.bytes() == 0) return true;
    const bool is_first = values.validity.bytes() == 0;
    if (!values.validity.resize(validity_bytes(before + rows))) return false;
    auto* validity = reinterpret_cast<uint8_t*>(values.validity.data());
    if (is_first) add_bits(validity, 0, nullptr, before);
    add_bits(validity, before, bits, rows);
    return true;
}

bool KeptChunk::append_bounds(KeptValues& values, const ColumnView& view, uint64_t rows) {
    const ColumnSpec& spec = values.column.spec;
    if (!has_bounds(spec)) return true;
    const uint64_t stretches = (rows_so_far_ + rows + kStretchRows - 1) / kStretchRows;
    if (!values.bounds.resize(stretches * sizeof(ValueBounds))) return false;
    extend_bounds(spec, view, rows, rows_so_far_, reinterpret_cast<ValueBounds*>(values.bounds.data()));
    return true;
}

bool KeptChunk::append_column(KeptValues& values, const ColumnView& view, uint64_t rows) {
    if (!append_validity(values, view.validity, rows) || !append_bounds(values, view, rows)) return false;
    if (uint32_t width = fixed_width(values.column.spec.type))
        return values.values.append(view.values, rows * width);
    const uint64_t start = values.data.bytes();
    const uint32_t bytes = view.offsets[rows];
    if (start + bytes > kMaxRows || !values.data.append(view.data, bytes)) return false;
    const uint64_t offsets = values.values.bytes();
    if (!values.values.resize(offsets + rows * sizeof(uint32_t))) return false;
    auto* ends = reinterpret_cast<uint32_t*>(values.values.data() + offsets);
    for (uint64_t row = 0; row < rows; row++)
        ends[row] = static_cast<uint32_t>(start) + view.offsets[row + 1];
    return true;
}

uint32_t KeptChunk::block_of(uint64_t row) const {
    return static_cast<uint32_t>(std::ranges::upper_bound(first_row_, row) - first_row_.begin()) - 1;
}

Status KeptChunk::append(const BatchView& batch, uint32_t first_block, std::span<const uint16_t> block_rows) {
    const uint64_t rows = std::accumulate(block_rows.begin(), block_rows.end(), uint64_t{0});
    if (rows != batch.rows || first_block < next_block_ || first_block > kChunkBlocks ||
        block_rows.size() > kChunkBlocks - first_block || batch.columns.size() != columns_.size())
        return malformed_chunk();
    if (failed_ || rows_so_far_ + rows > kMaxRows) return out_of_kept_memory();
    for (size_t i = 0; i < columns_.size(); i++)
        if (!append_column(columns_[i], batch.columns[i], rows)) return out_of_kept_memory();
    while (next_block_ < first_block) first_row_[next_block_++] = static_cast<uint32_t>(rows_so_far_);
    for (uint16_t count : block_rows) {
        if (count > 0) blocks_with_rows_.add(next_block_);
        first_row_[next_block_++] = static_cast<uint32_t>(rows_so_far_);
        rows_so_far_ += count;
    }
    return {};
}

// Of the rows of the blocks that another chunk has rows of. False where it has not as many of each.
bool KeptChunk::find_runs(const KeptChunk& other, std::vector<Run>* runs) const {
    for (uint32_t block = 0; block < kChunkBlocks; block++) {
        const uint64_t wanted = other.first_row(block + 1) - other.first_row(block);
        const uint64_t first = first_row(block);
        if (wanted == 0) continue;
        if (first_row(block + 1) - first != wanted) return false;
        if (!runs->empty() && runs->back().first + runs->back().rows == first)
            runs->back().rows += wanted;
        else
            runs->push_back({first, wanted});
    }
    return true;
}

bool KeptChunk::append_run(const KeptChunk& from, const Run& run) {
    std::vector<uint8_t> validity;
    std::vector<uint32_t> offsets;
    for (size_t i = 0; i < columns_.size(); i++) {
        const KeptValues& values = from.columns_[i];
        ColumnView view{};
        if (const uint8_t* bits = values.validity_bits()) {
            validity.assign(validity_bytes(run.rows), 0);
            copy_bits(bits, run.first, run.rows, validity.data());
            view.validity = validity.data();
        }
        if (const uint32_t width = fixed_width(values.column.spec.type)) {
            view.values = values.values.as<std::byte>() + run.first * width;
        } else {
            const auto* ends = values.values.as<uint32_t>();
            const uint32_t start = run.first > 0 ? ends[run.first - 1] : 0;
            offsets.assign(1, 0);
            for (uint64_t row = 0; row < run.rows; row++) offsets.push_back(ends[run.first + row] - start);
            view.offsets = offsets.data();
            view.data = values.data.as<std::byte>() + start;
        }
        if (!append_column(columns_[i], view, run.rows)) return false;
    }
    rows_so_far_ += run.rows;
    return true;
}

std::shared_ptr<const KeptChunk> KeptChunk::cut_to(const KeptChunk& other) const {
    std::vector<Run> runs;
    if (!find_runs(other, &runs)) return nullptr;
    std::vector<ChunkColumn> columns;
    for (const KeptValues& values : columns_) columns.push_back(values.column);
    auto cut = std::make_shared<KeptChunk>(columns, ledger_);
    if (cut->has_failed()) return nullptr;
    cut->expect(other.rows());
    for (const Run& run : runs)
        if (!cut->append_run(*this, run)) return nullptr;
    cut->first_row_ = other.first_row_;
    cut->blocks_with_rows_ = other.blocks_with_rows_;
    cut->next_block_ = kChunkBlocks + 1;
    cut->seal();
    return cut;
}

void KeptChunk::seal() {
    while (next_block_ <= kChunkBlocks) first_row_[next_block_++] = static_cast<uint32_t>(rows_so_far_);
    for (KeptValues& values : columns_) {
        values.values.shrink();
        values.data.shrink();
        values.validity.shrink();
        values.bounds.shrink();
    }
}

uint64_t KeptChunk::bytes() const {
    uint64_t bytes = kFixedBytes;
    for (const KeptValues& values : columns_)
        bytes += values.values.charged() + values.data.charged() + values.validity.charged() +
                 values.bounds.charged();
    return bytes;
}

}  // namespace gpujoin
