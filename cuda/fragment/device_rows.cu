// Writing rows as they come. A stage gives as many rows at a time as a batch has, so that there is no need to
// keep few of them for larger results.
#include "cuda/fragment/device_rows.h"

#include "cuda/fragment/device_writer.h"

namespace gpujoin::cuda {

namespace {

std::vector<ResultColumn> result_columns(const SinkPlan& plan) {
    std::vector<ResultColumn> columns;
    for (const LiveColumn& input : plan.inputs)
        columns.push_back({input.spec.type, input.spec.nullable != 0});
    return columns;
}

class DeviceRows final : public RowConsumer {
  public:
    DeviceRows(const SinkPlan& plan, BatchWork* work)
        : work_(*work), writer_(result_columns(plan), plan.names_source_rows) {}
    ~DeviceRows() override { (void)work_.use(); }

    Status begin() override {
        rows_ = written_ = 0;
        return work_.begin();
    }

    Status start(std::span<const PickedColumn> inputs, const uint32_t* source_rows, uint32_t rows) override {
        columns_.clear();
        for (const PickedColumn& input : inputs) columns_.push_back(picked_view(input));
        source_rows_ = source_rows;
        rows_ = rows;
        written_ = 0;
        return {};
    }

    Status next(bool, const Sink& sink, ResultBatch* result) override {
        *result = {};
        GPUJOIN_RETURN_IF_FAILED(work_.use());
        if (written_ < rows_)
            GPUJOIN_RETURN_IF_FAILED(writer_.write(work_.context(), columns_, nullptr, source_rows_,
                                                   &written_, rows_, sink, result));
        result->done = written_ == rows_;
        return {};
    }

    void end() override { work_.end(); }

  private:
    BatchWork& work_;
    DeviceWriter writer_;
    std::vector<PickedView> columns_;  // the current rows
    const uint32_t* source_rows_ = nullptr;
    uint32_t rows_ = 0;
    uint32_t written_ = 0;
};

}  // namespace

std::unique_ptr<RowConsumer> make_device_rows(const SinkPlan& plan, BatchWork* work) {
    return std::make_unique<DeviceRows>(plan, work);
}

}  // namespace gpujoin::cuda
