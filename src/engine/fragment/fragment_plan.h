// FragmentPlan: what a composed fragment keeps of its spec, which is large: only what is used, with columns
// and outputs that nobody reads left out.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/fragment/top_keys.h"
#include "wire/fragment_spec.h"

namespace gpujoin {

// A column of a row on its way: of the source, which is origin 0, or of stage n, which is origin n + 1.
struct LiveColumn {
    uint16_t origin;
    uint16_t column;
    ColumnSpec spec;
};

struct StagePlan {
    std::vector<LiveColumn> probe;    // what each probe column is
    std::vector<uint16_t> outputs;    // of those in the spec, the ones that are read
    std::vector<ColumnSpec> columns;  // what these are
};

// What comes first (TopSpec). Of groups the key is a column of theirs.
struct TopPlan {
    uint32_t count;
    LiveColumn key;
    TopOrder order;
};

struct SinkPlan {
    SinkKind kind;
    bool names_source_rows;  // Rows: so do results
    bool completes_groups;
    uint64_t estimated_groups;
    TopPlan top;
    std::vector<LiveColumn> inputs;
    std::vector<uint16_t> keys;
    std::vector<FilterProgram> values;
    std::vector<AggregateSpec> aggregates;
    std::vector<ColumnSpec> group_columns;
};

// Whether an aggregate is of floats. The programs whose values are summed as floats, each once.
bool is_of_floats(const SinkPlan& sink, const AggregateSpec& aggregate);
bool is_sum_of_floats(const SinkPlan& sink, const AggregateSpec& aggregate);
std::vector<uint16_t> summed_floats(const SinkPlan& sink);
inline bool sums_floats(const SinkPlan& sink) {
    return !summed_floats(sink).empty();
}

// The columns that a table of groups has: those that are given out, and behind them one for each sum of
// floats, for what rounding took from it.
std::vector<ColumnSpec> stored_group_columns(const SinkPlan& sink);

inline bool has_top_rows(const SinkPlan& sink) {
    return sink.kind == SinkKind::Rows && sink.top.count > 0;
}

// Whether groups are cut to those that can be among the first ones. None may come again, and rows that
// escaped may belong to any group.
inline bool cuts_groups(const SinkPlan& sink, bool are_complete, uint64_t escaped_rows) {
    return are_complete && sink.top.count > 0 && escaped_rows == 0;
}

struct FragmentPlan {
    std::vector<LiveColumn> source;  // the columns that are read
    uint16_t source_columns;
    std::vector<StagePlan> stages;
    SinkPlan sink;
};

FragmentPlan make_fragment_plan(const FragmentView& fragment);

// The join of a stage, which puts out what is read alone.
std::unique_ptr<JoinSpec> planned_join(const StageSpec& stage, const StagePlan& plan);

}  // namespace gpujoin
