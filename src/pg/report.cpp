// Conversion of Status to ereport.
#include "pg/report.h"

#include <cstring>

#include "pg/wait_events.h"

extern "C" {
#include "access/parallel.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/plancache.h"
}

namespace gpujoin {

void copy_clean_text(char* target, size_t size, const char* text) {
    size_t length = strnlen(text, size - 1);
    for (size_t i = 0; i < length; i++) target[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    target[length] = '\0';
}

namespace {

constexpr long kPatienceMs = 1000;
constexpr long kPauseMs = 50;

// Where a process of a parallel query fails, the server may end the session of all of them: the query's error
// is the first one, which has been sent to the leader by then. The leader raises it here; other workers give
// it the time to end them.
void let_first_error_win() {
    CHECK_FOR_INTERRUPTS();
    for (long waited = 0; IsParallelWorker() && waited < kPatienceMs; waited += kPauseMs) {
        (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, kPauseMs,
                        wait_event(Wait::FirstError));
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
    }
}

}  // namespace

void report_failure(const Status& status) {
    Status clean = status;
    copy_clean_text(clean.sqlstate, sizeof clean.sqlstate, status.sqlstate);
    copy_clean_text(clean.message, sizeof clean.message, status.message);
    copy_clean_text(clean.detail, sizeof clean.detail, status.detail);
    copy_clean_text(clean.hint, sizeof clean.hint, status.hint);

    bool has_code = strlen(clean.sqlstate) == 5 && strcmp(clean.sqlstate, "00000") != 0;
    const char* code = has_code ? clean.sqlstate : "XX000";
    int sqlstate = MAKE_SQLSTATE(code[0], code[1], code[2], code[3], code[4]);
    if (sqlstate == ERRCODE_SYSTEM_ERROR) {
        let_first_error_win();
        ResetPlanCache();
    }
    ereport(ERROR, (errcode(sqlstate), errmsg_internal("%s", clean.message),
                    clean.detail[0] != '\0' ? errdetail_internal("%s", clean.detail) : 0,
                    clean.hint[0] != '\0' ? errhint("%s", clean.hint) : 0));
    pg_unreachable();
}

}  // namespace gpujoin
