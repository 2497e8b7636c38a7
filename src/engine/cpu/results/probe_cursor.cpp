// The cursor of a probe batch, for every algorithm and kind of join. Block by block it asks the matcher for
// each row's range of candidates, expands the ranges, tests the terms that the matcher left undecided, and
// queues the pairs that the kind of join gives. It can stop anywhere, also inside one row's range.
#include <algorithm>
#include <cstring>
#include <optional>

#include "engine/cpu/filter/filter_tester.h"
#include "engine/cpu/results/queue_cursor.h"
#include "engine/cpu/work/simd.h"

namespace gpujoin::cpu {

namespace {

// As many candidates of one probe row are tested as a run, without making pairs first.
constexpr uint32_t kShortestRun = 32;

// Lists first + i for each i < candidates with keep[i]; returns how many. Mostly few are kept: groups with
// none are passed over as one.
GPUJOIN_VECTOR uint32_t list_kept(const uint8_t* keep, uint32_t candidates, uint32_t first,
                                  uint32_t* numbers) {
    constexpr uint32_t kGroup = 64;
    uint32_t kept = 0;
    for (uint32_t begin = 0; begin < candidates; begin += kGroup) {
        const uint32_t rows = std::min(kGroup, candidates - begin);
        const uint8_t* group = keep + begin;
        uint8_t any = 0;
        if (rows == kGroup) {
            for (uint32_t i = 0; i < kGroup; i++) any |= group[i];
            if (!any) continue;
        }
        for (uint32_t i = 0; i < rows; i++) {
            numbers[kept] = first + begin + i;
            kept += group[i];
        }
    }
    return kept;
}

class ProbeCursor final : public QueueCursor {
  public:
    ProbeCursor(SealedJoin& join, const BatchView& batch)
        : QueueCursor(join, ResultWriter(output_columns(join, &batch, BuildNumbers::OfMatcher),
                                         join.context.spec.names_probe_rows, join.named_build_rows(),
                                         row_of_number(join))),
          reader_(join.context.probe_reader(batch)),
          gives_(rows_of_probing(join.context.spec)),
          number_of_position_(join.clustered.is_empty() ? join.matcher->row_of_position() : nullptr),
          row_of_number_(row_of_number(join)),
          rows_(batch.rows) {
        const JoinSpec& spec = join.context.spec;
        for (const Term& term : join.matcher->undecided) {
            ColumnSource probe =
                probe_source(spec.probe[term.probe_column], batch.columns[term.probe_column]);
            tests_.emplace_back(probe, join.probed_source(term.build_column), term.comparison);
        }
        if (spec.program.steps > 0) filter_.emplace(make_filter_test(join, batch));
    }

    Status start(const BatchView& batch) {
        GPUJOIN_RETURN_IF_FAILED(open());
        return join_.matcher->start(batch, reader_, &search_);
    }

    void skip(uint32_t probe_row) override {
        undecided_from_ = std::max(undecided_from_, uint64_t{probe_row} + 1);
        scratch_->queue.drop_before(probe_row + 1);
    }

  private:
    static FilterTester make_filter_test(const SealedJoin& join, const BatchView& batch);
    Status produce() override;
    bool exhausted() const override { return begin_ + row_ >= rows_; }
    bool undecided() const override { return undecided_; }

    Status find_block();
    void finish_row();
    void queue_single_matches();
    void queue_matches();
    void test_and_queue();
    uint32_t expand();
    void expand_run();
    void queue_passed(uint32_t first, uint32_t end);
    // Whether candidates are worth testing as consecutive build rows, and are such.
    bool is_run(uint32_t candidates) const {
        return candidates >= kShortestRun && !number_of_position_ && !join_.matcher->prunes;
    }
    // Build rows go by numbers from here on: their positions where columns are clustered, else row numbers.
    static const uint32_t* row_of_number(const SealedJoin& join) {
        return join.clustered.is_empty() ? nullptr : join.matcher->row_of_position();
    }
    uint32_t number_at(uint32_t position) const {
        return number_of_position_ ? number_of_position_[position] : position;
    }
    void mark(uint32_t number) const { join_.matched.set(row_of_number_ ? row_of_number_[number] : number); }
    // Rows that a range of the current row still has.
    uint32_t left() const { return scratch_->ranges.count[row_] - taken_; }

    const KeyReader reader_;
    const JoinRows gives_;
    const uint32_t* const number_of_position_;
    const uint32_t* const row_of_number_;
    const uint64_t rows_;
    std::vector<TermTester> tests_;
    std::optional<FilterTester> filter_;
    bool undecided_ = false;  // the filter left a pair undecided
    std::unique_ptr<Search> search_;

    uint64_t begin_ = 0;  // the block: probe rows [begin_, begin_ + block_rows_)
    uint32_t block_rows_ = 0;
    uint32_t row_ = 0;             // the current row, within the block,
    uint32_t taken_ = 0;           // how many positions of its range are done,
    bool matched_ = false;         // and whether one of them matched
    uint64_t undecided_from_ = 0;  // rows before this one are skipped

    // Of rows that were expanded together: where each one's candidates end, how many positions of its range
    // were looked at, and whether that was all.
    struct Segment {
        uint32_t end;
        uint32_t taken;
        bool complete;
    };
    Segment segments_[kBlockRows];
};

// With the columns that the program looks at.
FilterTester ProbeCursor::make_filter_test(const SealedJoin& join, const BatchView& batch) {
    const JoinSpec& spec = join.context.spec;
    std::vector<ColumnSource> probe(spec.probe_columns), build(spec.build_columns);
    for (uint32_t i = 0; i < spec.program.steps; i++) {
        const FilterStep& step = spec.program.step[i];
        if (!has_source(step.opcode)) continue;
        if (step.source == FilterSource::Probe)
            probe[step.operand] = probe_source(spec.probe[step.operand], batch.columns[step.operand]);
        if (step.source == FilterSource::Build) build[step.operand] = join.probed_source(step.operand);
    }
    return FilterTester(spec.program, std::move(probe), std::move(build));
}

Status ProbeCursor::find_block() {
    begin_ += block_rows_;
    block_rows_ = static_cast<uint32_t>(std::min<uint64_t>(kBlockRows, rows_ - begin_));
    row_ = 0;
    CandidateRanges& ranges = scratch_->ranges;
    GPUJOIN_RETURN_IF_FAILED(search_->find(begin_, block_rows_, &ranges));
    if (reader_.has_nulls()) {
        for (uint32_t i = 0; i < block_rows_; i++)
            if (reader_.has_null(begin_ + i)) ranges.count[i] = 0;
    }
    return {};
}

void ProbeCursor::finish_row() {
    row_++;
    taken_ = 0;
    matched_ = false;
}

Status ProbeCursor::produce() {
    if (row_ == block_rows_) GPUJOIN_RETURN_IF_FAILED(find_block());
    while (row_ < block_rows_ && begin_ + row_ < undecided_from_) finish_row();
    if (row_ == block_rows_) return {};
    if (!tests_.empty() || filter_ || join_.matcher->prunes) {
        test_and_queue();
    } else if (join_.matcher->unique_keys && gives_.pairs && !gives_.scans_build() &&
               !gives_.unmatched_probe_rows) {
        queue_single_matches();
    } else {
        queue_matches();
    }
    return {};
}

// Nothing is left to test, and no row has more than one match.
void ProbeCursor::queue_single_matches() {
    const CandidateRanges& ranges = scratch_->ranges;
    PairQueue& queue = scratch_->queue;
    for (; row_ < block_rows_; row_++) {
        bool any = ranges.count[row_] != 0;
        queue.push_if(any, static_cast<uint32_t>(begin_ + row_), any ? number_at(ranges.first[row_]) : 0);
    }
}

// Nothing is left to test: all candidates are matches.
void ProbeCursor::queue_matches() {
    const CandidateRanges& ranges = scratch_->ranges;
    PairQueue& queue = scratch_->queue;
    uint32_t room = kCandidates;
    while (row_ < block_rows_ && room > 0) {
        uint32_t probe_row = static_cast<uint32_t>(begin_ + row_);
        bool any = ranges.count[row_] > 0;
        if (any ? gives_.matched_probe_rows : gives_.unmatched_probe_rows) queue.push(probe_row, kNoRow);
        uint32_t count = gives_.is_decided_by_first_match() ? 0 : std::min(left(), room);
        uint32_t position = ranges.first[row_] + taken_;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t number = number_at(position + i);
            if (gives_.pairs) queue.push(probe_row, number);
            if (gives_.scans_build()) mark(number);
        }
        room -= count;
        taken_ += count;
        if (left() > 0 && !gives_.is_decided_by_first_match()) return;
        finish_row();
    }
}

// Expands the ranges of the next rows into candidate pairs, as many as there is room for. Returns the number
// of rows, the current one first; segments_ says where each one's candidates end.
uint32_t ProbeCursor::expand() {
    CursorScratch& scratch = *scratch_;
    const CandidateRanges& ranges = scratch.ranges;
    const bool prunes = join_.matcher->prunes;
    uint32_t candidates = 0;
    uint32_t taken = taken_;
    uint32_t row = row_;
    for (; row < block_rows_ && candidates < kCandidates; row++, taken = 0) {
        if (row != row_ && is_run(ranges.count[row])) break;
        const uint32_t end = ranges.first[row] + ranges.count[row];
        uint32_t position = ranges.first[row] + taken;
        uint32_t room = kCandidates - candidates;
        uint32_t* build = scratch.build + candidates;
        uint32_t count = std::min(room, end - position);
        if (prunes) {
            count = search_->list_candidates(begin_ + row, &position, end, room, build);
        } else {
            for (uint32_t i = 0; i < count; i++) build[i] = position + i;
            position += count;
        }
        if (number_of_position_)
            for (uint32_t i = 0; i < count; i++) build[i] = number_of_position_[build[i]];
        std::fill_n(scratch.probe + candidates, count, static_cast<uint32_t>(begin_ + row));
        candidates += count;
        segments_[row - row_] = {candidates, position - ranges.first[row], position >= end};
    }
    std::memset(scratch.keep, 1, candidates);
    for (const TermTester& test : tests_)
        test.test_pairs(scratch.probe, scratch.build, candidates, scratch.keep);
    if (filter_) undecided_ |= filter_->test_pairs(scratch.probe, scratch.build, candidates, scratch.keep);
    return row - row_;
}

// The same for one probe row whose candidates have consecutive numbers: tested in place, only those that
// pass become pairs.
void ProbeCursor::expand_run() {
    CursorScratch& scratch = *scratch_;
    const uint32_t first = scratch.ranges.first[row_] + taken_;
    const uint32_t rows = std::min(left(), kCandidates);
    const uint32_t probe_row = static_cast<uint32_t>(begin_ + row_);
    std::memset(scratch.keep, 1, rows);
    for (const TermTester& test : tests_) test.test_run(probe_row, first, rows, scratch.keep);
    if (filter_) undecided_ |= filter_->test_run(probe_row, first, rows, scratch.keep);
    const uint32_t passed = list_kept(scratch.keep, rows, first, scratch.build);
    std::memset(scratch.keep, 1, passed);
    segments_[0] = {passed, taken_ + rows, rows == left()};
}

void ProbeCursor::test_and_queue() {
    uint32_t rows = 1;
    if (is_run(left())) {
        expand_run();
    } else {
        rows = expand();
    }
    uint32_t first = 0;
    for (uint32_t i = 0; i < rows; i++) {
        const Segment& segment = segments_[i];
        queue_passed(first, segment.end);
        if (segment.complete && !matched_ && gives_.unmatched_probe_rows)
            scratch_->queue.push(static_cast<uint32_t>(begin_ + row_), kNoRow);
        if (segment.complete || (matched_ && gives_.is_decided_by_first_match())) {
            finish_row();
        } else {
            taken_ = segment.taken;
        }
        first = segment.end;
    }
}

// Queues what the kind of join gives for those candidates [first, end) of the current row that passed the
// tests.
void ProbeCursor::queue_passed(uint32_t first, uint32_t end) {
    const uint32_t probe_row = static_cast<uint32_t>(begin_ + row_);
    for (uint32_t i = first; i < end; i++) {
        if (!scratch_->keep[i]) continue;
        if (!matched_ && gives_.matched_probe_rows) scratch_->queue.push(probe_row, kNoRow);
        matched_ = true;
        if (gives_.is_decided_by_first_match()) return;
        if (gives_.pairs) scratch_->queue.push(probe_row, scratch_->build[i]);
        if (gives_.scans_build()) mark(scratch_->build[i]);
    }
}

}  // namespace

Status make_probe_cursor(SealedJoin& join, const BatchView& batch, std::unique_ptr<Cursor>* cursor) {
    auto made = std::make_unique<ProbeCursor>(join, batch);
    GPUJOIN_RETURN_IF_FAILED(made->start(batch));
    *cursor = std::move(made);
    return {};
}

}  // namespace gpujoin::cpu
