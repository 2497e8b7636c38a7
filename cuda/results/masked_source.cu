// Pairs of candidates that must be tested.
//
// Each probe row's candidates are cut into units of at most 64: where a tree of zones stands over them, into
// the zones that may hold a match, else all of them one after the other. A window of units is tested at a
// time, which leaves a 64-bit mask a unit; the masks' bits are counted and summed, and slots are expanded
// into pairs by finding their unit and the bit in its mask. Nothing is written for a candidate that does not
// match, and windows are as large as a few milliseconds allow.
#include <utility>

#include "cuda/work/launch.cuh"
#include "cuda/results/load_balance.h"
#include "cuda/work/timer.h"
#include "cuda/results/window_source.h"
#include "cuda/index/zone_search.h"

namespace gpujoin::cuda {

namespace {

constexpr uint32_t kUnit = kZone;
constexpr uint64_t kFirstWindow = 128 << 10;  // units
constexpr uint64_t kLargestWindow = 4 << 20;
constexpr double kWindowMilliseconds = 4.0;

// A window of units, as kernels see it.
struct WindowView {
    uint64_t first;
    uint64_t units;
    uint64_t* masks;      // by unit
    uint32_t* owners;     // by unit: the probe row
    uint32_t* positions;  // by unit: of its first candidate
    uint64_t* slots;      // by unit
};

// What testing looks at.
struct TestView {
    const DeviceColumn* probe;
    const Term* terms;
    uint32_t term_count;
    PackedTerms packed;
    const uint64_t* probe_keys;   // of the packed terms, `rows` for each
    const uint64_t* unit_starts;  // by probe row
    uint64_t rows;
    const uint32_t* begin;
    const uint32_t* count;
    uint8_t* found;                // by probe row: has a match
    uint8_t* matched;              // by build row, or null
    bool first_only;               // one match is all that a probe row needs
    const FilterProgram* program;  // or null
    uint32_t* undecided;
};

// Tests the units of a window. Those that were found in the tree are listed there. Joins without a filter
// program have a kernel without the machine that runs it, which takes many registers.
template <bool kFilters>
struct UnitTest {
    TestView view;
    LookupView lookup;
    WindowView window;

    __device__ CandidateUnit unit(uint64_t i) const {
        CandidateUnit unit = view.packed.has_tree ? listed_unit(i) : next_unit(window.first + i);
        if (view.first_only && view.found[unit.owner]) unit.candidates = 0;
        return unit;
    }

    // From its first position to the end of the zone or of its owner's candidates.
    __device__ CandidateUnit listed_unit(uint64_t i) const {
        CandidateUnit unit;
        unit.owner = window.owners[i];
        unit.position = window.positions[i];
        if (unit.position == kNoRow) return unit;
        uint64_t zone_end = (unit.position / kZone + 1) * kZone;
        uint64_t end = uint64_t{view.begin[unit.owner]} + view.count[unit.owner];
        unit.candidates = static_cast<uint32_t>((zone_end < end ? zone_end : end) - unit.position);
        return unit;
    }

    __device__ CandidateUnit next_unit(uint64_t number) const {
        uint64_t row = find_owner(view.unit_starts, view.rows, number);
        uint64_t before = (number - view.unit_starts[row]) * kUnit;
        uint64_t left = view.count[row] - before;
        CandidateUnit unit;
        unit.position = view.begin[row] + before;
        unit.owner = static_cast<uint32_t>(row);
        unit.candidates = static_cast<uint32_t>(left < kUnit ? left : kUnit);
        return unit;
    }

    __device__ bool holds(const CandidateUnit& unit, uint64_t position) const {
        for (uint32_t i = 0; i < view.packed.count; i++) {
            uint64_t key = view.probe_keys[i * view.rows + unit.owner];
            if (!view.packed.terms[i].holds(key, position)) return false;
        }
        if (view.term_count == 0 && !kFilters) return true;
        uint32_t row = lookup.row_at(position);
        for (uint32_t i = 0; i < view.term_count; i++) {
            if (!term_holds(view.terms[i], view.probe, unit.owner, lookup.build, row)) return false;
        }
        if constexpr (kFilters) return passes(SinglePair{view.probe, lookup.build, unit.owner, row});
        return true;
    }

    __device__ bool passes(const SinglePair& pair) const {
        FilterMachine<SinglePair> machine;
        auto outcome = machine.run(*view.program, pair);
        if (outcome.undecided & 1) *view.undecided = 1;
        return outcome.passed & 1;
    }

    __device__ bool test(const CandidateUnit& unit, uint32_t number) const {
        uint64_t position = unit.position + number;
        bool match = holds(unit, position);
        if (match && view.matched) view.matched[lookup.row_at(position)] = 1;
        return match;
    }

    __device__ void finish(uint64_t i, const CandidateUnit& unit, uint64_t mask) const {
        window.masks[i] = mask;
        window.owners[i] = unit.owner;
        window.positions[i] = static_cast<uint32_t>(unit.position);
        if (mask) view.found[unit.owner] = 1;
    }
};

// The order keys that the packed terms compare, for every probe row. NULLs have no candidates.
Status find_probe_keys(const WorkContext& context, const ProbeWork& work, uint64_t* keys) {
    const DeviceColumn* probe = work.probe;
    PackedTerms packed = work.packed;
    uint64_t rows = work.rows;
    return for_each(context.handle(), rows * packed.count, [=] __device__(uint64_t i) {
        uint64_t row = i % rows;
        const DeviceColumn& column = probe[packed.terms[i / rows].probe_column];
        keys[i] = column.is_valid(row) ? order_key(column.spec, column.value(row)) : 0;
    });
}

Status count_units(const WorkContext& context, const ProbeWork& work, uint64_t* units) {
    const uint32_t* count = work.candidates.count.data();
    uint32_t least = work.rule == SlotRule::PairsOrNull;
    return for_each(context.handle(), work.rows, [=] __device__(uint64_t row) {
        uint32_t wanted = count[row] / kUnit + (count[row] % kUnit != 0);
        units[row] = wanted > least ? wanted : least;
    });
}

Status test_units(const WorkContext& context, const TestView& test, const LookupView& lookup,
                  const WindowView& window) {
    return test.program
               ? for_each_unit(context.handle(), window.units, UnitTest<true>{test, lookup, window})
               : for_each_unit(context.handle(), window.units, UnitTest<false>{test, lookup, window});
}

// A row without a match has its slot in its last unit.
Status count_unit_slots(const WorkContext& context, const TestView& test, const WindowView& window,
                        bool null_slots) {
    return for_each(context.handle(), window.units, [=] __device__(uint64_t i) {
        uint32_t row = window.owners[i];
        bool last = window.first + i + 1 == test.unit_starts[row + 1];
        window.slots[i] = __popcll(window.masks[i]) + (null_slots && last && !test.found[row]);
    });
}

// The place of the bit number `rank` (from 0) among the set bits of a mask.
__device__ uint32_t select_bit(uint64_t mask, uint64_t rank) {
    for (; rank > 0; rank--) mask &= mask - 1;
    return static_cast<uint32_t>(__ffsll(static_cast<long long>(mask)) - 1);
}

Status expand_units(const WorkContext& context, const LookupView& lookup, const WindowView& window,
                    uint64_t first, uint64_t slots, uint32_t* probe, uint32_t* build) {
    OwnerTiles tiles;
    GPUJOIN_RETURN_IF_FAILED(tiles.find(context, window.slots, window.units, first, slots));
    OwnerView owners = tiles.view();
    return for_each(context.handle(), slots, [=] __device__(uint64_t i) {
        uint64_t slot = first + i;
        uint64_t unit = owners.owner(i);
        uint64_t mask = window.masks[unit];
        probe[i] = window.owners[unit];
        build[i] = mask ? lookup.row_at(uint64_t{window.positions[unit]} +
                                        select_bit(mask, slot - window.slots[unit]))
                        : kNoRow;
    });
}

// The first unit of a window that belongs to a probe row after `probe_row`.
Status find_unit_after(const WorkContext& context, const WindowView& window, uint32_t probe_row,
                       uint64_t* unit) {
    DeviceArray<uint64_t> result;
    GPUJOIN_RETURN_IF_FAILED(result.allocate(context.account, 1, context.handle()));
    uint64_t* to = result.data();
    GPUJOIN_RETURN_IF_FAILED(for_each(context.handle(), 1, [=] __device__(uint64_t) {
        *to = upper_bound(window.owners, window.units, probe_row);
    }));
    return read_back(context, to, unit);
}

class MaskedSource : public WindowSource {
  public:
    explicit MaskedSource(ProbeWork work) : WindowSource(std::move(work)) {}

    Status queue(const WorkContext& context) {
        GPUJOIN_RETURN_IF_FAILED(make_flags(context));
        GPUJOIN_RETURN_IF_FAILED(
            probe_keys_.allocate(context.account, work_.rows * work_.packed.count, context.handle()));
        GPUJOIN_RETURN_IF_FAILED(find_probe_keys(context, work_, probe_keys_.data()));
        GPUJOIN_RETURN_IF_FAILED(units_.prepare(context, work_.rows));
        GPUJOIN_RETURN_IF_FAILED(
            work_.packed.has_tree
                ? count_zones(context, zone_search(), work_.rule == SlotRule::PairsOrNull, units_.counts())
                : count_units(context, work_, units_.counts()));
        return units_.sum(context);
    }

    Status skip_through(const WorkContext& context, uint32_t probe_row) override {
        GPUJOIN_RETURN_IF_FAILED(begin(context));
        GPUJOIN_RETURN_IF_FAILED(units_.skip_to(context, uint64_t{probe_row} + 1));
        if (slots_.left() == 0) return {};
        uint64_t unit = 0;
        GPUJOIN_RETURN_IF_FAILED(find_unit_after(context, window_view(), probe_row, &unit));
        return slots_.skip_to(context, unit);
    }

  private:
    Status begin(const WorkContext& context) override {
        if (units_known_) return {};
        units_known_ = true;
        return units_.finish(context);
    }

    TestView test_view() const {
        bool first_only = work_.rule == SlotRule::Matched || work_.rule == SlotRule::Unmatched;
        return {work_.probe,
                work_.terms,
                work_.term_count,
                work_.packed,
                probe_keys_.data(),
                units_.starts(),
                work_.rows,
                work_.candidates.begin.data(),
                work_.candidates.count.data(),
                found_.data(),
                work_.marks.matched,
                first_only,
                work_.filter.device_program,
                work_.undecided};
    }

    WindowView window_view() {
        return {window_first_,  window_units_,     masks_.data(),
                owners_.data(), positions_.data(), slots_.counts()};
    }

    ZoneSearch zone_search() const {
        return {work_.packed, probe_keys_.data(), work_.rows, work_.candidates.begin.data(),
                work_.candidates.count.data()};
    }

    bool windows_left() const override { return units_.left() > 0; }

    Status test_window(const WorkContext& context, bool with_slots) override {
        window_first_ = units_.take(size_.next(), &window_units_);
        GPUJOIN_RETURN_IF_FAILED(masks_.reserve(context.account, window_units_, context.handle()));
        GPUJOIN_RETURN_IF_FAILED(owners_.reserve(context.account, window_units_, context.handle()));
        GPUJOIN_RETURN_IF_FAILED(positions_.reserve(context.account, window_units_, context.handle()));
        Timer timer;
        if (work_.packed.has_tree)
            GPUJOIN_RETURN_IF_FAILED(list_zones(context, zone_search(), units_.starts(), window_first_,
                                                window_units_, {owners_.data(), positions_.data()}));
        GPUJOIN_RETURN_IF_FAILED(test_units(context, test_view(), work_.lookup, window_view()));
        GPUJOIN_RETURN_IF_FAILED(context.stream.synchronize());
        size_.took(timer.milliseconds());
        GPUJOIN_RETURN_IF_FAILED(note_undecided(context));
        return with_slots ? sum_window(context) : Status{};
    }

    Status sum_window(const WorkContext& context) {
        GPUJOIN_RETURN_IF_FAILED(slots_.prepare(context, window_units_));
        GPUJOIN_RETURN_IF_FAILED(
            count_unit_slots(context, test_view(), window_view(), work_.rule == SlotRule::PairsOrNull));
        GPUJOIN_RETURN_IF_FAILED(slots_.sum(context));
        return slots_.finish(context);
    }

    Status expand(const WorkContext& context, uint64_t first, uint64_t count, uint32_t* probe,
                  uint32_t* build) override {
        return expand_units(context, work_.lookup, window_view(), first, count, probe, build);
    }

    DeviceArray<uint64_t> probe_keys_;
    SlotRun units_;  // units are slots of probe rows
    bool units_known_ = false;
    WindowSize size_{kFirstWindow, 1 << 10, kLargestWindow, kWindowMilliseconds};
    uint64_t window_first_ = 0;
    uint64_t window_units_ = 0;
    DeviceArray<uint64_t> masks_;
    DeviceArray<uint32_t> owners_;
    DeviceArray<uint32_t> positions_;
};

}  // namespace

Status make_masked_source(const WorkContext& context, ProbeWork work, std::unique_ptr<PairSource>* source) {
    auto masked = std::make_unique<MaskedSource>(std::move(work));
    GPUJOIN_RETURN_IF_FAILED(masked->queue(context));
    *source = std::move(masked);
    return {};
}

}  // namespace gpujoin::cuda
