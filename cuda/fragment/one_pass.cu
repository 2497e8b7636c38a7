// Adding rows to groups that there are, in one pass.
#include "cuda/fragment/one_pass.h"

#include <algorithm>

#include "cuda/fragment/own_totals.cuh"
#include "cuda/fragment/sink_rows.cuh"
#include "cuda/work/kernel.h"
#include "cuda/work/launch.cuh"

namespace gpujoin::cuda {

namespace {

constexpr uint32_t kRows = 4;  // of a thread at a time, which lie a warp apart
constexpr uint32_t kRowsOfWarp = kRows * Warp::kThreads;
constexpr uint32_t kRowsOfStep = kRows * kBlockThreads;
constexpr uint64_t kFewestRowsOfBlock = 4 * kRowsOfStep, kMostRowsOfBlock = 4 * kFewestRowsOfBlock;
constexpr uint32_t kMostPrograms = 16;
constexpr uint64_t kMostSharedBytes = 96u << 10;

// Where rows are added up first.
enum class Place { OfThreads, OfBlock, OfAll };

// What a thread has of its rows: a bit each, and by program what that gives.
struct RowValues {
    int64_t numbers[kMostPrograms][kRows];
    uint32_t truths[kMostPrograms];
    uint32_t nulls[kMostPrograms];
    uint32_t undecided[kMostPrograms];

    // As those of all rows (SinkValuesView).
    __device__ uint32_t fails(uint16_t program, uint64_t) const { return undecided[program]; }
    __device__ uint32_t passed(const AggregateSpec& aggregate, uint64_t) const {
        return aggregate.filter == kNoNumber ? ~0u : truths[aggregate.filter];
    }
};

template <Place kPlace>
struct AddKnownRows {
    KnownGroups known;
    RowPiece piece;
    const FilterProgram* programs;
    const uint8_t* is_truth;
    uint32_t program_count;
    bool may_escape;
    uint64_t rows_of_block;
    uint32_t* left;
    uint32_t* left_count;

    __device__ void operator()(uint64_t block, std::byte* shared) const {
        const OwnTotals own{shared, known.groups};
        begin(own);
        __syncthreads();
        const uint64_t begin_row = block * rows_of_block;
        const uint64_t end_row = min(piece.rows, begin_row + rows_of_block);
        uint32_t left_rows = 0;
        for (uint64_t row = begin_row + threadIdx.x / 32 * kRowsOfWarp; row < end_row; row += kRowsOfStep)
            left_rows += add(row, own);
        if ((threadIdx.x & 31) == 0 && left_rows > 0) atomicAdd(left_count, left_rows);
        __syncthreads();
        end(own);
    }

  private:
    __device__ const TotalView& total(uint32_t number) const { return known.totals[number]; }

    // Rows of a warp, from this one on. Returns how many are left.
    __device__ uint32_t add(uint64_t first, const OwnTotals& own) const {
        uint64_t numbers[kRows];
        uint32_t groups[kRows];
        uint32_t wanted = 0;
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++) {
            const uint64_t row = first + i * Warp::kThreads + (threadIdx.x & 31);
            wanted |= static_cast<uint32_t>(row < piece.rows) << i;
            numbers[i] = piece.first + min(row, piece.rows - 1);
        }
        RowValues values;
        const uint32_t live = wanted & find_groups(numbers, wanted, groups) & ~run_programs(numbers, &values);
        for (uint32_t i = 0; i < known.total_count; i++) {
            const AggregateSpec& spec = total(i).spec;
            uint32_t added = live & values.passed(spec, 0);
            if (spec.value != kNoNumber) added &= ~values.nulls[spec.value];
            add_total_of_rows(i, own, added, groups, spec.value == kNoNumber ? 0 : spec.value, values);
        }
        return write_left(first, wanted & ~live);
    }

    __device__ uint32_t find_groups(const uint64_t (&numbers)[kRows], uint32_t wanted,
                                    uint32_t (&groups)[kRows]) const {
        uint32_t found = wanted, tags[kRows];
        uint64_t slots[kRows];
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++) groups[i] = 0;
        if (known.keys.count == 0) return found;
        uint64_t bits[kRows];
        uint32_t null = 0;
        if (known.is_single) {
            known.single_key.load(numbers, bits, &null);
            GPUJOIN_UNROLL
            for (uint32_t i = 0; i < kRows; i++) tags[i] = known.single_key.tag(bits[i], null >> i & 1);
        } else {
            known.keys.find_tags(numbers, tags);
        }
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++) slots[i] = known.slots.first(tags[i]);
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++) {
            groups[i] = known.slots.find(tags[i], slots[i], [&](uint32_t group) {
                return known.is_single ? known.single_key.is_of(group, tags[i], bits[i], null >> i & 1)
                                       : known.keys.is_owner(numbers[i], group + 1);
            });
            if (groups[i] != GroupSlots::kNoGroup) continue;
            found &= ~(1u << i);
            groups[i] = 0;
        }
        return found;
    }

    // Returns the rows that escape.
    __device__ uint32_t run_programs(const uint64_t (&numbers)[kRows], RowValues* values) const {
        SinkRows<kRows> rows{piece.inputs, {}};
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++) rows.numbers[i] = numbers[i];
        for (uint32_t i = 0; i < program_count; i++) {
            const FilterProgram& program = programs[i];
            FilterMachine<SinkRows<kRows>> machine;
            if (program.steps == 1 && program.step[0].source == FilterSource::Probe) {
                // A column as it is.
                int64_t loaded[kRows];
                values->nulls[i] = rows.fetch(FilterSource::Probe, program.step[0].operand, loaded);
                values->undecided[i] = 0;
                GPUJOIN_UNROLL
                for (uint32_t j = 0; j < kRows; j++) values->numbers[i][j] = loaded[j];
            } else if (is_truth[i]) {
                const auto found = machine.run_for_truth(program, rows);
                values->truths[i] = found.truth;
                values->nulls[i] = found.null;
                values->undecided[i] = found.undecided;
            } else {
                typename FilterMachine<SinkRows<kRows>>::Numbers found;
                machine.run_for_number(program, rows, &found);
                GPUJOIN_UNROLL
                for (uint32_t j = 0; j < kRows; j++) values->numbers[i][j] = found.value[j];
                values->nulls[i] = found.null;
                values->undecided[i] = found.undecided;
            }
        }
        if (!may_escape) return 0;
        uint32_t escaped = 0;
        for (uint32_t i = 0; i < known.total_count; i++) escaped |= escaped_by(total(i).spec, *values, 0);
        return escaped;
    }

    __device__ uint32_t write_left(uint64_t first, uint32_t rows) const {
        uint32_t count = 0;
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++) {
            const uint32_t word = __ballot_sync(kAllLanes, rows >> i & 1);
            const uint64_t number = first / Warp::kThreads + i;
            if ((threadIdx.x & 31) == 0 && number < piece.words()) left[number] = word;
            count += __popc(word);
        }
        return count;
    }

    __device__ void add_total_of_rows(uint32_t number, const OwnTotals& own, uint32_t added,
                                      const uint32_t (&groups)[kRows], uint16_t program,
                                      const RowValues& values) const {
        const TotalView& to = total(number);
        if constexpr (kPlace == Place::OfAll) {
            GPUJOIN_UNROLL
            for (uint32_t i = 0; i < kRows; i++)
                add_rows(to, __ballot_sync(kAllLanes, added >> i & 1), groups[i], values.numbers[program][i]);
            return;
        }
        if (added == 0) return;
        int64_t own_values[kRows];
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++) own_values[i] = to.added(values.numbers[program][i]);
        with_kind_here(to, [&](auto kind) { add_own(kind, number, own, added, groups, own_values); });
        if (!to.null_flags) return;
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++)
            if (added >> i & 1) set_flag(own, number, groups[i]);
    }

    // A thread's rows are often of one group.
    template <typename Kind>
    __device__ void add_own(Kind kind, uint32_t number, const OwnTotals& own, uint32_t added,
                            const uint32_t (&groups)[kRows], const int64_t (&values)[kRows]) const {
        if constexpr (kPlace == Place::OfThreads) {
            uint32_t current = __ffs(static_cast<int>(added)) - 1;
            current = groups[current];
            int64_t word = own.word(number, current);
            GPUJOIN_UNROLL
            for (uint32_t i = 0; i < kRows; i++) {
                if (!(added >> i & 1)) continue;
                if (groups[i] != current) {
                    own.word(number, current) = word;
                    current = groups[i];
                    word = own.word(number, current);
                }
                take(kind, total(number).values, current, word, values[i]);
            }
            own.word(number, current) = word;
        } else {
            GPUJOIN_UNROLL
            for (uint32_t i = 0; i < kRows; i++)
                if (added >> i & 1) take_shared(kind, own, number, groups[i], values[i]);
        }
    }

    __device__ void set_flag(const OwnTotals& own, uint32_t number, uint32_t group) const {
        if constexpr (kPlace == Place::OfThreads)
            own.has_value(known.total_count, number, group) = 1;
        else
            own.part(number, 3, group) = 1;
    }
    __device__ bool flag(const OwnTotals& own, uint32_t number, uint32_t group) const {
        if constexpr (kPlace == Place::OfThreads) return own.has_value(known.total_count, number, group);
        return own.part(number, 3, group);
    }

    __device__ void begin(const OwnTotals& own) const {
        if constexpr (kPlace == Place::OfAll) return;
        const uint32_t count = known.total_count * known.groups;
        if constexpr (kPlace == Place::OfThreads) {
            for (uint32_t i = 0; i < count; i++)
                own.word(i / known.groups, i % known.groups) = total(i / known.groups).nothing();
            for (uint32_t i = threadIdx.x; i < count; i += kBlockThreads)
                own.has_value(known.total_count, i / known.groups, i % known.groups) = 0;
        } else {
            for (uint32_t i = threadIdx.x; i < count; i += kBlockThreads) {
                const uint32_t number = i / known.groups, group = i % known.groups;
                for (uint32_t j = total(number).is_extreme() ? 3 : 0; j < 4; j++)
                    own.part(number, j, group) = 0;
                if (total(number).is_extreme()) own.extreme(number, group) = total(number).nothing();
            }
        }
    }

    __device__ void end(const OwnTotals& own) const {
        if constexpr (kPlace == Place::OfAll) return;
        const uint32_t count = known.total_count * known.groups;
        constexpr bool is_of_threads = kPlace == Place::OfThreads;
        constexpr uint32_t kTogether = is_of_threads ? Warp::kThreads : 1;
        for (uint32_t i = threadIdx.x / kTogether; i < count; i += kBlockThreads / kTogether) {
            const uint32_t number = i / known.groups, group = i % known.groups;
            const TotalView& to = total(number);
            with_kind_here(to, [&](auto kind) {
                using Kind = decltype(kind);
                typename Kind::Part part;
                if constexpr (is_of_threads)
                    part = sum_up(kind, &own.word(number, group) - threadIdx.x);
                else
                    part = own_part(kind, own, number, group);
                if (threadIdx.x % kTogether == 0) Kind::add(to.values, group, part);
            });
            if (threadIdx.x % kTogether == 0 && to.null_flags && flag(own, number, group))
                to.null_flags[group] = 0;
        }
    }
};

template <Place kPlace>
Status launch(const WorkContext& context, AddKnownRows<kPlace> body, uint64_t shared_bytes) {
    // So many rows that what is the block's own is begun and ended for many times as many.
    const uint64_t rows = kPlace == Place::OfBlock ? uint64_t{16} * body.known.groups : 0;
    body.rows_of_block = std::clamp((rows + kRowsOfStep - 1) / kRowsOfStep * kRowsOfStep, kFewestRowsOfBlock,
                                    kMostRowsOfBlock);
    const uint64_t blocks = (body.piece.rows + body.rows_of_block - 1) / body.rows_of_block;
    return for_each_block_with_memory(context.handle(), blocks, shared_bytes, body);
}

template <Place kPlace>
Status add_at(const WorkContext& context, const DeviceSink& sink, const RowPiece& piece,
              const KnownGroups& known, uint32_t* left, uint32_t* left_count, uint64_t shared_bytes) {
    AddKnownRows<kPlace> body{};
    body.known = known;
    body.piece = piece;
    body.programs = sink.programs();
    body.is_truth = sink.truth_flags();
    body.program_count = static_cast<uint32_t>(sink.plan().values.size());
    body.may_escape = sink.may_escape();
    body.left = left;
    body.left_count = left_count;
    return launch(context, body, shared_bytes);
}

}  // namespace

bool goes_in_one_pass(const DeviceSink& sink) {
    return sink.summed_floats().empty() && sink.plan().values.size() <= kMostPrograms;
}

Status add_in_one_pass(const WorkContext& context, const DeviceSink& sink, const RowPiece& piece,
                       const KnownGroups& known, uint32_t* left, uint32_t* left_count) {
    uint64_t bytes = 0;
    GPUJOIN_RETURN_IF_FAILED(find_shared_memory(&bytes));
    bytes = std::min(bytes, kMostSharedBytes);
    const uint64_t totals = uint64_t{known.total_count} * known.groups;
    const uint64_t of_threads = totals * OwnTotals::kBytesOfThreads,
                   of_block = totals * OwnTotals::kBytesOfBlock;
    if (of_threads <= bytes)
        return add_at<Place::OfThreads>(context, sink, piece, known, left, left_count, of_threads);
    if (of_block <= bytes)
        return add_at<Place::OfBlock>(context, sink, piece, known, left, left_count, of_block);
    return add_at<Place::OfAll>(context, sink, piece, known, left, left_count, 0);
}

}  // namespace gpujoin::cuda
