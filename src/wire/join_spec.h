// JoinSpec: what to join and what to give back, in terms both sides understand: columns of canonical bytes,
// and comparisons between one probe column and one build column. No SQL types. Plain and of fixed size; it
// travels packed (wire/spec_codec.h), and is checked by validate() before use.
//
// The probe side is the left (outer) input, the build side the right (inner) one.
#pragma once

#include <cstdint>
#include <span>

#include "wire/column_spec.h"
#include "wire/filter_program.h"
#include "wire/join_kind.h"
#include "wire/status.h"

namespace gpujoin {

inline constexpr uint32_t kMaxColumns = 1664;  // PostgreSQL's limit on target list entries
inline constexpr uint32_t kMaxTerms = 64;

enum class Algorithm : uint8_t { Auto, Hash, SortMerge, Index, NestedLoop };

// The order of results in which probe rows come: ascending by their numbers; all results of a probe row one
// after the other; any. An engine may give more order than was asked for.
enum class ResultOrder : uint8_t { Ascending, Grouped, Any };

enum class Comparison : uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };

// probe column <comparison> build column; a NULL on either side makes it not true.
struct Term {
    uint16_t probe_column;
    uint16_t build_column;
    Comparison comparison;
    uint8_t reserved[3];
};

struct JoinSpec {
    JoinKind kind;
    Algorithm algorithm;  // Auto, or the one to force
    ResultOrder order;
    // 1: results carry build row numbers (8 bytes a row), and every candidate pair comes back, because the
    // client decides on a further condition itself: Left and Full give no NULL-extended rows, Semi and Anti
    // give pairs like Inner, and build rows count as matched only by mark_matched(). It needs the candidates
    // of a probe row together, and the names of probe rows.
    uint8_t client_decides;
    uint16_t probe_columns;
    uint16_t build_columns;
    uint16_t equalities;  // all terms of a join are ANDed
    uint16_t ranges;
    uint16_t filters;  // like ranges, NotEqual allowed; never drive the search
    uint16_t outputs;
    uint16_t carried;
    uint8_t names_probe_rows;  // 1: results say by number which probe row each is of
    uint8_t reserved[5];
    uint64_t estimated_probe_rows;
    Term equality[kMaxTerms];  // comparison == Equal
    Term range[kMaxTerms];     // Less, LessEqual, Greater, GreaterEqual
    Term filter[kMaxTerms];
    uint16_t output[kMaxColumns];  // build columns to gather into results, in this order
    uint16_t carry[kMaxColumns];   // probe columns to give back, in this order, behind the outputs
    ColumnSpec probe[kMaxColumns];
    ColumnSpec build[kMaxColumns];
    // A further condition; like filters. Pairs that it leaves undecided come back like those that match, in
    // results that say so: joins other than Inner then need client_decides.
    FilterProgram program;
};

// Checks every count, enum and column number, and that the two columns of a term agree in type and order
// (08P01).
Status validate(const JoinSpec& spec);

// What probing gives: where the client decides, all candidates.
inline JoinRows rows_of_probing(const JoinSpec& spec) {
    return rows_of(spec.client_decides ? JoinKind::Inner : spec.kind);
}

// What an output is in results: nullable where the build column is, or where rows without a build row may
// come out.
inline ColumnSpec output_column(const JoinSpec& spec, uint32_t output) {
    ColumnSpec column = spec.build[spec.output[output]];
    const JoinRows gives = rows_of_probing(spec);
    if (!gives.pairs || gives.unmatched_probe_rows) column.nullable = 1;
    return column;
}

// Checks what columns are said to be (08P01).
Status validate_columns(std::span<const ColumnSpec> columns);

const char* name_of(Algorithm algorithm);  // "hash", "sort_merge", ...
const char* name_of(JoinKind kind);        // "Inner", "Left", ...

}  // namespace gpujoin
