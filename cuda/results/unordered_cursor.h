// The join of one probe batch whose results come in any order and name no probe rows, as a cursor. The sides
// are matched by partitions (radix_join.h) or merged (merge_join.h), which gives pairs of payloads.
//
// Where the sink is device memory and each side gives back just its payloads, these go straight into the
// sink's columns. Else they go to a buffer first: as pairs of row numbers, from which the result writer
// gathers. A payload that is a value then becomes a column of its own, whose row numbers are 0, 1, 2 …
#pragma once

#include <memory>
#include <vector>

#include "cuda/sealed_join.h"
#include "cuda/results/payload_matcher.h"
#include "cuda/columns/probe_columns.h"
#include "cuda/results/result_writer.h"

namespace gpujoin::cuda {

class UnorderedCursor : public Cursor {
  public:
    explicit UnorderedCursor(SealedJoin* join) : join_(join) {}
    ~UnorderedCursor() override;

    // Uploads the batch and prepares its matching.
    Status start(const BatchView& batch);

    Status next(const Sink& sink, ResultBatch* result) override;
    // Probe rows are not named, so none can be left out.
    void skip(uint32_t) override {}

  private:
    Status start_radix(const WorkContext& context, uint64_t rows);
    Status start_merge(const WorkContext& context, uint64_t rows);
    bool writes_direct(const Sink& sink, uint64_t* capacity) const;
    Status write_direct(const WorkContext& context, const Sink& sink, uint64_t capacity, ResultBatch* result);
    Status prepare_side(const WorkContext& context, const PayloadSource& payload, DeviceColumn* column,
                        DeviceArray<std::byte>* values, DeviceArray<uint32_t>* numbers) const;
    Status prepare_buffer(const WorkContext& context);
    Status fill_buffer(const WorkContext& context);

    SealedJoin* const join_;
    StreamLease stream_;
    ProbeColumns probe_;
    std::unique_ptr<PayloadMatcher> matcher_;
    bool matched_all_ = false;
    // The buffer, from the first result that cannot be written straight:
    uint64_t buffer_rows_ = kMaxBatchRows;
    DeviceArray<std::byte> build_values_, probe_values_;
    PairBuffer pairs_;
    std::unique_ptr<ResultWriter> writer_;
};

}  // namespace gpujoin::cuda
