// What a sink is, found once and uploaded.
#include "cuda/fragment/device_sink.h"

#include <numeric>

namespace gpujoin::cuda {

DeviceSink::DeviceSink(const SinkPlan& plan) : plan_(plan), summed_floats_(gpujoin::summed_floats(plan)) {
    for (const FilterProgram& program : plan.values) {
        is_truth_.push_back(kind_of(program) == ValueKind::Truth);
        may_escape_ |= may_be_undecided(program);
    }
}

Status DeviceSink::upload(const WorkContext& context) {
    const UploadContext upload = context.upload();
    GPUJOIN_RETURN_IF_FAILED(upload_vector(upload, plan_.values, &device_programs_));
    GPUJOIN_RETURN_IF_FAILED(upload_vector(upload, is_truth_, &device_truths_));
    GPUJOIN_RETURN_IF_FAILED(upload_vector(upload, plan_.aggregates, &device_aggregates_));
    GPUJOIN_RETURN_IF_FAILED(upload_vector(upload, plan_.keys, &device_keys_));
    std::vector<uint16_t> first_columns(plan_.keys.size());
    std::iota(first_columns.begin(), first_columns.end(), uint16_t{0});
    GPUJOIN_RETURN_IF_FAILED(upload_vector(upload, first_columns, &device_keys_of_groups_));
    GPUJOIN_RETURN_IF_FAILED(upload_vector(upload, summed_floats_, &device_summed_floats_));
    return context.stream.synchronize();
}

}  // namespace gpujoin::cuda
