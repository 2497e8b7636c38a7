// Place, written once for an executor that provides for_rows(rows, body), sum(rows, body) -> Check and
// prefix_sum(Check*, rows, scratch allocator), with bodies that are callable where its memory is.
#pragma once

#include "place.h"

namespace gpujoin::bench {

template <typename Executor>
class PlaceOf : public Place {
  public:
    void fill_keys(const FillKey& fill, uint64_t rows) override { Executor::for_rows(rows, fill); }
    void fill_texts(const FillText& fill, uint64_t rows) override { Executor::for_rows(rows, fill); }
    void fill_row_numbers(const FillRowNumber& fill, uint64_t rows) override {
        Executor::for_rows(rows, fill);
    }
    void fill_attributes(const FillAttribute& fill, uint64_t rows) override {
        Executor::for_rows(rows, fill);
    }
    Check check(const ResultRow& result, uint64_t rows) override { return Executor::sum(rows, result); }
    Check check_fragment(const SinkRow& result, uint64_t rows) override {
        return Executor::sum(rows, result);
    }
    Check check_primitive(const PrimitiveCheck& check, bool expected) override {
        if (expected) return Executor::sum(check.arrays.rows, ExpectedPrimitive{check.primitive});
        return Executor::sum(check.arrays.rows, check);
    }

    Check expect(const Keys& probe, uint64_t probe_rows, const Keys& build, uint64_t build_rows, bool is_band,
                 uint64_t band) override {
        uint64_t domain = std::max(probe.domain, build.domain);
        Buffer memory = allocate_scratch(domain * sizeof(Check));
        Check* sums = reinterpret_cast<Check*>(memory.get());
        Executor::for_rows(domain, ClearSum{sums});
        Executor::for_rows(build_rows, AddBuildRow{build, sums});
        if (is_band) Executor::prefix_sum(sums, domain);
        return Executor::sum(probe_rows, ProbeContribution{probe, sums, domain, is_band, band});
    }

    Check expect_fragment(const SinkShape& sink, uint64_t source_rows) override {
        Check of_rows = Executor::sum(source_rows, SourceContribution{sink});
        if (!sink.has_groups) return of_rows;
        const uint32_t inputs = ExtremesByGroup::inputs_of(sink);
        const uint64_t count = sink.groups() * inputs;
        Buffer memory = allocate_scratch(count * sizeof(Extremes));
        ExtremesByGroup extremes{reinterpret_cast<Extremes*>(memory.get()), inputs};
        Executor::for_rows(count, ClearExtremes{extremes.memory});
        Executor::for_rows(source_rows, NoteExtremes{sink, extremes});
        return of_rows + Executor::sum(sink.groups(), GroupContribution{sink, extremes});
    }

  private:
    // For the oracle.
    virtual Buffer allocate_scratch(uint64_t bytes) { return allocate(bytes); }
};

}  // namespace gpujoin::bench
