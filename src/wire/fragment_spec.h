// FragmentSpec: what one node runs in the engine, in one go. A source, whose rows stream past; a chain of
// joins, the stages, each with a build side of its own; and a sink for the rows of the last stage, which is
// either the client, or groups: aggregates of these rows. Groups may be of the source itself, without a
// stage.
//
//   source ── stage 0 ── stage 1 ── … ── stage n-1 ── sink (rows, or groups)
//                │          │               │
//             build 0    build 1        build n-1
//
// A stage joins the rows that come out of the stage before with its build side. Each column of its probe side
// is a column of the source or an output of an earlier stage (ColumnRef), so that a row is as wide as what
// later stages and the sink still want of it.
//
// Plain and of fixed size, but for its stages, which are an array of their own; both travel packed
// (wire/spec_codec.h) and are checked by validate() before use.
#pragma once

#include <cstdint>
#include <span>

#include "wire/filter_program.h"
#include "wire/join_spec.h"
#include "wire/status.h"

namespace gpujoin {

inline constexpr uint32_t kMaxStages = 16;
inline constexpr uint32_t kMaxGroupKeys = 64;
inline constexpr uint32_t kMaxValues = 128;  // programs of the sink
inline constexpr uint32_t kMaxAggregates = 256;
inline constexpr uint32_t kMaxTopCount = 10'000;
inline constexpr uint16_t kFromSource = 0xffff;
inline constexpr uint16_t kNoNumber = 0xffff;

// A column of a row on its way to the sink.
struct ColumnRef {
    uint16_t origin;  // kFromSource, or a stage
    uint16_t column;  // of the source; or which of the stage's outputs
};

// One join of the chain. Except in a plain join its kind is Inner, Left, Semi or Anti, its results are
// Ascending, name probe rows, carry nothing, and the client decides nothing.
struct StageSpec {
    JoinSpec join;
    ColumnRef probe[kMaxColumns];  // what each of join.probe is
};

// Rows: for each row of the last stage the number of its source row, which says nothing where that is kept,
// and the sink's inputs. If there is a single stage, and all rows are wanted, the join's own results are the
// sink's, whatever the kind of join, and there are no inputs. Groups: the rows of the last stage are
// aggregated; the client gets groups, partial ones: a group may come more than once, each time with what was
// aggregated since. Complete ones are asked for where each had better come once, when it is flushed; if
// memory allows that, results say so.
enum class SinkKind : uint8_t { Rows, Groups };

// Aggregates leave out rows whose value is NULL, and those whose filter is not true.
enum class AggregateFunction : uint8_t {
    Count,    // rows: all, or those whose value is not NULL. Fixed8, never NULL
    Sum,      // of integers: Fixed16, a signed number; of floats: Fixed8. NULL where there was no value
    Minimum,  // Fixed8, as the machine has the value (filter_program.h). NULL where there was none
    Maximum,
    Any,  // one of the values of an input, NULLs among them: what is the same in all rows of a group, or may
          // be any of them. As wide as the input. Has no filter
};

// Values that a program cannot compute (it leaves them undecided) and rows whose filter it cannot are
// *escaped rows*: these are aggregated nowhere, and come back to the client with all the sink's inputs, in
// results that are flagged as undecided.
struct AggregateSpec {
    AggregateFunction function;
    uint8_t reserved;
    uint16_t value;   // number of the program that gives it; kNoNumber: Count counts all rows; Any: an input
    uint16_t filter;  // number of the program that gives its truth; kNoNumber: none
};

// Only those rows, or complete groups, are wanted that can be among the first `count` when all of them are
// sorted by the key. Others may come all the same.
struct TopSpec {
    uint32_t count;    // 0: all are wanted
    ColumnRef key;     // Groups: its column is the group's, and comes from nowhere
    ValueOrder order;  // of the key's values, whatever the column's is
    uint8_t is_descending;
    uint8_t nulls_first;
    uint8_t reserved[5];
};

struct FragmentSpec {
    SinkKind sink;
    uint8_t completes_groups;  // 1: complete groups are asked for
    uint16_t source_columns;
    uint16_t inputs;            // columns that the sink reads
    uint16_t keys;              // the rest is for a sink of groups
    uint16_t values;            // programs
    uint16_t aggregates;        // at most as many as fit with the keys into kMaxColumns
    uint8_t source_is_unnamed;  // Rows of a chain, 1: the client takes nothing of their source rows but
                                // inputs; so it is where there is no stage, and results do not name them then
    uint8_t source_is_kept;     // 1: most source rows are expected to be kept
    uint8_t reserved[2];
    uint64_t estimated_groups;       // 0: not known
    uint64_t estimated_source_rows;  // 0: not known
    TopSpec top;
    ColumnSpec source[kMaxColumns];
    ColumnRef input[kMaxColumns];
    uint16_t key[kMaxGroupKeys];  // inputs; rows are of a group if their bytes are the same, or they are NULL
    // Over one row: operands are the sink's inputs, as columns of the probe side. A program ends with a
    // number or with a truth value.
    FilterProgram value[kMaxValues];
    AggregateSpec aggregate[kMaxAggregates];
};

// A fragment as it is handed around. Not owned.
struct FragmentView {
    const FragmentSpec* spec = nullptr;
    std::span<const StageSpec> stages;

    // The results of the only join are the sink's.
    bool is_plain_join() const {
        return stages.size() == 1 && spec->sink == SinkKind::Rows && spec->top.count == 0;
    }
};

// What a column is: nullable also where an outer join makes it so.
ColumnSpec column_of(const FragmentView& fragment, ColumnRef ref);

// The columns of groups: the keys, then one for each aggregate.
inline uint32_t group_columns(const FragmentSpec& spec) {
    return uint32_t{spec.keys} + spec.aggregates;
}
ColumnSpec group_column(const FragmentView& fragment, uint32_t number);

// What rows or groups are sorted by, where only the first ones are wanted.
ColumnSpec top_key(const FragmentView& fragment);

// Checks every join, and every count, enum, column and program around them (08P01).
Status validate(const FragmentView& fragment);

}  // namespace gpujoin
