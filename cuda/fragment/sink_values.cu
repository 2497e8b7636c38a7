// Running the programs of a sink, a thread a row. A warp has 32 rows and one program.
#include "cuda/fragment/sink_values.h"

#include "cuda/fragment/sink_rows.cuh"
#include "cuda/work/launch.cuh"
#include "cuda/work/primitives.h"
#include "cuda/work/warp_sum.cuh"

namespace gpujoin::cuda {

namespace {

struct RunPrograms {
    const FilterProgram* programs;
    const uint8_t* is_truth;
    RowPiece piece;
    SinkValuesView out;

    __device__ void operator()(const Warp&, uint64_t unit) const {
        const uint64_t words = piece.words();
        const uint64_t program = unit / words;
        if (piece.wanted_of(unit % words) == 0) return;
        const uint64_t i = unit % words * Warp::kThreads + (threadIdx.x & 31);
        uint32_t truth = 0, null = 0, undecided = 0;
        if (i < piece.rows) {
            const SinkRows<1> row{piece.inputs, {piece.first + i}};
            FilterMachine<SinkRows<1>> machine;
            if (is_truth[program]) {
                const auto found = machine.run_for_truth(programs[program], row);
                truth = found.truth & 1;
                null = found.null & 1;
                undecided = found.undecided & 1;
            } else {
                FilterMachine<SinkRows<1>>::Numbers found;
                machine.run_for_number(programs[program], row, &found);
                out.numbers[program * piece.rows + i] = found.value[0];
                null = found.null & 1;
                undecided = found.undecided & 1;
            }
        }
        const uint32_t truths = __ballot_sync(kAllLanes, truth);
        const uint32_t nulls = __ballot_sync(kAllLanes, null);
        const uint32_t all_undecided = __ballot_sync(kAllLanes, undecided);
        if ((threadIdx.x & 31) > 0) return;
        out.truths[unit] = truths;
        out.nulls[unit] = nulls;
        out.undecided[unit] = all_undecided;
    }
};

// By word: which rows escape nowhere. Inputs are never undecided.
Status find_live(const WorkContext& context, const RowPiece& piece, const SinkValuesView& values,
                 const AggregateSpec* aggregates, uint32_t count, unsigned long long* escaped_rows) {
    return for_each(context.handle(), values.words, [=] __device__(uint64_t word) {
        const uint32_t all = piece.wanted_of(word);
        uint32_t escaped = 0;
        for (uint32_t i = 0; all != 0 && i < count; i++) escaped |= escaped_by(aggregates[i], values, word);
        values.live[word] = all & ~escaped;
        if (escaped & all) atomicAdd(escaped_rows, static_cast<unsigned long long>(__popc(escaped & all)));
    });
}

// Adds up what floats amount to. A warp has some words of one program.
struct AddSizes {
    static constexpr uint64_t kWords = 64;

    RowPiece piece;
    SinkValuesView values;
    const uint16_t* programs;
    uint64_t stretches;
    double* sizes;

    __device__ void operator()(const Warp&, uint64_t unit) const {
        const uint16_t program = programs[unit / stretches];
        const uint64_t begin = unit % stretches * kWords;
        const uint64_t end = begin + kWords < values.words ? begin + kWords : values.words;
        const uint32_t lane = threadIdx.x & 31;
        double size = 0;
        for (uint64_t word = begin; word < end; word++) {
            const uint32_t counted =
                piece.wanted_of(word) & ~values.null(program, word) & ~values.fails(program, word);
            if (!(counted >> lane & 1)) continue;
            const double number = fabs(as_double(values.number(program, word * 32 + lane)));
            if (number <= std::numeric_limits<double>::max()) size += number;
        }
        size = inclusive_warp_sum(size);
        if (lane == 31 && size != 0) atomicAdd(&sizes[unit / stretches], size);
    }
};

// Where the rows of each word that escaped begin in the list; the words are live ones.
Status count_escaped(const WorkContext& context, const RowPiece& piece, const SinkValuesView& values,
                     uint32_t* counts) {
    return for_each(context.handle(), values.words, [=] __device__(uint64_t word) {
        counts[word] = __popc(piece.wanted_of(word) & ~values.live[word]);
    });
}

Status write_escaped(const WorkContext& context, const RowPiece& piece, const SinkValuesView& values,
                     const uint32_t* starts, uint32_t* list) {
    return for_each(context.handle(), values.words, [=] __device__(uint64_t word) {
        uint32_t at = starts[word];
        uint32_t escaped = piece.wanted_of(word) & ~values.live[word];
        for (; escaped != 0; escaped &= escaped - 1)
            list[at++] =
                static_cast<uint32_t>(piece.first + word * 32 + __ffs(static_cast<int>(escaped)) - 1);
    });
}

}  // namespace

// All in one piece, of which there is enough or nothing.
Status SinkValues::make_room(const WorkContext& context, const RowPiece& piece) {
    const uint64_t programs = sink_.plan().values.size();
    const uint64_t words = piece.words();
    const uint64_t figures = 1 + sizes_.size();
    const uint64_t numbers = programs * piece.rows;
    const uint64_t bits = (3 * programs + 1) * words;
    GPUJOIN_RETURN_IF_FAILED(
        memory_.reserve(context.account, figures + numbers + (bits + 1) / 2, context.handle()));
    figures_ = memory_.data();
    auto* next = reinterpret_cast<uint32_t*>(figures_ + figures + numbers);
    view_ = {reinterpret_cast<int64_t*>(figures_ + figures),
             next,
             next + programs * words,
             next + 2 * programs * words,
             next + 3 * programs * words,
             piece.rows,
             words};
    return fill_bytes(context.handle(), figures_, 0, figures);
}

Status SinkValues::run(const WorkContext& context, const RowPiece& piece) {
    GPUJOIN_RETURN_IF_FAILED(make_room(context, piece));
    const uint64_t programs = sink_.plan().values.size();
    GPUJOIN_RETURN_IF_FAILED(for_each_warp(context.handle(), programs * view_.words,
                                           RunPrograms{sink_.programs(), sink_.truth_flags(), piece, view_}));
    const auto aggregates = static_cast<uint32_t>(sink_.may_escape() ? sink_.plan().aggregates.size() : 0);
    GPUJOIN_RETURN_IF_FAILED(find_live(context, piece, view_, sink_.aggregates(), aggregates,
                                       reinterpret_cast<unsigned long long*>(figures_)));
    const uint64_t stretches = (view_.words + AddSizes::kWords - 1) / AddSizes::kWords;
    GPUJOIN_RETURN_IF_FAILED(for_each_warp(context.handle(), sizes_.size() * stretches,
                                           AddSizes{piece, view_, sink_.summed_float_programs(), stretches,
                                                    reinterpret_cast<double*>(figures_ + 1)}));
    return read_figures(context);
}

Status SinkValues::read_figures(const WorkContext& context) {
    escaped_ = 0;
    if (!sink_.may_escape() && sizes_.empty()) return {};
    uint64_t* mailbox = context.stream.mailbox();
    GPUJOIN_CHECK_CUDA(cudaMemcpyAsync(mailbox, figures_, (1 + sizes_.size()) * sizeof(uint64_t),
                                       cudaMemcpyDeviceToHost, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(context.stream.synchronize());
    escaped_ = static_cast<uint32_t>(mailbox[0]);
    for (size_t i = 0; i < sizes_.size(); i++) sizes_[i] = as_double(static_cast<int64_t>(mailbox[1 + i]));
    return {};
}

Status SinkValues::list_escaped(const WorkContext& context, const RowPiece& piece,
                                DeviceArray<uint32_t>* rows) const {
    DeviceArray<uint32_t> starts;
    GPUJOIN_RETURN_IF_FAILED(starts.allocate(context.account, view_.words, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(rows->reserve(context.account, escaped_, context.handle()));
    GPUJOIN_RETURN_IF_FAILED(count_escaped(context, piece, view_, starts.data()));
    GPUJOIN_RETURN_IF_FAILED(exclusive_sum(context.account, context.handle(), starts.data(), view_.words));
    return write_escaped(context, piece, view_, starts.data(), rows->data());
}

}  // namespace gpujoin::cuda
