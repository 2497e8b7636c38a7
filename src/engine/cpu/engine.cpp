// The CPU engine: the contract of engine.h on columns in host memory, with oneTBB's threads.
#include <unistd.h>

#include <fstream>
#include <string>

#include "engine/algorithm.h"
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

// What a matcher takes at most that sorts by a range, or has a table of keys; a partitioned build side takes
// less. Who is refused memory while probing cannot partition the join any more: so what is made late has its
// memory from the start.
constexpr uint64_t kLateBytesPerRow = 48;
constexpr uint64_t kLateBytesPerKey = 48;        // with equalities
constexpr uint64_t kLateBytesPerNarrowKey = 32;  // of 4 bytes, with nothing to sort

uint64_t late_bytes(const JoinContext& join, bool sorts_by_range) {
    const bool is_narrow = join.layout.bytes == 4 && !sorts_by_range;
    uint64_t per_row = sorts_by_range ? kLateBytesPerRow : 0;
    if (join.spec.equalities > 0) per_row += is_narrow ? kLateBytesPerNarrowKey : kLateBytesPerKey;
    return join.build.rows() * per_row;
}

bool has_room(Ledger* ledger, uint64_t bytes) {
    if (!ledger) return true;
    if (!ledger->charge(bytes)) return false;
    ledger->release(bytes);
    return true;
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
        if (!is_ready_) GPUJOIN_RETURN_IF_FAILED(guarded([&] { return finish_building(batch); }));
        AddTime timer(&join_.counters.probe_ns);
        join_.counters.add_probe(join_.context.spec, batch);
        return guarded([&] {
            return radix_ ? radix_->probe(join_, batch, cursor) : make_probe_cursor(join_, batch, cursor);
        });
    }

    Status mark_matched(std::span<const uint64_t> build_rows) override {
        for (uint64_t row : build_rows) {
            if (row >= join_.context.build.rows())
                return failure(Fault::Protocol, "08P01", "malformed list of matched rows")
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
        if (may_be_radix_ || (sorts_by_range && has_range_choice(context.spec))) {
            GPUJOIN_RETURN_IF_FAILED(
                late_memory_.allocate(context.limits.host_memory, late_bytes(context, sorts_by_range)));
        } else {
            GPUJOIN_RETURN_IF_FAILED(build_matcher(chosen));
        }
        join_.counters.algorithm = chosen;
        if (rows_of(context.spec.kind).scans_build())
            GPUJOIN_RETURN_IF_FAILED(join_.matched.open(context.limits.host_memory, context.build.rows()));
        join_.counters.peak_seal_memory = peak();
        return context.should_stop() ? cancelled_status() : Status{};
    }

    Status build_matcher(Algorithm algorithm) {
        GPUJOIN_RETURN_IF_FAILED(make_matcher(algorithm, join_.context, &join_.matcher));
        GPUJOIN_RETURN_IF_FAILED(join_.clustered.build(join_.context, *join_.matcher));
        is_ready_ = true;
        return {};
    }

    // What the first probe batch tells: whether batches are large enough for the radix join, which wants more
    // memory for each than others, or which of several columns should drive a range.
    Status finish_building(const BatchView& batch) {
        const auto lock = lock_in_turn(late_mutex_, join_.context.limits.cancel);
        if (!lock.owns_lock()) return cancelled_status();
        if (is_ready_) return {};
        AddTime timer(&join_.counters.seal_ns);
        late_memory_.reset();
        GPUJOIN_RETURN_IF_FAILED(build_for(batch));
        join_.counters.peak_seal_memory = peak();
        return {};
    }

    Status build_for(const BatchView& batch) {
        JoinContext& context = join_.context;
        if (may_be_radix_ && partitioning_pays(context.build.rows(), batch.rows) &&
            has_room(context.limits.host_memory, radix_bytes(context, batch.rows))) {
            GPUJOIN_RETURN_IF_FAILED(make_radix_join(context, &radix_));
            is_ready_ = true;
            return {};
        }
        if (!may_be_radix_)
            GPUJOIN_RETURN_IF_FAILED(choose_range_column(context, batch, &context.range_column.emplace()));
        return build_matcher(join_.counters.algorithm);
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
    HostArray late_memory_;              // charged for what is made late, and never touched
    std::atomic<bool> is_ready_{false};  // there is a matcher, or a radix join
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
