// See replicated_build_reader.h.
#include "engine/replicated/replicated_build_reader.h"

namespace gpujoin {

namespace {

bool is_on_device(const BatchView& batch) {
    return batch.rows > 0 && batch.memory == Memory::Device;
}

}  // namespace

Status ReplicatedBuildReader::next(BatchView* batch) {
    return readers_.size() > 1 ? read_on_devices(batch) : readers_.front()->next(batch);
}

// A reader without rows in device memory is at the end, which is the same for all, or short of memory.
Status ReplicatedBuildReader::read_on_devices(BatchView* batch) {
    for (size_t i = 0; i < readers_.size(); i++) {
        GPUJOIN_RETURN_IF_FAILED(readers_[i]->next(&batches_[i]));
        if (!is_on_device(batches_[i])) return go_on_alone(batch);
        if (batches_[i].rows != batches_[0].rows)
            return failure(Fault::Error, "XX000", "devices have read different kept rows");
    }
    *batch = batches_.front();
    batch->copies = batches_;
    return {};
}

// The first one has the rows that are to come next, or gives them again.
Status ReplicatedBuildReader::go_on_alone(BatchView* batch) {
    const bool has_them = !is_on_device(batches_.front());
    leave_device(!has_them);
    if (!has_them) return readers_.front()->next(batch);
    *batch = batches_.front();
    return {};
}

void ReplicatedBuildReader::leave_device(bool again) {
    readers_.resize(1);
    readers_.front()->leave_device(again);
}

}  // namespace gpujoin
