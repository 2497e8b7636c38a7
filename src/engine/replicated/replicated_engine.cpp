// See replicated_engine.h. What a join may take of a device is charged to a ledger of its own for each
// device; such ledgers outlive what is charged to them.
#include "engine/replicated/replicated_engine.h"

#include <algorithm>
#include <utility>

#include "engine/guard.h"
#include "engine/replicated/replicated_build_reader.h"
#include "engine/replicated/replicated_fragment.h"
#include "engine/replicated/replicated_reader.h"

namespace gpujoin {

namespace {

Status cannot_be_replicated() {
    return failure(Fault::Error, "XX000", "the fragment cannot be replicated");
}

uint64_t least_memory(std::span<const Replica> replicas) {
    uint64_t least = UINT64_MAX;
    for (const Replica& replica : replicas)
        if (replica.memory) least = std::min(least, replica.memory->limit());
    return least;
}

// The limits of a join or a scan, for each replica.
class ReplicaLimits {
  public:
    ReplicaLimits(std::span<const Replica> replicas, const Limits& limits, uint64_t most = UINT64_MAX) {
        for (const Replica& replica : replicas) {
            Limits of_replica = limits;
            of_replica.device_memory = nullptr;
            if (replica.memory) {
                const uint64_t limit =
                    std::min({replica.memory->limit(), limits.device_memory->limit(), most});
                ledgers_.push_back(std::make_unique<Ledger>(limit, replica.memory));
                of_replica.device_memory = ledgers_.back().get();
            }
            limits_.push_back(of_replica);
        }
    }
    const std::vector<Limits>& all() const { return limits_; }

  private:
    std::vector<std::unique_ptr<Ledger>> ledgers_;
    std::vector<Limits> limits_;
};

// Base of what needs something that is destroyed after it.
template <typename Held>
struct Holder {
    std::unique_ptr<Held> held;
};

class OwningFragment final : Holder<ReplicaLimits>, public ReplicatedFragment {
  public:
    OwningFragment(std::unique_ptr<ReplicaLimits> limits, std::vector<std::unique_ptr<Fragment>> replicas,
                   size_t stages)
        : Holder{std::move(limits)}, ReplicatedFragment(std::move(replicas), stages) {}
};

class OwningReader final : Holder<ReplicaLimits>, public ReplicatedReader {
  public:
    OwningReader(std::unique_ptr<ReplicaLimits> limits, std::span<const Replica> replicas,
                 const KeptScan& scan, KeptPosition& position, std::span<const ColumnSpec> source,
                 uint32_t most_rows, size_t first_replica)
        : Holder{std::move(limits)},
          ReplicatedReader(replicas, held->all(), scan, position, source, most_rows, first_replica) {}
};

// What the readers of a build side need. Each may take the same of its device, since it takes as many rows at
// once as that lets it.
struct BuildReading {
    BuildReading(std::span<const Replica> replicas, const Limits& limits)
        : limits(replicas, limits, least_memory(replicas)),
          positions(std::make_unique<KeptPosition[]>(replicas.size())) {}

    ReplicaLimits limits;
    std::unique_ptr<KeptPosition[]> positions;
};

class OwningBuildReader final : Holder<BuildReading>, public ReplicatedBuildReader {
  public:
    OwningBuildReader(std::unique_ptr<BuildReading> reading,
                      std::vector<std::unique_ptr<KeptBuildReader>> readers)
        : Holder{std::move(reading)}, ReplicatedBuildReader(std::move(readers)) {}
};

class ReplicatedEngine final : public Engine {
  public:
    explicit ReplicatedEngine(std::vector<Replica> replicas) : replicas_(std::move(replicas)) {}

    Status open(const JoinSpec&, const Limits&, std::unique_ptr<Join>*) override {
        return cannot_be_replicated();
    }
    Status open_fragment(const FragmentView& fragment, const Limits& limits,
                         std::unique_ptr<Fragment>* opened) override {
        return guarded([&] { return open_fragments(fragment, limits, opened); });
    }
    KeptMeasure kept_measure() const override;
    std::unique_ptr<KeptReader> read_kept(const KeptScan& scan, KeptPosition& position,
                                          std::span<const ColumnSpec> source, uint32_t most_rows,
                                          const Limits& limits) override {
        return std::make_unique<OwningReader>(std::make_unique<ReplicaLimits>(replicas_, limits), replicas_,
                                              scan, position, source, most_rows,
                                              next_reader_++ % replicas_.size());
    }
    KeptMeasure kept_build_measure(const Limits& limits) const override;
    std::unique_ptr<KeptBuildReader> read_kept_build(const KeptScan& scan, KeptPosition& position,
                                                     std::span<const ColumnSpec> build, uint32_t most_rows,
                                                     const Limits& limits) override;
    // Each engine has it pinned for itself.
    Status pin(std::byte*, uint64_t) override { return {}; }
    DeviceDescription describe() const override;

  private:
    Status open_fragments(const FragmentView& whole, const Limits& limits, std::unique_ptr<Fragment>* opened);

    const std::vector<Replica> replicas_;
    std::atomic<uint32_t> next_reader_{0};
};

Status ReplicatedEngine::open_fragments(const FragmentView& whole, const Limits& limits,
                                        std::unique_ptr<Fragment>* opened) {
    if (!can_be_replicated(whole)) return cannot_be_replicated();
    FragmentView fragment = whole;
    std::unique_ptr<FragmentSpec> of_all_groups;
    if (whole.spec->sink == SinkKind::Groups && whole.spec->top.count > 0) {
        // No replica has all rows of a group: none knows which come first.
        of_all_groups = std::make_unique<FragmentSpec>(*whole.spec);
        of_all_groups->top = {};
        fragment.spec = of_all_groups.get();
    }
    auto limits_of = std::make_unique<ReplicaLimits>(replicas_, limits);
    std::vector<std::unique_ptr<Fragment>> fragments;
    for (size_t i = 0; i < replicas_.size(); i++) {
        fragments.emplace_back();
        GPUJOIN_RETURN_IF_FAILED(
            replicas_[i].engine->open_fragment(fragment, limits_of->all()[i], &fragments.back()));
    }
    *opened =
        std::make_unique<OwningFragment>(std::move(limits_of), std::move(fragments), fragment.stages.size());
    return {};
}

KeptMeasure ReplicatedEngine::kept_measure() const {
    KeptMeasure measure = replicas_.front().engine->kept_measure();
    for (size_t i = 1; i < replicas_.size(); i++) {
        const KeptMeasure one = replicas_[i].engine->kept_measure();
        measure.readers =
            one.readers > UINT64_MAX - measure.readers ? UINT64_MAX : measure.readers + one.readers;
        measure.rows = std::min(measure.rows, one.rows);
    }
    return measure;
}

// One reader of each engine has all rows, so that they come in the same order.
KeptMeasure ReplicatedEngine::kept_build_measure(const Limits& limits) const {
    const ReplicaLimits limits_of(replicas_, limits);
    KeptMeasure measure = {1, UINT32_MAX};
    for (size_t i = 0; i < replicas_.size(); i++)
        measure.rows =
            std::min(measure.rows, replicas_[i].engine->kept_build_measure(limits_of.all()[i]).rows);
    return measure;
}

std::unique_ptr<KeptBuildReader> ReplicatedEngine::read_kept_build(const KeptScan& scan, KeptPosition&,
                                                                   std::span<const ColumnSpec> build,
                                                                   uint32_t most_rows, const Limits& limits) {
    auto reading = std::make_unique<BuildReading>(replicas_, limits);
    std::vector<std::unique_ptr<KeptBuildReader>> readers;
    for (size_t i = 0; i < replicas_.size(); i++)
        readers.push_back(replicas_[i].engine->read_kept_build(scan, reading->positions[i], build, most_rows,
                                                               reading->limits.all()[i]));
    return std::make_unique<OwningBuildReader>(std::move(reading), std::move(readers));
}

DeviceDescription ReplicatedEngine::describe() const {
    DeviceDescription description = replicas_.front().engine->describe();
    for (size_t i = 1; i < replicas_.size(); i++)
        description.join_memory =
            std::min(description.join_memory, replicas_[i].engine->describe().join_memory);
    return description;
}

}  // namespace

bool can_be_replicated(const FragmentView& fragment) {
    return std::ranges::none_of(
        fragment.stages, [](const StageSpec& stage) { return rows_of(stage.join.kind).scans_build(); });
}

std::unique_ptr<Engine> make_replicated_engine(std::vector<Replica> replicas) {
    return std::make_unique<ReplicatedEngine>(std::move(replicas));
}

}  // namespace gpujoin
