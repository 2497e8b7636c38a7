// What a join has for its cursors.
#include "cuda/sealed_join.h"

#include <algorithm>

#include "cuda/index/range_sample.h"
#include "engine/algorithm.h"
#include "engine/turn.h"

namespace gpujoin::cuda {

std::vector<uint16_t> required_columns(const JoinSpec& spec, bool build) {
    std::vector<uint16_t> numbers;
    auto add = [&](const Term* terms, uint32_t count) {
        for (uint32_t i = 0; i < count; i++) {
            uint16_t number = build ? terms[i].build_column : terms[i].probe_column;
            if ((build ? spec.build : spec.probe)[number].nullable) numbers.push_back(number);
        }
    };
    add(spec.equality, spec.equalities);
    add(spec.range, spec.ranges);
    add(spec.filter, spec.filters);
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
}

SealedJoin::SealedJoin(Device* device, const JoinSpec& spec, const Limits& limits)
    : device(device),
      spec(spec),
      limits(limits),
      account(&device->pool(), limits.device_memory),
      build({this->spec.build, this->spec.build_columns}) {}

SealedJoin::~SealedJoin() {
    (void)device->use();
}

WorkContext SealedJoin::work(const StreamLease& stream) {
    return {account, device->transfer(), stream, limits.cancel};
}

Status SealedJoin::acquire_stream(const WorkSize& size, StreamLease* stream) {
    const Turn* turn = Turn::current();
    bool urgent = turn && turn->is_quick() && size.is_small();
    return stream->acquire(&device->streams(), urgent ? Priority::Urgent : Priority::Ordinary);
}

WorkSize SealedJoin::size_of_probe(uint64_t rows) const {
    return cuda::size_of_probe(plan, rows, build.rows(), lookup_made);
}

SpanInput SealedJoin::build_input() const {
    return {{build_views.data(), build_columns.data()}, required_of(true, build_views.data()), build.rows()};
}

// What was built by half is given back: another batch may try again, with more luck.
Status SealedJoin::build_lookup(const WorkContext& context, const JoinPlan& plan) {
    Status status = lookup.build(context, spec, plan, layout, build_input(), lookup_payload());
    if (!status.ok()) lookup = {};
    lookup_made = status.ok();
    return status;
}

// Batches that come meanwhile wait for it. It is complete, not only queued, when the lock is released: other
// streams may use it.
Status SealedJoin::make_late_lookup(const WorkContext& context, const DeviceColumn* probe, uint64_t rows) {
    if (lookup_made) return {};
    std::unique_lock lock = lock_in_turn(lookup_mutex, limits.cancel);
    AddTime timer(&counters.seal_ns);
    GPUJOIN_RETURN_IF_FAILED(check_cancelled(limits.cancel));
    if (lookup_made) return {};
    std::optional<uint16_t> column;
    if (plan.chooses_late)
        GPUJOIN_RETURN_IF_FAILED(choose_range_column(spec, sampled_side(context, probe, rows),
                                                     sampled_side(context, build_views.data(), build.rows()),
                                                     &column.emplace()));
    GPUJOIN_RETURN_IF_FAILED(
        build_lookup(context, plan_join(spec, build.rows(), has_exact_sort_key(layout), column)));
    counters.peak_seal_memory = account.peak();
    return {};
}

RequiredColumns SealedJoin::required_of(bool build, const DeviceColumn* views) const {
    std::vector<uint16_t> numbers = required_columns(spec, build);
    bool nulls = std::any_of(numbers.begin(), numbers.end(),
                             [=](uint16_t number) { return views[number].valid != nullptr; });
    return nulls ? required[build] : RequiredColumns{};
}

RadixInput SealedJoin::radix_input(bool build, const DeviceColumn* views, const DeviceColumn* columns,
                                   uint64_t rows) const {
    RadixInput input{layout, build, columns, nullptr, 0, required_of(build, views), rows};
    if (layout.parts > 1) return input;
    const KeyPart& part = layout.part[0];
    const DeviceColumn& column = views[build ? part.build_column : part.probe_column];
    bool integer = column.spec.order == ValueOrder::Signed || column.spec.order == ValueOrder::Unsigned;
    bool placed = integer && column.width == sizeof(uint64_t) && layout.bytes == sizeof(uint32_t);
    if (layout.by_place ? placed : column.width == layout.bytes) input.plain_keys = column.values;
    // The order key of an integer's order key is the integer.
    uint64_t first = layout.places.part[0].first;
    input.plain_first = order_key(column.spec, {reinterpret_cast<const std::byte*>(&first), sizeof first});
    return input;
}

bool SealedJoin::merges_unordered() const {
    return plan.merge && gives_any_order(spec) && !plan.tests_candidates();
}

bool SealedJoin::is_looked_up_by_key() const {
    return lookup_made && !radix_bits && lookup.by_key() && !lookup.has_bounds() && !plan.tests_candidates();
}

// Joins that mark build rows, give back some without a partner or test candidates need row numbers.
PayloadSource SealedJoin::lookup_payload() const {
    if (spec.kind != JoinKind::Inner || spec.client_decides || plan.tests_candidates()) return {};
    if (plan.merge && !merges_unordered()) return {};
    return choose_payload(build_views.data(), spec.output, spec.outputs);
}

ResultOrder SealedJoin::result_order() const {
    return radix_bits || merges_unordered() ? ResultOrder::Any : ResultOrder::Ascending;
}

ProbeWork SealedJoin::probe_work(const DeviceColumn* probe, uint64_t rows) const {
    ProbeWork work;
    work.probe = probe;
    work.rows = rows;
    work.lookup = lookup.view();
    work.unique = lookup.unique();
    work.terms = residual.data();
    work.term_count = static_cast<uint32_t>(residual.size());
    work.packed = lookup.packed();
    work.tiles = lookup.tiles();
    if (plan.filters) work.filter = {&spec.program, program.data(), filter_columns.view()};
    work.rule = slot_rule(spec);
    if (rows_of_probing(spec).scans_build()) work.marks = {matched.data(), coverage.data()};
    return work;
}

uint64_t SealedJoin::row_data() const {
    return build.rows() ? build.data_bytes() / build.rows() : 0;
}

Status SealedJoin::collect_marks(const WorkContext& context) {
    if (!coverage.data()) return {};
    std::lock_guard lock(fold_mutex);
    GPUJOIN_RETURN_IF_FAILED(fold_coverage(context, lookup.view(), {matched.data(), coverage.data()}));
    return context.stream.synchronize();
}

}  // namespace gpujoin::cuda
