// See kept_chunk.h.
#include "engine/kept/kept_chunk.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/kept/compression.h"

namespace gpujoin {

namespace {

constexpr uint64_t kMaxRows = std::numeric_limits<uint32_t>::max();

Status out_of_kept_memory() {
    return failure(Fault::HostMemory, "53200", "out of memory for kept columns");
}

Status malformed_chunk() {
    return malformed("rows of a chunk")
        .with_detail("Its blocks do not follow those before, or have other numbers of rows.");
}

uint64_t stretches_of(uint64_t rows) {
    return (rows + kStretchRows - 1) / kStretchRows;
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

// offsets: in data, where each begins, and the end.
bool append_texts(KeptValues& values, const uint32_t* offsets, const std::byte* data, uint64_t rows) {
    const uint64_t end = values.data.bytes();
    const uint32_t bytes = offsets[rows] - offsets[0];
    if (end + bytes > kMaxRows || !values.data.append(data + offsets[0], bytes)) return false;
    const uint64_t before = std::max<uint64_t>(values.starts.bytes(), sizeof(uint32_t));
    if (!values.starts.resize(before + rows * sizeof(uint32_t))) return false;
    auto* ends = reinterpret_cast<uint32_t*>(values.starts.data() + before);
    const uint32_t shift = static_cast<uint32_t>(end) - offsets[0];
    for (uint64_t row = 0; row < rows; row++) ends[row] = offsets[row + 1] + shift;
    return true;
}

}  // namespace

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
        if (width > 0)
            values.values.reserve(rows * width);
        else
            values.starts.reserve((rows + 1) * sizeof(uint32_t));
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
    if (!values.bounds.resize(stretches_of(rows_so_far_ + rows) * sizeof(ValueBounds))) return false;
    extend_bounds(spec, view, rows, rows_so_far_, reinterpret_cast<ValueBounds*>(values.bounds.data()));
    return true;
}

bool KeptChunk::append_column(KeptValues& values, const ColumnView& view, uint64_t rows) {
    if (!append_validity(values, view.validity, rows) || !append_bounds(values, view, rows)) return false;
    if (uint32_t width = fixed_width(values.column.spec.type))
        return values.values.append(view.values, rows * width);
    return append_texts(values, view.offsets, view.data, rows);
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

// With the compression that another one has, and room for so many rows of it.
bool KeptChunk::begin_as(const KeptChunk& from, uint64_t rows) {
    for (size_t i = 0; i < columns_.size(); i++) {
        KeptValues& values = columns_[i];
        const KeptValues& like = from.columns_[i];
        values.compression = like.compression;
        values.stored = like.stored;
        values.base = like.base;
        values.all_bytes = like.all_bytes;
        if (like.values.bytes() > 0) values.values.reserve(rows * fixed_width(like.stored.type));
        if (like.compression != KeptCompression::Dictionary) continue;
        if (!values.starts.append(like.starts.as<std::byte>(), like.starts.bytes()) ||
            !values.data.append(like.data.as<std::byte>(), like.data.bytes()))
            return false;
    }
    return true;
}

bool KeptChunk::append_run(const KeptChunk& from, const Run& run) {
    for (size_t i = 0; i < columns_.size(); i++)
        if (!append_stored(columns_[i], from.columns_[i], run)) return false;
    rows_so_far_ += run.rows;
    return true;
}

// As they are stored, codes among them.
bool KeptChunk::append_stored(KeptValues& values, const KeptValues& from, const Run& run) {
    std::vector<uint8_t> validity;
    if (const uint8_t* bits = from.validity_bits()) {
        validity.assign(validity_bytes(run.rows), 0);
        copy_bits(bits, run.first, run.rows, validity.data());
    }
    if (!append_validity(values, validity.empty() ? nullptr : validity.data(), run.rows) ||
        !append_bounds_of(values, from, run))
        return false;
    if (from.entries() > 0 && from.compression == KeptCompression::Plain)
        return append_texts(values, from.starts.as<uint32_t>() + run.first, from.data.as<std::byte>(),
                            run.rows);
    const uint32_t width = from.values.bytes() > 0 ? fixed_width(from.stored.type) : 0;
    return values.values.append(from.values.as<std::byte>() + run.first * width, run.rows * width);
}

// Of the stretches that the rows were in: they may be wider than those of the rows.
bool KeptChunk::append_bounds_of(KeptValues& values, const KeptValues& from, const Run& run) {
    if (from.bounds.bytes() == 0) return true;
    if (!values.bounds.resize(stretches_of(rows_so_far_ + run.rows) * sizeof(ValueBounds))) return false;
    auto* bounds = reinterpret_cast<ValueBounds*>(values.bounds.data());
    for (uint64_t row = 0; row < run.rows;) {
        const uint64_t here = rows_so_far_ + row, there = run.first + row;
        if (here % kStretchRows == 0) bounds[here / kStretchRows] = kNoValues;
        bounds[here / kStretchRows].extend(*from.bounds_of(there / kStretchRows));
        row += kStretchRows - std::max(here % kStretchRows, there % kStretchRows);
    }
    return true;
}

std::shared_ptr<const KeptChunk> KeptChunk::cut_to(const KeptChunk& other) const {
    std::vector<Run> runs;
    if (!find_runs(other, &runs)) return nullptr;
    std::vector<ChunkColumn> columns;
    for (const KeptValues& values : columns_) columns.push_back(values.column);
    auto cut = std::make_shared<KeptChunk>(columns, ledger_);
    if (cut->has_failed()) return nullptr;
    if (!cut->begin_as(*this, other.rows())) return nullptr;
    for (const Run& run : runs)
        if (!cut->append_run(*this, run)) return nullptr;
    cut->first_row_ = other.first_row_;
    cut->blocks_with_rows_ = other.blocks_with_rows_;
    for (KeptValues& values : cut->columns_) values.shrink();
    return cut;
}

void KeptChunk::seal() {
    while (next_block_ <= kChunkBlocks) first_row_[next_block_++] = static_cast<uint32_t>(rows_so_far_);
    for (KeptValues& values : columns_) {
        compress(values, rows_so_far_, ledger_);
        values.shrink();
    }
}

uint64_t KeptChunk::bytes() const {
    uint64_t bytes = kFixedBytes;
    for (const KeptValues& values : columns_) bytes += values.charged();
    return bytes;
}

}  // namespace gpujoin
