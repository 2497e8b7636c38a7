// The index algorithm: build rows sorted on (equality group, range key), and a search for each probe row, in
// any order, for the first and last position that the driving range terms leave.
//
// Without equalities there is one group and a SearchTree over it. With equalities a key table leads to the
// group: the rows are sorted by range key first, and the table, being built stably, keeps that order inside
// each group; the group is then searched by halving. A further range term, such as the other end of an
// interval, prunes the candidates through a MaximumTree in the same order, so that a few very long intervals
// cost little.
#include "engine/cpu/hash/key_tables.h"
#include "engine/cpu/index/key_trees.h"
#include "engine/cpu/matcher.h"
#include "engine/cpu/index/range_plan.h"
#include "engine/cpu/index/sorted_rows.h"
#include "engine/key_interval.h"
#include "engine/search.h"

namespace gpujoin::cpu {

namespace {

class IndexMatcher final : public Matcher {
  public:
    explicit IndexMatcher(JoinContext& join) : join_(join), plan_(plan_ranges(join)) {}

    Status build();
    Status start(const BatchView& batch, const KeyReader& reader, std::unique_ptr<Search>* search) override;
    const uint32_t* row_of_position() const override {
        return table_ ? table_->row_of_position() : rows_.as<uint32_t>();
    }

    void find(const KeyReader& reader, const RangeBounds& bounds, uint64_t begin, uint32_t rows,
              CandidateRanges* ranges) const;
    // The bound that the pruning tree is searched with, for a probe row's interval of pruning keys.
    uint64_t pruning_bound(uint64_t low, uint64_t high) const {
        return is_lower_bound(*plan_.pruning) ? low : ~high;
    }
    const MaximumTree& pruning_tree() const { return pruning_tree_; }

  private:
    Status read_keys(uint32_t column, bool inverted, HostArray* keys);
    void find_in_groups(uint32_t rows, const uint64_t* low, const uint64_t* high,
                        CandidateRanges* ranges) const;
    void find_in_tree(uint32_t rows, const uint64_t* low, const uint64_t* high,
                      CandidateRanges* ranges) const;

    JoinContext& join_;
    const RangePlan plan_;
    std::unique_ptr<KeyTable> table_;  // with equalities
    HostArray rows_;                   // without: row numbers by position
    HostArray keys_;                   // range keys by position
    SearchTree tree_;                  // over them, without equalities
    GroupSearch groups_;               // the same with equalities
    HostArray pruning_keys_;           // by position; inverted where small ones are wanted
    MaximumTree pruning_tree_;
};

class IndexSearch final : public Search {
  public:
    IndexSearch(const IndexMatcher& matcher, const JoinSpec& spec, const RangePlan& plan,
                const BatchView& batch, const KeyReader& reader)
        : matcher_(matcher), reader_(reader), bounds_(spec, plan.driving, batch) {
        if (plan.pruning) pruning_ = RangeBounds(spec, {*plan.pruning}, batch);
        prunes_ = plan.pruning.has_value();
    }

    Status find(uint64_t begin, uint32_t rows, CandidateRanges* ranges) override {
        matcher_.find(reader_, bounds_, begin, rows, ranges);
        if (!prunes_) return {};
        begin_ = begin;
        uint64_t high[kBlockRows];
        pruning_.read(begin, rows, pruning_bound_, high);
        for (uint32_t i = 0; i < rows; i++) {
            if (pruning_bound_[i] > high[i]) ranges->count[i] = 0;
            pruning_bound_[i] = matcher_.pruning_bound(pruning_bound_[i], high[i]);
            if (ranges->count[i] > 0)
                matcher_.pruning_tree().prefetch(ranges->first[i] + ranges->count[i] - 1);
        }
        for (uint32_t i = 0; i < rows; i++) {
            uint32_t end = ranges->first[i] + ranges->count[i];
            ranges->first[i] =
                static_cast<uint32_t>(matcher_.pruning_tree().trim(ranges->first[i], end, pruning_bound_[i]));
            ranges->count[i] = end - ranges->first[i];
        }
        return {};
    }

    uint32_t list_candidates(uint64_t probe_row, uint32_t* position, uint32_t end, uint32_t room,
                             uint32_t* found) override {
        uint64_t at = *position;
        uint32_t listed =
            matcher_.pruning_tree().list(&at, end, pruning_bound_[probe_row - begin_], room, found);
        *position = static_cast<uint32_t>(at);
        return listed;
    }

  private:
    const IndexMatcher& matcher_;
    const KeyReader& reader_;
    const RangeBounds bounds_;
    RangeBounds pruning_;
    bool prunes_ = false;
    uint64_t begin_ = 0;
    uint64_t pruning_bound_[kBlockRows];
};

Status IndexMatcher::build() {
    SortedRows sorted;
    GPUJOIN_RETURN_IF_FAILED(sort_build_rows(join_, plan_.build_column, &sorted));
    positions = sorted.count;
    rows_ = std::move(sorted.rows);
    sorted.keys.reset();
    if (join_.spec.equalities > 0) {
        GPUJOIN_RETURN_IF_FAILED(make_key_table(join_, {rows_.as<uint32_t>(), positions}, &table_));
        rows_.reset();
        unique_keys = table_->is_unique();
    }
    GPUJOIN_RETURN_IF_FAILED(read_keys(plan_.build_column, false, &keys_));
    GPUJOIN_RETURN_IF_FAILED(table_ ? groups_.build(join_.limits, keys_.as<uint64_t>(), positions)
                                    : tree_.build(join_.limits, keys_.as<uint64_t>(), positions));
    if (plan_.pruning) {
        bool inverted = !is_lower_bound(*plan_.pruning);
        GPUJOIN_RETURN_IF_FAILED(read_keys(plan_.pruning->build_column, inverted, &pruning_keys_));
        GPUJOIN_RETURN_IF_FAILED(pruning_tree_.build(join_.limits, pruning_keys_.as<uint64_t>(), positions));
    }
    prunes = plan_.pruning.has_value();
    undecided = plan_.undecided;
    return {};
}

// Reads a column's order keys by position.
Status IndexMatcher::read_keys(uint32_t column, bool inverted, HostArray* keys) {
    GPUJOIN_RETURN_IF_FAILED(
        keys->allocate(join_.limits.host_memory, (positions + kTreeNode) * sizeof(uint64_t)));
    const ColumnSource source = join_.build.source(column);
    const uint32_t* row_at = row_of_position();
    const uint64_t inversion = inverted ? KeyInterval::kHighest : 0;
    std::fill_n(keys->as<uint64_t>() + positions, kTreeNode, KeyInterval::kHighest);
    return for_blocks(join_, positions, [&](uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; i++)
            keys->as<uint64_t>()[i] =
                order_key(source.spec, source.value(row_at ? row_at[i] : i)) ^ inversion;
    });
}

Status IndexMatcher::start(const BatchView& batch, const KeyReader& reader, std::unique_ptr<Search>* search) {
    *search = std::make_unique<IndexSearch>(*this, join_.spec, plan_, batch, reader);
    return {};
}

void IndexMatcher::find(const KeyReader& reader, const RangeBounds& bounds, uint64_t begin, uint32_t rows,
                        CandidateRanges* ranges) const {
    uint64_t low[kBlockRows];
    uint64_t high[kBlockRows];
    bounds.read(begin, rows, low, high);
    if (table_) {
        table_->find(reader, begin, rows, ranges->first, ranges->count);
        find_in_groups(rows, low, high, ranges);
    } else {
        find_in_tree(rows, low, high, ranges);
    }
}

// Narrows each row's group to its interval: searches for the low end, then looks at a few keys behind it and
// searches for the high end where those are not enough.
void IndexMatcher::find_in_groups(uint32_t rows, const uint64_t* low, const uint64_t* high,
                                  CandidateRanges* ranges) const {
    constexpr uint32_t kNear = 8;
    const uint64_t* keys = keys_.as<uint64_t>();
    uint32_t group_end[kBlockRows], begin[kBlockRows];
    for (uint32_t i = 0; i < rows; i++) group_end[i] = ranges->first[i] + ranges->count[i];
    groups_.find(low, ranges->first, group_end, rows, begin);
    uint32_t far[kBlockRows], far_first[kBlockRows], far_end[kBlockRows], found[kBlockRows];
    uint64_t beyond[kBlockRows];
    uint32_t open = 0;
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t end = begin[i];
        for (uint32_t k = 0; k < kNear; k++)
            end += begin[i] + k < group_end[i] && keys[begin[i] + k] <= high[i];
        bool is_open = low[i] <= high[i] && end == begin[i] + kNear;
        ranges->first[i] = begin[i];
        ranges->count[i] = low[i] <= high[i] ? end - begin[i] : 0;
        far[open] = i;
        far_first[open] = end;
        far_end[open] = group_end[i];
        // The upper bound of a key is the lower bound of the next one.
        beyond[open] = high[i] + (high[i] < KeyInterval::kHighest);
        open += is_open;
    }
    groups_.find(beyond, far_first, far_end, open, found);
    for (uint32_t k = 0; k < open; k++) {
        uint32_t end = high[far[k]] == KeyInterval::kHighest ? far_end[k] : found[k];
        ranges->count[far[k]] = end - ranges->first[far[k]];
    }
}

void IndexMatcher::find_in_tree(uint32_t rows, const uint64_t* low, const uint64_t* high,
                                CandidateRanges* ranges) const {
    uint32_t end[kBlockRows];
    tree_.find(low, rows, ranges->first);
    tree_.find_ends(high, ranges->first, rows, end);
    for (uint32_t i = 0; i < rows; i++) ranges->count[i] = low[i] <= high[i] ? end[i] - ranges->first[i] : 0;
}

}  // namespace

Status make_index_matcher(JoinContext& join, std::unique_ptr<Matcher>* matcher) {
    auto made = std::make_unique<IndexMatcher>(join);
    GPUJOIN_RETURN_IF_FAILED(made->build());
    *matcher = std::move(made);
    return {};
}

}  // namespace gpujoin::cpu
