// A cursor: a probe batch (or a scan of the build side), the source of its pairs, and the writer of its
// results. It has a stream of its own from the device's pool for as long as it lives.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cuda/sealed_join.h"
#include "cuda/columns/probe_columns.h"
#include "cuda/results/result_writer.h"

namespace gpujoin::cuda {

class CudaCursor : public Cursor {
  public:
    explicit CudaCursor(SealedJoin* join) : join_(join) {}
    ~CudaCursor() override;

    // Uploads the batch and begins its lookup, after what the first batches make.
    Status start_probe(const BatchView& batch);
    Status start_scan(bool matched);

    Status next(const Sink& sink, ResultBatch* result) override;
    void skip(uint32_t probe_row) override;

  private:
    Status queue_lookup(const WorkContext& context, uint64_t rows);
    Status apply_skip(const WorkContext& context);

    SealedJoin* const join_;
    StreamLease stream_;
    ProbeColumns probe_;
    std::unique_ptr<PairSource> source_;
    std::unique_ptr<ResultWriter> writer_;
    PairBuffer pairs_;
    bool source_done_ = false;
    std::optional<uint32_t> skip_row_;
};

}  // namespace gpujoin::cuda
