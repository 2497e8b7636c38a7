// Adding rows to their groups in one pass.
#include "cuda/fragment/one_pass.h"

#include <algorithm>

#include "cuda/fragment/own_totals.cuh"
#include "cuda/fragment/row_values.cuh"
#include "cuda/work/kernel.h"
#include "cuda/work/launch.cuh"

namespace gpujoin::cuda {

namespace {

constexpr uint32_t kRows = 4;  // of a thread at a time, which lie a warp apart
constexpr uint32_t kRowsOfWarp = kRows * Warp::kThreads;
constexpr uint32_t kRowsOfStep = kRows * kBlockThreads;
constexpr uint64_t kFewestRowsOfBlock = 4 * kRowsOfStep, kMostRowsOfBlock = 64 * kRowsOfStep;
constexpr uint64_t kEnoughBlocks = 1024;
constexpr uint64_t kMostSharedBytes = 96u << 10;
constexpr uint32_t kAllRows = (1u << kRows) - 1;

// Where rows are added up first.
enum class Place { OfThreads, OfBlock, OfAll };

// Groups: KnownGroups, or GrowingGroups at the place of all. Values: ProgramValues or ColumnValues
// (row_values.cuh).
template <Place kPlace, typename Groups, typename Values>
struct AddInOnePass {
    Groups all_groups;
    RowPiece piece;
    Values values;
    uint32_t total_count;
    uint64_t rows_of_block;
    uint32_t* left;
    uint32_t* left_count;

    __device__ void operator()(uint64_t block, std::byte* shared) const {
        const OwnTotals own{shared, all_groups.count};
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
    __device__ const TotalView& total(uint32_t number) const { return values.total(number); }

    // Rows of a warp, from this one on. Returns how many are left.
    __device__ uint32_t add(uint64_t first, const OwnTotals& own) const {
        uint64_t numbers[kRows];
        const uint32_t wanted = number_rows(first, numbers);
        uint32_t groups[kRows];
        typename Values::OfRows of_rows;
        uint32_t live = wanted & ~values.find_escaped(numbers, total_count, &of_rows);
        live = all_groups.find(numbers, live, groups);
        bool is_one_group = live == kAllRows;
        GPUJOIN_UNROLL
        for (uint32_t i = 1; i < kRows; i++) is_one_group &= groups[i] == groups[0];
        for (uint32_t i = 0; i < total_count; i++) {
            int64_t loaded[kRows];
            const uint32_t added = live & values.find(i, numbers, of_rows, loaded);
            add_total_of_rows(i, own, added, groups, is_one_group && added == kAllRows, loaded);
        }
        return write_left(first, wanted & ~live);
    }

    // Returns which there are.
    __device__ uint32_t number_rows(uint64_t first, uint64_t (&numbers)[kRows]) const {
        const uint64_t own = first + (threadIdx.x & 31);
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++) numbers[i] = piece.first + own + i * Warp::kThreads;
        if (first + kRowsOfWarp <= piece.rows) return kAllRows;
        uint32_t wanted = 0;
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++) {
            wanted |= static_cast<uint32_t>(own + i * Warp::kThreads < piece.rows) << i;
            numbers[i] = min(numbers[i], piece.first + piece.rows - 1);
        }
        return wanted;
    }

    // The words are zero before.
    __device__ uint32_t write_left(uint64_t first, uint32_t rows) const {
        if (!__any_sync(kAllLanes, rows != 0)) return 0;
        uint32_t count = 0;
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++) {
            const uint32_t word = __ballot_sync(kAllLanes, rows >> i & 1);
            const uint64_t number = first / Warp::kThreads + i;
            if ((threadIdx.x & 31) == 0 && word != 0) left[number] = word;
            count += __popc(word);
        }
        return count;
    }

    // are_one: all of a thread's rows are added, to one group.
    __device__ void add_total_of_rows(uint32_t number, const OwnTotals& own, uint32_t added,
                                      const uint32_t (&groups)[kRows], bool are_one,
                                      int64_t (&loaded)[kRows]) const {
        const TotalView& to = total(number);
        if constexpr (kPlace == Place::OfAll) {
            GPUJOIN_UNROLL
            for (uint32_t i = 0; i < kRows; i++)
                add_rows(to, __ballot_sync(kAllLanes, added >> i & 1), groups[i], loaded[i]);
            return;
        }
        if (added == 0) return;
        if (to.is_float) {
            GPUJOIN_UNROLL
            for (uint32_t i = 0; i < kRows; i++) loaded[i] = to.added(loaded[i]);
        }
        with_kind_here(to, [&](auto kind) { add_own(kind, number, own, added, groups, are_one, loaded); });
        if (!to.notes_values()) return;
        if (are_one) return set_flag(own, number, groups[0]);
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kRows; i++)
            if (added >> i & 1) set_flag(own, number, groups[i]);
    }

    template <typename Kind>
    __device__ void add_own(Kind kind, uint32_t number, const OwnTotals& own, uint32_t added,
                            const uint32_t (&groups)[kRows], bool are_one,
                            const int64_t (&loaded)[kRows]) const {
        if constexpr (kPlace == Place::OfBlock) {
            GPUJOIN_UNROLL
            for (uint32_t i = 0; i < kRows; i++)
                if (added >> i & 1) take_shared(kind, own, number, groups[i], loaded[i]);
        } else if (are_one) {
            int64_t word = own.word(number, groups[0]);
            GPUJOIN_UNROLL
            for (uint32_t i = 0; i < kRows; i++) take(kind, total(number).place, groups[0], word, loaded[i]);
            own.word(number, groups[0]) = word;
        } else {
            GPUJOIN_UNROLL
            for (uint32_t i = 0; i < kRows; i++)
                if (added >> i & 1)
                    take(kind, total(number).place, groups[i], own.word(number, groups[i]), loaded[i]);
        }
    }

    __device__ void set_flag(const OwnTotals& own, uint32_t number, uint32_t group) const {
        if constexpr (kPlace == Place::OfThreads)
            own.has_value(total_count, number, group) = 1;
        else
            own.part(number, 3, group) = 1;
    }
    __device__ bool flag(const OwnTotals& own, uint32_t number, uint32_t group) const {
        if constexpr (kPlace == Place::OfThreads) return own.has_value(total_count, number, group);
        return own.part(number, 3, group);
    }

    __device__ void begin(const OwnTotals& own) const {
        if constexpr (kPlace == Place::OfAll) return;
        const uint32_t count = total_count * all_groups.count;
        if constexpr (kPlace == Place::OfThreads) {
            for (uint32_t i = 0; i < count; i++)
                own.word(i / all_groups.count, i % all_groups.count) = total(i / all_groups.count).nothing();
            for (uint32_t i = threadIdx.x; i < count; i += kBlockThreads)
                own.has_value(total_count, i / all_groups.count, i % all_groups.count) = 0;
        } else {
            for (uint32_t i = threadIdx.x; i < count; i += kBlockThreads) {
                const uint32_t number = i / all_groups.count, group = i % all_groups.count;
                for (uint32_t j = total(number).is_extreme() ? 3 : 0; j < 4; j++)
                    own.part(number, j, group) = 0;
                if (total(number).is_extreme()) own.extreme(number, group) = total(number).nothing();
            }
        }
    }

    __device__ void end(const OwnTotals& own) const {
        if constexpr (kPlace == Place::OfAll) return;
        const uint32_t count = total_count * all_groups.count;
        constexpr bool is_of_threads = kPlace == Place::OfThreads;
        constexpr uint32_t kTogether = is_of_threads ? Warp::kThreads : 1;
        for (uint32_t i = threadIdx.x / kTogether; i < count; i += kBlockThreads / kTogether) {
            const uint32_t number = i / all_groups.count, group = i % all_groups.count;
            const TotalView& to = total(number);
            with_kind_here(to, [&](auto kind) {
                using Kind = decltype(kind);
                typename Kind::Part part;
                if constexpr (is_of_threads)
                    part = sum_up(kind, &own.word(number, group) - threadIdx.x);
                else
                    part = own_part(kind, own, number, group);
                if (threadIdx.x % kTogether == 0) Kind::add(to.place, group, part);
            });
            if (threadIdx.x % kTogether == 0 && to.notes_values() && flag(own, number, group))
                to.null_flags[group] = 0;
        }
    }
};

// So many that what is the block's own is begun and ended seldom: as many as leave enough blocks, but not
// much fewer than it has groups, nor so few that blocks are small. Blocks without anything of their own may
// be as small as they can.
uint64_t rows_of_block(uint64_t rows, Place place, uint64_t groups) {
    uint64_t fewest = kFewestRowsOfBlock;
    if (place == Place::OfBlock) fewest = std::min(std::max(4 * groups, fewest), 4 * kFewestRowsOfBlock);
    if (place == Place::OfAll) fewest = kRowsOfStep;
    const uint64_t wanted = std::clamp(rows / kEnoughBlocks, fewest, kMostRowsOfBlock);
    return (wanted + kRowsOfStep - 1) / kRowsOfStep * kRowsOfStep;
}

template <Place kPlace, typename Groups, typename Values>
Status launch(const WorkContext& context, AddInOnePass<kPlace, Groups, Values> body, uint64_t shared_bytes) {
    body.rows_of_block = rows_of_block(body.piece.rows, kPlace, body.all_groups.count);
    const uint64_t blocks = (body.piece.rows + body.rows_of_block - 1) / body.rows_of_block;
    return for_each_block_with_memory(context.handle(), blocks, shared_bytes, body);
}

Status find_own_memory(uint64_t* bytes) {
    GPUJOIN_RETURN_IF_FAILED(find_shared_memory(bytes));
    *bytes = std::min(*bytes, kMostSharedBytes);
    return {};
}

template <typename Values>
Status add_values(const WorkContext& context, const RowPiece& piece, const KnownGroups& groups,
                  const Values& values, uint32_t total_count, uint32_t* left, uint32_t* left_count) {
    uint64_t bytes = 0;
    GPUJOIN_RETURN_IF_FAILED(find_own_memory(&bytes));
    const uint64_t totals = uint64_t{total_count} * groups.count;
    const uint64_t of_threads = totals * OwnTotals::kBytesOfThreads,
                   of_block = totals * OwnTotals::kBytesOfBlock;
    auto add_at = [&]<Place kPlace>(uint64_t shared_bytes) {
        return launch(context,
                      AddInOnePass<kPlace, KnownGroups, Values>{groups, piece, values, total_count, 0, left,
                                                                left_count},
                      shared_bytes);
    };
    if (of_threads <= bytes) return add_at.template operator()<Place::OfThreads>(of_threads);
    if (of_block <= bytes) return add_at.template operator()<Place::OfBlock>(of_block);
    return add_at.template operator()<Place::OfAll>(0);
}

template <typename Values>
Status add_values(const WorkContext& context, const RowPiece& piece, const GrowingGroups& groups,
                  const Values& values, uint32_t total_count, uint32_t* left, uint32_t* left_count) {
    return launch(context,
                  AddInOnePass<Place::OfAll, GrowingGroups, Values>{groups, piece, values, total_count, 0,
                                                                    left, left_count},
                  0);
}

// Whether the totals are of columns as they are; these, if so.
bool find_columns(const SinkPlan& plan, std::span<const PickedView> inputs, std::span<const TotalView> totals,
                  ColumnValues<kRows>* columns) {
    if (totals.size() > ColumnValues<kRows>::kMostTotals) return false;
    for (size_t i = 0; i < totals.size(); i++) {
        columns->totals[i] = totals[i];
        const AggregateSpec& spec = totals[i].spec;
        if (spec.filter != kNoNumber) return false;
        if (spec.value == kNoNumber) continue;
        const FilterProgram& program = plan.values[spec.value];
        if (!is_column(program)) return false;
        columns->columns[i] = inputs[program.step[0].operand];
    }
    return true;
}

template <typename Groups>
Status add_to(const WorkContext& context, const DeviceSink& sink, const RowPiece& piece,
              std::span<const PickedView> inputs, const Groups& groups, const KnownTotals& totals,
              uint32_t* left, uint32_t* left_count) {
    ColumnValues<kRows> columns{};
    if (find_columns(sink.plan(), inputs, {totals.on_host, totals.count}, &columns))
        return add_values(context, piece, groups, columns, totals.count, left, left_count);
    const ProgramValues<kRows> programs{piece.inputs,       sink.programs(),
                                        sink.truth_flags(), static_cast<uint32_t>(sink.plan().values.size()),
                                        sink.may_escape(),  totals.on_device};
    return add_values(context, piece, groups, programs, totals.count, left, left_count);
}

}  // namespace

bool goes_in_one_pass(const DeviceSink& sink) {
    return sink.summed_floats().empty() && sink.plan().values.size() <= ProgramValues<kRows>::kMostPrograms;
}

Status have_own_totals(uint64_t groups, uint64_t totals, bool* do_so) {
    uint64_t bytes = 0;
    GPUJOIN_RETURN_IF_FAILED(find_own_memory(&bytes));
    *do_so = groups * totals * OwnTotals::kBytesOfBlock <= bytes;
    return {};
}

Status add_in_one_pass(const WorkContext& context, const DeviceSink& sink, const RowPiece& piece,
                       std::span<const PickedView> inputs, const KnownGroups& groups,
                       const KnownTotals& totals, uint32_t* left, uint32_t* left_count) {
    return add_to(context, sink, piece, inputs, groups, totals, left, left_count);
}

Status add_in_one_pass(const WorkContext& context, const DeviceSink& sink, const RowPiece& piece,
                       std::span<const PickedView> inputs, const GrowingGroups& groups,
                       const KnownTotals& totals, uint32_t* left, uint32_t* left_count) {
    return add_to(context, sink, piece, inputs, groups, totals, left, left_count);
}

}  // namespace gpujoin::cuda
