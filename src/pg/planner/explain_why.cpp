// See explain_why.h. The plan of EXPLAIN EXECUTE is of no planner run that was recorded: that is what is said
// then.
#include "pg/planner/explain_why.h"

#include <utility>

#include "pg/compat.h"
#include "pg/planner/answers.h"

namespace gpujoin {
namespace {

Explained explained;

// In text, one line for a join: "Hash Join of a, b: why".
void show_line(const JoinAnswer* answer, ExplainState* es) {
    StringInfoData line;
    initStringInfo(&line);
    appendStringInfoString(&line, answer->join->node);
    ListCell* cell;
    foreach (cell, answer->tables)
        appendStringInfo(&line, "%s%s", foreach_current_index(cell) > 0 ? ", " : " of ",
                         static_cast<const char*>(lfirst(cell)));
    appendStringInfo(&line, ": %s", answer->reason);
    ExplainPropertyText("Left to Core", line.data, es);
    if (!answer->advice) return;
    es->indent++;
    ExplainPropertyText("Advice", answer->advice, es);
    es->indent--;
}

void show_group(const JoinAnswer* answer, ExplainState* es) {
    ExplainOpenGroup("Join", nullptr, true, es);
    ExplainPropertyText("Node", answer->join->node, es);
    ExplainPropertyText("Kind", answer->join->kind, es);
    ExplainPropertyList("Tables", answer->tables, es);
    ExplainPropertyText("Reason", answer->reason, es);
    if (answer->advice) ExplainPropertyText("Advice", answer->advice, es);
    ExplainCloseGroup("Join", nullptr, true, es);
}

void show_answers(const PlannedStmt* statement, ExplainState* es) {
    ListCell* cell;
    foreach (cell, answers_of(statement, explained.record)) {
        const auto* answer = static_cast<const JoinAnswer*>(lfirst(cell));
        if (!answer->reason) continue;
        es->format == EXPLAIN_FORMAT_TEXT ? show_line(answer, es) : show_group(answer, es);
    }
}

void show_that_unknown(ExplainState* es) {
    constexpr const char* kUnknown = "not known of the plan of a prepared statement";
    if (es->format == EXPLAIN_FORMAT_TEXT) return ExplainPropertyText("Left to Core", kUnknown, es);
    ExplainOpenGroup("Join", nullptr, true, es);
    ExplainPropertyText("Reason", kUnknown, es);
    ExplainCloseGroup("Join", nullptr, true, es);
}

void show_reasons(const PlannedStmt* statement, ExplainState* es) {
    const bool is_text = es->format == EXPLAIN_FORMAT_TEXT;
    const bool is_known = explained.state == es && explained.record;
    if (!is_text) ExplainOpenGroup("Left to Core", "Left to Core", false, es);
    is_known ? show_answers(statement, es) : show_that_unknown(es);
    if (!is_text) ExplainCloseGroup("Left to Core", "Left to Core", false, es);
}

}  // namespace

void install_explain_why() {
    add_explain_option("gpujoin_why", show_reasons);
}

Explained set_explained(Explained now) {
    if (now.record) recorder = now.record;
    return std::exchange(explained, now);
}

}  // namespace gpujoin
