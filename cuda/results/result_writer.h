// Writing pairs into a sink: row numbers, then the values of the output columns gathered by row, cut where
// the sink is full.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/results/pair_source.h"
#include "engine/engine.h"
#include "engine/result_layout.h"

namespace gpujoin::cuda {

// A column of the result and where its values come from.
struct OutputColumn {
    DeviceColumn source;
    bool from_probe;  // a carried column
    ResultColumn shape;
};

class ResultWriter {
  public:
    // build, probe: views of all columns of each side, of which the probe side may have none; probe is null
    // in scans of the build side. row_data: bytes of Bytes columns a build row has on average. held_values:
    // pairs have the value of the one build column, of 4 bytes and not NULL, for its row.
    ResultWriter(const JoinSpec& spec, const DeviceColumn* build, const std::vector<DeviceColumn>* probe,
                 uint64_t row_data, bool held_values = false);

    // How many pairs to have ready for a sink; at least 1.
    uint64_t wanted_pairs(uint64_t sink_bytes) const;

    // Writes as many of the pairs as fit and takes them out of the buffer; complete on return. Sets
    // bytes_needed where not even one fits.
    Status write(const WorkContext& context, PairBuffer* pairs, const Sink& sink, ResultBatch* result);

  private:
    Status measure(const WorkContext& context, const PairBuffer& pairs, uint64_t budget, uint64_t* rows,
                   uint64_t* needed);
    Status gather(const WorkContext& context, const PairBuffer& pairs, const ResultBatch& result,
                  std::byte* target) const;

    std::vector<OutputColumn> outputs_;
    std::vector<ResultColumn> shapes_;
    ResultShape shape_;
    bool probe_rows_;
    bool build_rows_;
    bool held_values_;
    uint64_t row_data_;
    uint64_t measured_ = 0;              // pairs that data_starts_ is for
    DeviceArray<uint64_t> data_starts_;  // (measured_ + 1) for each Bytes column
    std::vector<uint64_t> data_bytes_;   // by output: of the rows that fit
    DeviceArray<std::byte> staging_;
};

}  // namespace gpujoin::cuda
