// The sort_merge algorithm: both sides sorted on (equality key, range key), then one sweep over both. The
// build side is sorted at seal; a probe batch when its probe starts, and its candidates are found in one go.
// The sweep gallops, so that a small batch does not pay for the whole build side. A batch for which there is
// no memory is not sorted: its rows are looked up one by one.
//
// An equality key is the packed key where it fits into 64 bits, else a hash, and then the equalities are
// tested on the candidates.
#include <algorithm>
#include <optional>

#include "engine/cpu/matcher.h"
#include "engine/cpu/index/range_plan.h"
#include "engine/cpu/index/sorted_rows.h"

namespace gpujoin::cpu {

namespace {

// Reads equality keys of a block of rows, or of those in a list, as 64-bit numbers.
void read_equality_keys(const KeyReader& reader, uint32_t key_bytes, uint64_t first, const uint32_t* list,
                        uint32_t rows, uint64_t* keys) {
    if (key_bytes == 8) return reader.read(first, list, rows, keys);
    uint32_t narrow[kBlockRows];
    HashedKey hashed[kBlockRows];
    if (key_bytes == 4) {
        reader.read(first, list, rows, narrow);
    } else {
        reader.read(first, list, rows, hashed);
    }
    for (uint32_t i = 0; i < rows; i++) keys[i] = key_bytes == 4 ? narrow[i] : hashed[i].hash;
}

// Where a row stands in the order of both sides.
struct Rank {
    uint64_t equality;
    uint64_t range;
    friend bool operator<(const Rank& a, const Rank& b) {
        return a.equality != b.equality ? a.equality < b.equality : a.range < b.range;
    }
};

// The first of the sorted ranks [from, count) for which before(rank) no longer holds, by steps that double.
template <typename Before>
uint64_t gallop(const Rank* ranks, uint64_t from, uint64_t count, const Before& before) {
    uint64_t step = 1;
    uint64_t low = from;
    while (low + step <= count && before(ranks[low + step - 1])) {
        low += step;
        step *= 2;
    }
    const Rank* end = ranks + std::min(count, low + step);
    return static_cast<uint64_t>(std::partition_point(ranks + low, end, before) - ranks);
}

class SortMergeMatcher final : public Matcher {
  public:
    explicit SortMergeMatcher(JoinContext& join) : join_(join) {
        if (join.spec.ranges > 0) plan_ = plan_ranges(join);
    }

    Status build();
    Status start(const BatchView& batch, const KeyReader& reader, std::unique_ptr<Search>* search) override;
    const uint32_t* row_of_position() const override { return rows_.as<uint32_t>(); }

    // Writes the candidates of every probe row: first[i], count[i].
    Status sweep(const BatchView& batch, const KeyReader& reader, uint32_t* first, uint32_t* count) const;
    // Those of a block of rows.
    void look_up(const KeyReader& reader, const RangeBounds& bounds, uint64_t begin, uint32_t rows,
                 CandidateRanges* ranges) const;
    RangeBounds bounds_of(const BatchView& batch) const {
        return plan_ ? RangeBounds(join_.spec, plan_->driving, batch) : RangeBounds();
    }

  private:
    struct ProbeRow {
        Rank low;
        uint64_t high;
    };
    void read_block(const KeyReader& reader, const RangeBounds& bounds, uint64_t first, uint32_t rows,
                    ProbeRow* out) const;
    template <typename Key>
    Status sort_probe_rows(uint64_t rows, const Key& key, SortedRows* sorted) const;
    Status sort_by_equality_keys(SortedRows* sorted) const;
    Status read_probe(const BatchView& batch, const KeyReader& reader, ProbeRow* rows) const;

    JoinContext& join_;
    std::optional<RangePlan> plan_;  // with ranges
    HostArray ranks_;                // by position
    HostArray rows_;                 // row numbers by position
};

class SortMergeSearch final : public Search {
  public:
    SortMergeSearch(const SortMergeMatcher& matcher, const BatchView& batch, const KeyReader& reader)
        : matcher_(matcher), reader_(reader), bounds_(matcher.bounds_of(batch)) {}

    Status run(Ledger* ledger, const BatchView& batch) {
        const Status swept = sweep(ledger, batch);
        is_swept_ = swept.ok();
        if (is_swept_ || swept.fault != Fault::HostMemory) return swept;
        first_.reset();
        count_.reset();
        return {};
    }

    Status find(uint64_t begin, uint32_t rows, CandidateRanges* ranges) override {
        if (is_swept_) {
            std::copy_n(first_.as<uint32_t>() + begin, rows, ranges->first);
            std::copy_n(count_.as<uint32_t>() + begin, rows, ranges->count);
        } else {
            matcher_.look_up(reader_, bounds_, begin, rows, ranges);
        }
        return {};
    }

  private:
    Status sweep(Ledger* ledger, const BatchView& batch) {
        GPUJOIN_RETURN_IF_FAILED(first_.allocate(ledger, (batch.rows + 1) * sizeof(uint32_t)));
        GPUJOIN_RETURN_IF_FAILED(count_.allocate(ledger, (batch.rows + 1) * sizeof(uint32_t)));
        return matcher_.sweep(batch, reader_, first_.as<uint32_t>(), count_.as<uint32_t>());
    }

    const SortMergeMatcher& matcher_;
    const KeyReader& reader_;
    const RangeBounds bounds_;
    bool is_swept_ = false;
    HostArray first_;
    HostArray count_;
};

// Sorts rows by equality key: those sorted before, or all build rows without NULLs.
Status SortMergeMatcher::sort_by_equality_keys(SortedRows* sorted) const {
    const KeyReader reader = join_.build_reader();
    const HostArray list = std::move(sorted->rows);
    sorted->keys.reset();
    const uint32_t* rows = list.empty() ? nullptr : list.as<uint32_t>();
    auto keyed = [&](uint64_t first, uint32_t block, KeyedRow* out) {
        uint64_t keys[kBlockRows];
        read_equality_keys(reader, join_.layout.bytes, first, rows ? rows + first : nullptr, block, keys);
        uint32_t kept = 0;
        for (uint32_t i = 0; i < block; i++) {
            uint32_t row = rows ? rows[first + i] : static_cast<uint32_t>(first + i);
            out[kept] = {keys[i], row};
            kept += rows || !reader.has_nulls() || !reader.has_null(row);
        }
        return kept;
    };
    return sort_rows(*join_.workers, join_.limits.cancel, join_.limits.host_memory,
                     rows ? sorted->count : join_.build.rows(), keyed, sorted);
}

Status SortMergeMatcher::build() {
    const bool equalities = join_.spec.equalities > 0;
    SortedRows sorted;
    if (plan_) GPUJOIN_RETURN_IF_FAILED(sort_build_rows(join_, plan_->build_column, &sorted));
    if (equalities) GPUJOIN_RETURN_IF_FAILED(sort_by_equality_keys(&sorted));
    positions = sorted.count;
    rows_ = std::move(sorted.rows);
    GPUJOIN_RETURN_IF_FAILED(ranks_.allocate(join_.limits.host_memory, (positions + 1) * sizeof(Rank)));
    const ColumnSource range = plan_ ? join_.build.source(plan_->build_column) : ColumnSource{};
    GPUJOIN_RETURN_IF_FAILED(for_blocks(join_, positions, [&](uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; i++) {
            ranks_.as<Rank>()[i] = {equalities ? sorted.keys.as<uint64_t>()[i] : 0,
                                    plan_ ? order_key(range.spec, range.value(rows_.as<uint32_t>()[i])) : 0};
        }
    }));
    const uint32_t key_bytes = join_.layout.bytes;
    if (equalities && key_bytes != 4 && key_bytes != 8)
        undecided.assign(join_.spec.equality, join_.spec.equality + join_.spec.equalities);
    if (plan_) {
        undecided.insert(undecided.end(), plan_->undecided.begin(), plan_->undecided.end());
        // Nothing prunes here.
        if (plan_->pruning) undecided.push_back(*plan_->pruning);
    } else {
        undecided.insert(undecided.end(), join_.spec.filter, join_.spec.filter + join_.spec.filters);
    }
    return {};
}

Status SortMergeMatcher::start(const BatchView& batch, const KeyReader& reader,
                               std::unique_ptr<Search>* search) {
    auto made = std::make_unique<SortMergeSearch>(*this, batch, reader);
    GPUJOIN_RETURN_IF_FAILED(made->run(join_.limits.host_memory, batch));
    *search = std::move(made);
    return {};
}

Status SortMergeMatcher::read_probe(const BatchView& batch, const KeyReader& reader, ProbeRow* rows) const {
    const RangeBounds bounds = bounds_of(batch);
    return for_blocks(join_, batch.rows, [&](uint64_t begin, uint64_t end) {
        for (uint64_t first = begin; first < end; first += kBlockRows) {
            uint32_t block = static_cast<uint32_t>(std::min<uint64_t>(kBlockRows, end - first));
            read_block(reader, bounds, first, block, rows + first);
        }
    });
}

void SortMergeMatcher::read_block(const KeyReader& reader, const RangeBounds& bounds, uint64_t first,
                                  uint32_t rows, ProbeRow* out) const {
    uint64_t equality[kBlockRows] = {}, low[kBlockRows], high[kBlockRows];
    if (join_.spec.equalities > 0)
        read_equality_keys(reader, join_.layout.bytes, first, nullptr, rows, equality);
    bounds.read(first, rows, low, high);
    for (uint32_t i = 0; i < rows; i++) out[i] = {{equality[i], low[i]}, high[i]};
}

void SortMergeMatcher::look_up(const KeyReader& reader, const RangeBounds& bounds, uint64_t begin,
                               uint32_t rows, CandidateRanges* ranges) const {
    ProbeRow probe[kBlockRows];
    read_block(reader, bounds, begin, rows, probe);
    const Rank* ranks = ranks_.as<Rank>();
    for (uint32_t i = 0; i < rows; i++) {
        const Rank low = probe[i].low;
        const Rank high = {low.equality, probe[i].high};
        const Rank* first = std::lower_bound(ranks, ranks + positions, low);
        const Rank* end = first;
        if (low.range <= high.range) end = std::upper_bound(first, ranks + positions, high);
        ranges->first[i] = static_cast<uint32_t>(first - ranks);
        ranges->count[i] = static_cast<uint32_t>(end - first);
    }
}

// Sorts all rows of a probe batch, or those sorted before, by key(row).
template <typename Key>
Status SortMergeMatcher::sort_probe_rows(uint64_t rows, const Key& key, SortedRows* sorted) const {
    const HostArray list = std::move(sorted->rows);
    sorted->keys.reset();
    auto keyed = [&](uint64_t first, uint32_t block, KeyedRow* out) {
        for (uint32_t i = 0; i < block; i++) {
            uint32_t row = list.empty() ? static_cast<uint32_t>(first + i) : list.as<uint32_t>()[first + i];
            out[i] = {key(row), row};
        }
        return block;
    };
    return sort_rows(*join_.workers, join_.limits.cancel, join_.limits.host_memory, rows, keyed, sorted);
}

Status SortMergeMatcher::sweep(const BatchView& batch, const KeyReader& reader, uint32_t* first,
                               uint32_t* count) const {
    HostArray probe;
    SortedRows order;
    GPUJOIN_RETURN_IF_FAILED(probe.allocate(join_.limits.host_memory, batch.rows * sizeof(ProbeRow)));
    const ProbeRow* rows = probe.as<ProbeRow>();
    GPUJOIN_RETURN_IF_FAILED(read_probe(batch, reader, probe.as<ProbeRow>()));
    if (plan_) {
        auto range = [rows](uint32_t row) { return rows[row].low.range; };
        GPUJOIN_RETURN_IF_FAILED(sort_probe_rows(batch.rows, range, &order));
    }
    if (join_.spec.equalities > 0) {
        auto equality = [rows](uint32_t row) { return rows[row].low.equality; };
        GPUJOIN_RETURN_IF_FAILED(sort_probe_rows(batch.rows, equality, &order));
    }
    const Rank* ranks = ranks_.as<Rank>();
    uint64_t position = 0;
    for (uint64_t i = 0; i < batch.rows; i++) {
        if (i % kParallelRows == 0 && join_.should_stop()) return cancelled_status();
        constexpr uint64_t kAhead = 16;
        if (i + kAhead < batch.rows) __builtin_prefetch(rows + order.rows.as<uint32_t>()[i + kAhead]);
        const uint32_t row = order.rows.as<uint32_t>()[i];
        const Rank low = rows[row].low;
        const Rank high = {low.equality, rows[row].high};
        position = gallop(ranks, position, positions, [&](const Rank& rank) { return rank < low; });
        uint64_t end = position;
        if (low.range <= high.range)
            end = gallop(ranks, position, positions, [&](const Rank& rank) { return !(high < rank); });
        first[row] = static_cast<uint32_t>(position);
        count[row] = static_cast<uint32_t>(end - position);
    }
    return {};
}

}  // namespace

Status make_sort_merge_matcher(JoinContext& join, std::unique_ptr<Matcher>* matcher) {
    auto made = std::make_unique<SortMergeMatcher>(join);
    GPUJOIN_RETURN_IF_FAILED(made->build());
    *matcher = std::move(made);
    return {};
}

}  // namespace gpujoin::cpu
