// What can be fused, and who reads what.
#include "cuda/fragment/fused_chain.h"

#include <algorithm>

#include "cuda/join.h"

namespace gpujoin::cuda {

namespace {

// A probe row comes out once or not at all, as one lookup says.
bool can_be_fused(const SealedJoin& join) {
    if (!join.is_looked_up_by_key()) return false;
    return rows_of(join.spec.kind).pairs ? join.lookup.unique() : join.spec.outputs == 0;
}

bool has_one_origin(const StagePlan& stage) {
    return std::ranges::all_of(
        stage.probe, [&](const LiveColumn& column) { return column.origin == stage.probe.front().origin; });
}

// Whether it is known of which build rows the rows are that come out, or what their only column is.
bool finds_columns(const SealedJoin& join) {
    return rows_of(join.spec.kind).pairs;
}

}  // namespace

void FusedChain::open(const FragmentPlan& plan, std::span<const std::unique_ptr<Join>> joins) {
    plan_ = &plan;
    for (const auto& join : joins) joins_.push_back(&static_cast<CudaJoin&>(*join).sealed());
    columns_.resize(joins.size());
}

uint32_t FusedChain::fused_stages() const {
    uint32_t fused = 0;
    for (; fused < stages() && !lacks_memory_; fused++) {
        if (!can_be_fused(join(fused)) || !has_one_origin(stage(fused))) break;
        const uint16_t origin = origin_of_key(fused);
        if (origin > 0 && !finds_columns(join(origin - 1u))) break;
    }
    return fused;
}

bool FusedChain::writes_columns() const {
    return std::ranges::any_of(joins_, [](const SealedJoin* join) {
        return rows_of(join->spec.kind).unmatched_probe_rows && join->spec.outputs > 0;
    });
}

std::vector<bool> FusedChain::read_behind(uint32_t stages, size_t number) const {
    std::vector<bool> is_read(join(number).spec.outputs);
    auto read = [&](const LiveColumn& column) {
        if (column.origin == number + 1) is_read[column.column] = true;
    };
    for (size_t later = stages; later < this->stages(); later++)
        std::ranges::for_each(stage(later).probe, read);
    std::ranges::for_each(plan_->sink.inputs, read);
    if (has_top_rows(plan_->sink)) read(plan_->sink.top.key);
    return is_read;
}

std::shared_ptr<PickableColumns> FusedChain::columns(size_t number) {
    const std::lock_guard lock(mutex_);
    if (!columns_[number]) columns_[number] = std::make_shared<PickableColumns>();
    return columns_[number];
}

void FusedChain::give_up() {
    lacks_memory_ = true;
    const std::lock_guard lock(mutex_);
    for (auto& columns : columns_) columns.reset();
}

}  // namespace gpujoin::cuda
