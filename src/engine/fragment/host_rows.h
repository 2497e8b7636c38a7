// HostRows: rows of the last stage in host memory, written for the client. Few of them at a time, which is
// what selective joins give, are kept until there are enough for a result that is worth a message.
#pragma once

#include <vector>

#include "engine/fragment/host_writer.h"
#include "engine/fragment/row_store.h"

namespace gpujoin {

class HostRows final : public RowConsumer {
  public:
    HostRows(const SinkPlan& plan, Ledger* ledger);

    Status begin() override;
    Status start(std::span<const PickedColumn> inputs, const uint32_t* source_rows, uint32_t rows) override;
    Status next(bool last, const Sink& sink, ResultBatch* result) override;
    void end() override {}

  private:
    void settle(bool last);
    bool keep();
    uint64_t data_bytes() const;

    RowStore kept_;  // numbers of source rows, then the inputs
    HostWriter writer_;
    std::vector<HostColumn> columns_;       // the current rows
    std::vector<HostColumn> kept_columns_;  // while those kept are written
    const uint32_t* source_rows_ = nullptr;
    uint32_t rows_ = 0;
    uint32_t written_ = 0;
    uint32_t kept_written_ = 0;
    bool is_settled_ = true;    // whether the current rows are kept or written where they are
    bool writes_kept_ = false;  // first of all
};

}  // namespace gpujoin
