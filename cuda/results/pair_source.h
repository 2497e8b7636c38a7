// Where a cursor's rows come from: (probe row, build row) pairs on the device, in probe order, a piece at a
// time. Three sources: candidates that all match (exact), candidates that must be tested (masked), and the
// build side itself (scan). Nested loops of a simple kind, and of nothing but a filter program, have sources
// of their own (tiles).
//
// All three think in *slots*: places in the sequence of result rows. Owners (probe rows, or groups of
// candidates) own slots [starts[i], starts[i + 1]), so that slots are handed out evenly however skewed the
// owners are.
#pragma once

#include <cstdint>
#include <memory>

#include "cuda/filter/filter_pairs.cuh"
#include "cuda/hash/lookup.h"
#include "cuda/work/work.h"

namespace gpujoin::cuda {

// What becomes of a probe row.
enum class SlotRule : uint8_t {
    Pairs,        // one slot a match
    PairsOrNull,  // the same; one slot without a build row when there is no match
    Matched,      // one slot without a build row if there is a match
    Unmatched,    // one if there is none
    None,         // no slots: only build rows are marked
};
SlotRule slot_rule(const JoinSpec& spec);

// Which build rows have found a match. matched: by build row. coverage: by position, the number of probe rows
// whose candidates begin here less the number whose candidates ended before here; the positions that
// are covered are where its running sum is positive. Null when not kept.
struct BuildMarks {
    uint8_t* matched = nullptr;
    unsigned long long* coverage = nullptr;
};

// Pairs [first, last) are there and wait to be written out. build: row numbers, kNoRow for none; or the
// values that the lookup holds.
struct PairBuffer {
    DeviceArray<uint32_t> probe;
    DeviceArray<uint32_t> build;
    uint64_t first = 0;
    uint64_t last = 0;

    bool empty() const { return first == last; }

    // Makes room for pairs [0, count), which wait from then on.
    Status reserve(const WorkContext& context, uint64_t count) {
        GPUJOIN_RETURN_IF_FAILED(probe.reserve(context.account, count, context.handle()));
        GPUJOIN_RETURN_IF_FAILED(build.reserve(context.account, count, context.handle()));
        first = 0;
        last = count;
        return {};
    }
};

// A filter program that candidates must pass. Of none all pointers are null.
struct PairFilter {
    const FilterProgram* program = nullptr;         // in host memory
    const FilterProgram* device_program = nullptr;  // the same on the device
    const FilterColumn* tiles = nullptr;            // build columns where nothing else is tested on any pair
};

class PairSource {
  public:
    virtual ~PairSource() = default;
    // Refills an empty buffer with at most `want` pairs. done: there are none after these. May return early
    // with fewer pairs, and with none where the turn is over.
    virtual Status fill(const WorkContext& context, uint64_t want, PairBuffer* pairs, bool* done) = 0;
    // Leaves out every further pair of this probe row and those before it.
    virtual Status skip_through(const WorkContext& context, uint32_t probe_row) = 0;
    // Whether the filter program has left a pair undecided so far.
    virtual bool undecided() const { return false; }
};

// Everything that a source for a probe batch looks at; not owned but for the candidates.
struct ProbeWork {
    const DeviceColumn* probe = nullptr;
    uint64_t rows = 0;
    LookupView lookup;
    bool unique = false;          // no probe row has more than one candidate
    const Term* terms = nullptr;  // to be tested on each candidate by value, on the device
    uint32_t term_count = 0;
    PackedTerms packed;  // to be tested on each candidate by order key
    TileView tiles;      // to be tested on all pairs of rows
    PairFilter filter;
    uint32_t* undecided = nullptr;  // set by kernels that leave a pair undecided
    SlotRule rule = SlotRule::Pairs;
    BuildMarks marks;  // all null when probing does not mark
    Candidates candidates;
};

// Every candidate matches. Queues its counting at once.
Status make_exact_source(const WorkContext& context, ProbeWork work, std::unique_ptr<PairSource>* source);

// The same where no probe row has more than one slot.
bool has_single_slots(const ProbeWork& work);
Status make_single_source(const WorkContext& context, ProbeWork work, std::unique_ptr<PairSource>* source);

// Candidates match where all terms hold, packed and by value.
Status make_masked_source(const WorkContext& context, ProbeWork work, std::unique_ptr<PairSource>* source);

// All build rows are candidates, and match where the tile tests hold.
Status make_tile_source(const WorkContext& context, ProbeWork work, std::unique_ptr<PairSource>* source);

// All build rows are candidates, and match where the filter program holds or is undecided.
Status make_filter_source(const WorkContext& context, ProbeWork work, std::unique_ptr<PairSource>* source);

// The build rows that have (wanted) or have not found a match; probe rows are kNoProbeRow. matched may be
// null: none has.
std::unique_ptr<PairSource> make_scan_source(const uint8_t* matched, bool wanted, uint64_t build_rows);

// Folds coverage into matched flags by build row.
Status fold_coverage(const WorkContext& context, const LookupView& lookup, const BuildMarks& marks);

}  // namespace gpujoin::cuda
