// Fragments whose stages are joins that an engine opens. A plain join's results are passed on as they are.
#include "engine/fragment/composed_cursor.h"
#include "engine/fragment/host_place.h"
#include "engine/guard.h"

namespace gpujoin {

namespace {

Status no_groups() {
    return failure(Fault::Protocol, "08P01", "a fragment without groups has none to give out");
}

class PlainJoin final : public Fragment {
  public:
    explicit PlainJoin(std::unique_ptr<Join> join) : join_(std::move(join)) {}

    Join& join(uint32_t) override { return *join_; }
    Status run(const BatchView& source, std::unique_ptr<Cursor>* cursor) override {
        return join_->probe(source, cursor);
    }
    Status flush(std::unique_ptr<Cursor>*) override { return no_groups(); }
    Status rewind() override { return join_->rewind(); }
    SinkStats sink_stats() const override { return {}; }

  private:
    const std::unique_ptr<Join> join_;
};

class ComposedFragment final : public Fragment {
  public:
    Status open(Engine& engine, std::unique_ptr<FragmentPlace> place, const FragmentView& fragment,
                const Limits& limits) {
        open_.plan = make_fragment_plan(fragment);
        open_.cancel = limits.cancel;
        open_.place = std::move(place);
        for (size_t i = 0; i < fragment.stages.size(); i++) {
            const auto spec = planned_join(fragment.stages[i], open_.plan.stages[i]);
            GPUJOIN_RETURN_IF_FAILED(engine.open(*spec, limits, &open_.joins.emplace_back()));
        }
        return open_.place->open(open_.plan, open_.joins, &open_.counters);
    }

    Join& join(uint32_t stage) override { return *open_.joins[stage]; }

    Status run(const BatchView& source, std::unique_ptr<Cursor>* cursor) override {
        return guarded([&] { return make_composed_cursor(open_, source, cursor); });
    }

    Status flush(std::unique_ptr<Cursor>* cursor) override {
        Aggregator* aggregator = open_.place->aggregator();
        return aggregator ? aggregator->flush(cursor) : no_groups();
    }

    Status rewind() override {
        for (const auto& join : open_.joins) GPUJOIN_RETURN_IF_FAILED(join->rewind());
        open_.bound.reset();
        if (Aggregator* aggregator = open_.place->aggregator()) aggregator->clear();
        return {};
    }

    SinkStats sink_stats() const override {
        const SinkCounters& counters = open_.counters;
        const Aggregator* aggregator = open_.place->aggregator();
        return {.rows = counters.rows,
                .escaped_rows = counters.escaped_rows,
                .groups = counters.groups,
                .left_out = counters.left_out,
                .skipped_rows = 0,
                .ms = static_cast<double>(counters.ns) / 1e6,
                .peak_memory = aggregator ? aggregator->peak_memory() : 0,
                .replica = {}};
    }

  private:
    OpenFragment open_;
};

}  // namespace

Status open_fragment_in(Engine& engine, std::unique_ptr<FragmentPlace> place, const FragmentView& fragment,
                        const Limits& limits, std::unique_ptr<Fragment>* opened) {
    return guarded([&]() -> Status {
        auto made = std::make_unique<ComposedFragment>();
        GPUJOIN_RETURN_IF_FAILED(made->open(engine, std::move(place), fragment, limits));
        *opened = std::move(made);
        return {};
    });
}

Status open_composed_fragment(Engine& engine, const FragmentView& fragment, const Limits& limits,
                              std::unique_ptr<Fragment>* opened) {
    return guarded([&]() -> Status {
        if (!fragment.is_plain_join())
            return open_fragment_in(engine, make_host_place(limits), fragment, limits, opened);
        std::unique_ptr<Join> join;
        GPUJOIN_RETURN_IF_FAILED(engine.open(fragment.stages[0].join, limits, &join));
        *opened = std::make_unique<PlainJoin>(std::move(join));
        return {};
    });
}

Status Engine::open_fragment(const FragmentView& fragment, const Limits& limits,
                             std::unique_ptr<Fragment>* opened) {
    return open_composed_fragment(*this, fragment, limits, opened);
}

}  // namespace gpujoin
