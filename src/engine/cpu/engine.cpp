// The CPU engine: the contract of engine.h on columns in host memory, with oneTBB's threads.
#include <unistd.h>

#include <fstream>
#include <string>

#include "engine/algorithm.h"
#include "engine/cpu/memory/mapping_pool.h"
#include "engine/cpu/memory/memory_charge.h"
#include "engine/cpu/results/queue_cursor.h"
#include "engine/cpu/radix/radix_join.h"
#include "engine/cpu/index/range_plan.h"
#include "engine/range_choice.h"

namespace gpujoin::cpu {

namespace {

Status make_matcher(Algorithm algorithm, JoinContext& join, std::unique_ptr<Matcher>* matcher) {
    switch (algorithm) {
        case Algorithm::Hash:
            return make_hash_matcher(join, matcher);
        case Algorithm::Index:
            return make_index_matcher(join, matcher);
        case Algorithm::SortMerge:
            return make_sort_merge_matcher(join, matcher);
        case Algorithm::NestedLoop:
        case Algorithm::Auto:  // never chosen
            break;
    }
    return make_nested_loop_matcher(join, matcher);
}

// What a matcher takes at most that sorts by a range, or has a table of keys. Who is refused memory while
// probing cannot partition the join any more: so a matcher that is made late has its memory set aside from
// the start.
constexpr uint64_t kLateBytesPerRow = 48;
constexpr uint64_t kLateBytesPerKey = 48;        // with equalities
constexpr uint64_t kLateBytesPerNarrowKey = 32;  // of 4 bytes, with nothing to sort

uint64_t late_bytes(const JoinContext& join, bool sorts_by_range) {
    const bool is_narrow = join.layout.bytes == 4 && !sorts_by_range;
    uint64_t per_row = sorts_by_range ? kLateBytesPerRow : 0;
    if (join.spec.equalities > 0) per_row += is_narrow ? kLateBytesPerNarrowKey : kLateBytesPerKey;
    return join.build.rows() * per_row;
}

class CpuJoin final : public Join {
  public:
    explicit CpuJoin(uint32_t threads) : workers_(threads) {}

    Status open(const JoinSpec& spec, const Limits& limits) {
        JoinContext& context = join_.context;
        context.spec = spec;
        context.limits = limits;
        context.layout = make_key_layout(spec);
        context.workers = &workers_;
        return context.build.open(context.spec, limits);
    }

    Status append(const BatchView& batch, uint64_t first_row) override {
        AddTime timer(&join_.counters.append_ns);
        GPUJOIN_RETURN_IF_FAILED(guarded([&] { return join_.context.build.append(batch, first_row); }));
        join_.counters.add_build(join_.context.spec, batch);
        return {};
    }

    Status seal(SealReport* report) override {
        AddTime timer(&join_.counters.seal_ns);
        GPUJOIN_RETURN_IF_FAILED(guarded([&] { return build(); }));
        *report = {};
        report->algorithm = join_.counters.algorithm;
        report->order = may_be_radix_ ? ResultOrder::Any : ResultOrder::Ascending;
        report->build_rows = join_.context.build.rows();
        return {};
    }

    Status probe(const BatchView& batch, std::unique_ptr<Cursor>* cursor) override {
        if (batch.memory == Memory::Device)
            return failure(Fault::Error, "XX000", "the CPU join engine cannot read device memory");
        if (batch.rows > BuildStore::kMaxRows)
            return failure(Fault::Error, "54000", "too many rows in a probe batch");
        join_.counters.add_probe(join_.context.spec, batch);
        if (may_be_radix_ && partitioning_pays(join_.context.build.rows(), batch.rows)) {
            const Status status = guarded([&] { return probe_by_radix(batch, cursor); });
            if (status.fault != Fault::HostMemory) return status;
        }
        if (!has_matcher_) GPUJOIN_RETURN_IF_FAILED(guarded([&] { return make_late_matcher(batch); }));
        AddTime timer(&join_.counters.probe_ns);
        return guarded([&] { return make_probe_cursor(join_, batch, cursor); });
    }

    Status mark_matched(std::span<const uint64_t> build_rows) override {
        for (uint64_t row : build_rows) {
            if (row >= join_.context.build.rows())
                return malformed("list of matched rows")
                    .with_detail("There is no build row %llu.", static_cast<unsigned long long>(row));
        }
        if (!join_.matched.is_open()) return {};
        const RowNumbers& numbers = join_.context.build.numbers();
        for (uint64_t row : build_rows) join_.matched.set(static_cast<uint32_t>(numbers.where_is(row)));
        return {};
    }

    Status scan_build(bool matched, std::unique_ptr<Cursor>* cursor) override {
        if (!rows_of(join_.context.spec.kind).scans_build())
            return failure(Fault::Protocol, "08P01", "a join of type \"%s\" gives no build rows",
                           name_of(join_.context.spec.kind));
        return guarded([&] { return make_scan_cursor(join_, matched, cursor); });
    }

    Status rewind() override {
        if (!join_.matched.is_open()) return {};
        for (uint64_t row = 0; row < join_.context.build.rows(); row++) {
            if (row % kParallelRows == 0 && join_.context.should_stop()) return cancelled_status();
            join_.matched.clear(static_cast<uint32_t>(row));
        }
        return {};
    }

    Status export_build(const BuildConsumer& consumer) override {
        return guarded([&] { return join_.context.build.export_rows(consumer); });
    }

    JoinStats stats() const override {
        JoinStats stats = join_.counters.stats();
        stats.peak_memory = peak();
        snprintf(stats.device, sizeof stats.device, "cpu");
        return stats;
    }

  private:
    Status build() {
        JoinContext& context = join_.context;
        GPUJOIN_RETURN_IF_FAILED(context.build.seal());
        const Algorithm chosen = choose_algorithm(context.spec, context.build.rows());
        const bool sorts_by_range = chosen == Algorithm::Index || chosen == Algorithm::SortMerge;
        may_be_radix_ = chosen == Algorithm::Hash && radix_applies(context);
        bool is_late = may_be_radix_ || (sorts_by_range && has_range_choice(context.spec));
        if (is_late) {
            const Status status =
                late_memory_.take(context.limits.host_memory, late_bytes(context, sorts_by_range));
            // A table that is made now may take less.
            if (!may_be_radix_ || status.fault != Fault::HostMemory) GPUJOIN_RETURN_IF_FAILED(status);
            is_late = status.ok();
            may_be_radix_ = may_be_radix_ && is_late;
        }
        if (!is_late) GPUJOIN_RETURN_IF_FAILED(build_matcher(chosen));
        join_.counters.algorithm = chosen;
        if (rows_of(context.spec.kind).scans_build())
            GPUJOIN_RETURN_IF_FAILED(join_.matched.open(context.limits.host_memory, context.build.rows()));
        join_.counters.peak_seal_memory = peak();
        return context.should_stop() ? cancelled_status() : Status{};
    }

    Status build_matcher(Algorithm algorithm) {
        GPUJOIN_RETURN_IF_FAILED(make_matcher(algorithm, join_.context, &join_.matcher));
        GPUJOIN_RETURN_IF_FAILED(join_.clustered.build(join_.context, *join_.matcher));
        has_matcher_ = true;
        return {};
    }

    // What a probe batch tells: that it is too small for the radix join, for which there may be no memory
    // either; or which of several columns should drive a range. The matcher is made when the first such batch
    // comes.
    Status make_late_matcher(const BatchView& batch) {
        const auto lock = lock_in_turn(late_mutex_, join_.context.limits.cancel);
        if (!lock.owns_lock()) return cancelled_status();
        if (has_matcher_) return {};
        AddTime timer(&join_.counters.seal_ns);
        late_memory_.reset();
        if (!may_be_radix_)
            GPUJOIN_RETURN_IF_FAILED(
                choose_range_column(join_.context, batch, &join_.context.range_column.emplace()));
        GPUJOIN_RETURN_IF_FAILED(build_matcher(join_.counters.algorithm));
        join_.counters.peak_seal_memory = peak();
        return {};
    }

    // 53200 where there is no memory for it besides what is set aside for a matcher.
    Status probe_by_radix(const BatchView& batch, std::unique_ptr<Cursor>* cursor) {
        if (!has_radix_) GPUJOIN_RETURN_IF_FAILED(partition_build_side());
        AddTime timer(&join_.counters.probe_ns);
        return radix_->probe(join_, batch, cursor);
    }

    Status partition_build_side() {
        const auto lock = lock_in_turn(late_mutex_, join_.context.limits.cancel);
        if (!lock.owns_lock()) return cancelled_status();
        if (has_radix_) return {};
        AddTime timer(&join_.counters.seal_ns);
        GPUJOIN_RETURN_IF_FAILED(make_radix_join(join_.context, &radix_));
        join_.counters.peak_seal_memory = peak();
        has_radix_ = true;
        return {};
    }

    uint64_t peak() const {
        const Ledger* ledger = join_.context.limits.host_memory;
        return ledger ? ledger->peak() : 0;
    }

    Workers workers_;
    SealedJoin join_;
    bool may_be_radix_ = false;
    std::unique_ptr<RadixJoin> radix_;
    std::mutex late_mutex_;
    MemoryCharge late_memory_;  // for the matcher
    std::atomic<bool> has_matcher_{false}, has_radix_{false};
};

// The processor's name as Linux gives it.
std::string processor_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("model name", 0) != 0) continue;
        size_t start = line.find_first_not_of(" \t:", line.find(':'));
        if (start != std::string::npos) return line.substr(start);
    }
    return "CPU";
}

class CpuEngine final : public Engine {
  public:
    explicit CpuEngine(uint32_t threads)
        : threads_(threads ? threads : static_cast<uint32_t>(tbb::info::default_concurrency())),
          name_(processor_name()) {}

    Status open(const JoinSpec& spec, const Limits& limits, std::unique_ptr<Join>* join) override {
        return guarded([&]() -> Status {
            auto opened = std::make_unique<CpuJoin>(threads_);
            GPUJOIN_RETURN_IF_FAILED(opened->open(spec, limits));
            *join = std::move(opened);
            return {};
        });
    }

    Status pin(std::byte*, uint64_t) override { return {}; }

    DeviceDescription describe() const override {
        DeviceDescription description;
        uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
        description.engine = "cpu";
        description.name = name_;
        description.memory = page * static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES));
        description.free_memory = page * static_cast<uint64_t>(sysconf(_SC_AVPHYS_PAGES));
        description.processors = threads_;
        description.state = "ready";
        return description;
    }

  private:
    const uint32_t threads_;
    const std::string name_;
};

}  // namespace
}  // namespace gpujoin::cpu

std::unique_ptr<gpujoin::Engine> gpujoin::make_cpu_engine(uint32_t threads) {
    return std::make_unique<cpu::CpuEngine>(threads);
}

void gpujoin::limit_spare_memory(uint64_t bytes) {
    cpu::mapping_pool().set_limit(bytes);
}
