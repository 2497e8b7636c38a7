// The radix join of one probe batch as a cursor. Results come in any order and name no probe rows.
//
// Where the sink is device memory and each side gives back just its payloads, blocks write straight into the
// sink's columns. Else results go to a buffer first: as pairs of row numbers, from which the result writer
// gathers. A payload that is a value then becomes a column of its own, whose row numbers are 0, 1, 2 …
#pragma once

#include <memory>
#include <vector>

#include "cuda/join.h"
#include "cuda/radix_join.h"
#include "cuda/result_writer.h"

namespace gpujoin {

// The payload of a side that gives back the columns `numbers`: the only one's values if they can ride along.
RadixPayload choose_payload(const DeviceColumn* columns, const uint16_t* numbers, uint32_t count);

class RadixCursor : public Cursor {
  public:
    explicit RadixCursor(CudaJoin* join) : join_(join) {}
    ~RadixCursor() override;

    // Partitions the batch and lists the work.
    Status start(const BatchView& batch);

    Status next(const Sink& sink, ResultBatch* result) override;
    // Probe rows are not named, so none can be left out.
    void skip(uint32_t) override {}

  private:
    bool writes_direct(const Sink& sink, uint64_t* capacity) const;
    Status write_direct(const WorkContext& context, const Sink& sink, uint64_t capacity, ResultBatch* result);
    Status prepare_buffer(const WorkContext& context);
    Status fill_buffer(const WorkContext& context);

    CudaJoin* const join_;
    StreamLease stream_;
    std::vector<OwnedColumn> columns_;
    std::vector<DeviceColumn> views_;
    DeviceArray<DeviceColumn> device_views_;
    RadixSide probe_;
    std::unique_ptr<RadixMatcher> matcher_;
    bool matched_all_ = false;
    // The buffer, from the first result that cannot be written straight:
    DeviceArray<std::byte> build_values_, probe_values_;
    PairBuffer pairs_;
    std::unique_ptr<ResultWriter> writer_;
};

}  // namespace gpujoin
