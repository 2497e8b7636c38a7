// The SQL functions behind the view pg_stat_gpujoin, which has a row for each database, gpujoin_statistics(),
// which has their sums, and gpujoin_reset_statistics().
#include <span>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/extension_version.h"
#include "pg/join_statistics.h"

extern "C" {
#include "access/htup_details.h"
#include "commands/dbcommands.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

SQL_FUNCTION(gpujoin_statistics);
SQL_FUNCTION(gpujoin_list_statistics);
SQL_FUNCTION(gpujoin_reset_statistics);
}

namespace gpujoin {

namespace {

// What 0.1.0's gpujoin_statistics() gives before the server's restarts, and pg_stat_gpujoin begins with.
constexpr Figure kFirstFigures[] = {Figure::Joins,     Figure::Failed,     Figure::BuildRows,
                                    Figure::ProbeRows, Figure::ResultRows, Figure::Bytes};
constexpr Figure kFurtherFigures[] = {Figure::Cancelled,  Figure::Chains,    Figure::Aggregates,
                                      Figure::Partitions, Figure::Moved,     Figure::SpilledBytes,
                                      Figure::KeptChunks, Figure::KeptBlocks};
constexpr Figure kTimes[] = {Figure::BuildUs, Figure::ProbeUs, Figure::WaitedUs};

// Whoever may look at the view may call the function below it, and nobody else: roles that were granted the
// view of 0.1.0 were not granted this function.
void require_view(Oid function) {
    const Oid view = get_relname_relid("pg_stat_gpujoin", get_func_namespace(function));
    if (!OidIsValid(view) || pg_class_aclcheck(view, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
        aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_VIEW, "pg_stat_gpujoin");
}

// A row under construction, filled from left to right.
struct Row {
    static constexpr int kMaxValues = 24;
    int count;
    Datum values[kMaxValues];
    bool nulls[kMaxValues];
};

void add(Row* row, Datum value, bool is_null = false) {
    row->values[row->count] = value;
    row->nulls[row->count++] = is_null;
}

void add_counts(Row* row, const DatabaseFigures* of, std::span<const Figure> figures) {
    for (Figure figure : figures) add(row, Int64GetDatum(static_cast<int64>(figure_of(of, figure))));
}

void add_name(Row* row, Oid database) {
    char* text = OidIsValid(database) ? get_database_name(database) : nullptr;
    add(row, text ? DirectFunctionCall1(namein, CStringGetDatum(text)) : Datum{0}, !text);
}

void add_database(Row* row, const DatabaseFigures* of) {
    add_counts(row, of, kFirstFigures);
    add(row, Int64GetDatum(static_cast<int64>(counted_restarts())), OidIsValid(of->database));
    add(row, TimestampTzGetDatum(of->since));
    add(row, ObjectIdGetDatum(of->database));
    add_name(row, of->database);
    add_counts(row, of, kFurtherFigures);
    for (Figure figure : kTimes) add(row, Float8GetDatum(static_cast<double>(figure_of(of, figure)) / 1000));
    add(row, TimestampTzGetDatum(of->reset), of->reset == 0);
}

DatabaseFigures* read_all(int* count) {
    auto* all = unset<DatabaseFigures>(kMostDatabases + 1);
    *count = read_join_statistics(all);
    return all;
}

DatabaseFigures sum_of(const DatabaseFigures* all, int count) {
    DatabaseFigures sum = all[0];
    for (int i = 1; i < count; i++) {
        sum.since = Min(sum.since, all[i].since);
        for (int figure = 0; figure < kFigures; figure++) sum.figures[figure] += all[i].figures[figure];
    }
    return sum;
}

}  // namespace

}  // namespace gpujoin

Datum gpujoin_statistics(PG_FUNCTION_ARGS) {
    using namespace gpujoin;
    TupleDesc descriptor;
    if (get_call_result_type(fcinfo, nullptr, &descriptor) != TYPEFUNC_COMPOSITE)
        elog(ERROR, "return type must be a row type");
    int count;
    const DatabaseFigures* all = read_all(&count);
    if (count == 0) PG_RETURN_NULL();
    const DatabaseFigures sum = sum_of(all, count);
    Row row = {};
    add_counts(&row, &sum, kFirstFigures);
    add(&row, Int64GetDatum(static_cast<int64>(counted_restarts())));
    add(&row, TimestampTzGetDatum(sum.since));
    if (row.count != descriptor->natts) report_other_version(fcinfo);
    return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), row.values, row.nulls));
}

Datum gpujoin_list_statistics(PG_FUNCTION_ARGS) {
    using namespace gpujoin;
    require_view(fcinfo->flinfo->fn_oid);
    InitMaterializedSRF(fcinfo, 0);
    auto* result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
    int count;
    const DatabaseFigures* all = read_all(&count);
    for (int i = 0; i < count; i++) {
        Row row = {};
        add_database(&row, &all[i]);
        if (row.count != result->setDesc->natts) report_other_version(fcinfo);
        tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
    }
    return Datum{0};
}

// Without an argument of all.
Datum gpujoin_reset_statistics(PG_FUNCTION_ARGS) {
    using namespace gpujoin;
    if (PG_ARGISNULL(0))
        reset_join_statistics();
    else
        reset_join_statistics_of(PG_GETARG_OID(0));
    PG_RETURN_VOID();
}
