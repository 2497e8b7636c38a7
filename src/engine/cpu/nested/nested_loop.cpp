// The nested_loop algorithm: every build row is a candidate of every probe row, and every term is tested. The
// cursor tests consecutive build rows in tiles.
#include "engine/cpu/matcher.h"

namespace gpujoin::cpu {

namespace {

class NestedLoopSearch final : public Search {
  public:
    explicit NestedLoopSearch(uint32_t build_rows) : build_rows_(build_rows) {}

    Status find(uint64_t, uint32_t rows, CandidateRanges* ranges) override {
        for (uint32_t i = 0; i < rows; i++) {
            ranges->first[i] = 0;
            ranges->count[i] = build_rows_;
        }
        return {};
    }

  private:
    const uint32_t build_rows_;
};

class NestedLoopMatcher final : public Matcher {
  public:
    // Lists the build rows without NULLs, if there are others.
    Status build(JoinContext& join) {
        build_rows_ = static_cast<uint32_t>(join.build.rows());
        KeyReader reader = join.build_reader();
        if (!reader.has_nulls()) return {};
        GPUJOIN_RETURN_IF_FAILED(
            rows_.allocate(join.limits.host_memory, (join.build.rows() + 1) * sizeof(uint32_t)));
        uint32_t count = 0;
        for (uint32_t row = 0; row < build_rows_; row++) {
            if (row % kParallelRows == 0 && join.should_stop()) return cancelled_status();
            rows_.as<uint32_t>()[count] = row;
            count += !reader.has_null(row);
        }
        positions = build_rows_ = count;
        return {};
    }

    Status start(const BatchView&, const KeyReader&, std::unique_ptr<Search>* search) override {
        *search = std::make_unique<NestedLoopSearch>(build_rows_);
        return {};
    }
    const uint32_t* row_of_position() const override {
        return rows_.empty() ? nullptr : rows_.as<uint32_t>();
    }

  private:
    uint32_t build_rows_ = 0;
    HostArray rows_;
};

}  // namespace

Status make_nested_loop_matcher(JoinContext& join, std::unique_ptr<Matcher>* matcher) {
    auto made = std::make_unique<NestedLoopMatcher>();
    GPUJOIN_RETURN_IF_FAILED(made->build(join));
    made->undecided = join.terms();
    *matcher = std::move(made);
    return {};
}

}  // namespace gpujoin::cpu
