// SinkValues: the values that a sink's programs give for some rows, and which of these rows escape.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/fragment/device_sink.h"
#include "cuda/fragment/picked_view.cuh"

namespace gpujoin::cuda {

// Some of the current rows. inputs are on the device, and so is wanted.
struct RowPiece {
    const PickedView* inputs;
    uint64_t first;
    uint64_t rows;
    const uint32_t* wanted = nullptr;  // words of bits: the rows that count; nullptr: all of them
    uint64_t wanted_rows = 0;          // at most, where there are such words

    uint64_t most_wanted() const { return wanted && wanted_rows < rows ? wanted_rows : rows; }
    GPUJOIN_HD uint64_t words() const { return (rows + 31) / 32; }
    GPUJOIN_HD uint32_t wanted_of(uint64_t word) const {
        if (wanted) return wanted[word];
        const uint64_t left = rows - word * 32;
        return left < 32 ? (1u << left) - 1 : ~0u;
    }
};

// As kernels see them: by program a number a row, and words of bits, one for each 32 rows. Rows are counted
// from the piece's first one on.
struct SinkValuesView {
    int64_t* numbers;
    uint32_t* truths;
    uint32_t* nulls;
    uint32_t* undecided;
    uint32_t* live;  // the rows that count and do not escape
    uint64_t rows;
    uint64_t words;

    GPUJOIN_HD int64_t number(uint16_t program, uint64_t i) const { return numbers[program * rows + i]; }
    GPUJOIN_HD uint32_t truth(uint16_t program, uint64_t word) const {
        return truths[program * words + word];
    }
    GPUJOIN_HD uint32_t null(uint16_t program, uint64_t word) const { return nulls[program * words + word]; }
    GPUJOIN_HD uint32_t fails(uint16_t program, uint64_t word) const {
        return undecided[program * words + word];
    }
    // Of those of the rows that an aggregate looks at at all.
    GPUJOIN_HD uint32_t passed(const AggregateSpec& aggregate, uint64_t word) const {
        return aggregate.filter == kNoNumber ? ~0u : truth(aggregate.filter, word);
    }
};

// Which rows of a word escape because of an aggregate.
template <typename Values>
GPUJOIN_HD uint32_t escaped_by(const AggregateSpec& aggregate, const Values& values, uint64_t word) {
    uint32_t escaped = aggregate.filter == kNoNumber ? 0 : values.fails(aggregate.filter, word);
    if (aggregate.function != AggregateFunction::Any && aggregate.value != kNoNumber)
        escaped |= values.fails(aggregate.value, word) & values.passed(aggregate, word);
    return escaped;
}

class SinkValues {
  public:
    explicit SinkValues(const DeviceSink& sink) : sink_(sink), sizes_(sink.summed_floats().size()) {}

    // Runs the programs over a piece. Waits for the stream where anything is to be known of it.
    Status run(const WorkContext& context, const RowPiece& piece);
    const SinkValuesView& view() const { return view_; }

    uint32_t escaped() const { return escaped_; }
    // Lists the rows that escaped, in their order, as they are numbered in the inputs.
    Status list_escaped(const WorkContext& context, const RowPiece& piece, DeviceArray<uint32_t>* rows) const;
    // By program that is summed as floats: what the finite values amount to, without their signs.
    const std::vector<double>& sizes() const { return sizes_; }

    void release() { memory_.reset(); }

  private:
    Status make_room(const WorkContext& context, const RowPiece& piece);
    Status read_figures(const WorkContext& context);

    const DeviceSink& sink_;
    DeviceArray<uint64_t> memory_;
    SinkValuesView view_{};
    uint64_t* figures_ = nullptr;  // how many escaped, then the sizes
    uint32_t escaped_ = 0;
    std::vector<double> sizes_;
};

}  // namespace gpujoin::cuda
