// gpujoin_why(query): one row for each join and aggregate of a statement, taken or not, and why not.
//
// The statement is parsed, analysed, planned and its permissions are checked as EXPLAIN does it. While it is
// planned the hooks remember their verdicts, of which the answers are made.
#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/extension_version.h"
#include "pg/planner/answers.h"
#include "pg/planner/prospects.h"

extern "C" {
#include "executor/executor.h"
#include "funcapi.h"
#include "parser/analyze.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/array.h"
#include "utils/builtins.h"

SQL_FUNCTION(gpujoin_why);
}

namespace gpujoin {
namespace {

constexpr int kColumns = 6;

Datum names_of(const List* tables) {
    Datum* names = unset<Datum>(Max(1, list_length(tables)));
    int count = 0;
    ListCell* cell;
    foreach (cell, tables) names[count++] = CStringGetTextDatum(static_cast<const char*>(lfirst(cell)));
    return PointerGetDatum(construct_array(names, count, TEXTOID, -1, false, TYPALIGN_INT));
}

void put_row(const JoinAnswer& answer, ReturnSetInfo* result) {
    Datum values[kColumns] = {names_of(answer.tables), CStringGetTextDatum(answer.join->kind),
                              BoolGetDatum(answer.join->is_taken), CStringGetTextDatum(answer.join->node)};
    bool nulls[kColumns] = {};
    const char* texts[] = {answer.reason, answer.advice};
    for (int i = 0; i < 2; i++) {
        nulls[4 + i] = texts[i] == nullptr;
        if (texts[i]) values[4 + i] = CStringGetTextDatum(texts[i]);
    }
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

// Errors in the statement point into it, not into the one that calls us.
void point_into_statement(void* text) {
    int position = geterrposition();
    if (position <= 0) return;
    errposition(0);
    internalerrposition(position);
    internalerrquery(static_cast<const char*>(text));
}

List* queries_of(const char* text) {
    List* statements = pg_parse_query(text);
    if (list_length(statements) != 1)
        ereport(ERROR, errcode(ERRCODE_SYNTAX_ERROR),
                statements == NIL
                    ? errmsg("there is no statement to plan")
                    : errmsg("gpujoin_why() takes one statement, and this is %d", list_length(statements)));
    auto* statement = linitial_node(RawStmt, statements);
    const bool is_explain = IsA(statement->stmt, ExplainStmt);
    List* queries = pg_analyze_and_rewrite_fixedparams(statement, text, nullptr, 0, nullptr);
    ListCell* cell;
    foreach (cell, queries)
        if (const Query* query = lfirst_node(Query, cell); query->commandType == CMD_UTILITY)
            ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("gpujoin_why() takes a statement that is planned, which %s is not",
                           GetCommandTagName(CreateCommandTag(query->utilityStmt))),
                    is_explain
                        ? errhint("Give the statement without EXPLAIN.")
                        : errhint("Give a SELECT, INSERT, UPDATE, DELETE or MERGE; of a statement that "
                                  "contains a query, that query."));
    return queries;
}

// The hooks write into the recorder during this run alone, whatever becomes of it.
PlannedStmt* plan_recorded(Query* query, const char* text, Recorder* mine) {
    Recorder* const before = recorder;
    PlannedStmt* volatile statement = nullptr;
    recorder = mine;
    const bool was_only_explained = set_only_explained(true);
    PG_TRY();
    { statement = pg_plan_query(query, text, CURSOR_OPT_PARALLEL_OK, nullptr); }
    PG_FINALLY();
    {
        recorder = before;
        set_only_explained(was_only_explained);
    }
    PG_END_TRY();
    return statement;
}

// As EXPLAIN does, whose statement is never run.
void check_permissions(PlannedStmt* statement, const char* text) {
    QueryDesc* description = CreateQueryDesc(statement, text, GetActiveSnapshot(), InvalidSnapshot,
                                             None_Receiver, nullptr, nullptr, 0);
    ExecutorStart(description, EXEC_FLAG_EXPLAIN_ONLY);
    ExecutorEnd(description);
    FreeQueryDesc(description);
}

void put_rows_of(const char* text, ReturnSetInfo* result) {
    ErrorContextCallback callback = {error_context_stack, point_into_statement, const_cast<char*>(text)};
    error_context_stack = &callback;
    ListCell* cell;
    foreach (cell, queries_of(text)) {
        auto* query = lfirst_node(Query, cell);
        Recorder mine = {query, CurrentMemoryContext, NIL, NIL, NIL};
        PlannedStmt* statement = plan_recorded(query, text, &mine);
        check_permissions(statement, text);
        ListCell* of_join;
        foreach (of_join, answers_of(statement, &mine))
            put_row(*static_cast<const JoinAnswer*>(lfirst(of_join)), result);
    }
    error_context_stack = callback.previous;
}

}  // namespace
}  // namespace gpujoin

Datum gpujoin_why(PG_FUNCTION_ARGS) {
    using namespace gpujoin;
    require_same_version(fcinfo);
    const char* statement = TextDatumGetCString(PG_GETARG_DATUM(0));
    InitMaterializedSRF(fcinfo, 0);
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpujoin_why", ALLOCSET_DEFAULT_SIZES);
    MemoryContext before = MemoryContextSwitchTo(context);
    put_rows_of(statement, reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo));
    MemoryContextSwitchTo(before);
    MemoryContextDelete(context);
    return Datum{0};
}
