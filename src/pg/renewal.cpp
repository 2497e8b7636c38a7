// See renewal.h.
#include "pg/renewal.h"

#include "pg/compat.h"

namespace gpujoin {

namespace {

// Other settings than the refused ones end the refusal: when these are set again, they are tried again.
ServerSettings next_settings(Renewal* renewal) {
    ServerSettings wanted = server_settings();
    if (renewal->has_refused && wanted != renewal->refused) renewal->has_refused = false;
    return renewal->has_refused ? renewal->proven : wanted;
}

// The names of the settings in which two differ, for a line of the log.
const char* differences(const ServerSettings& a, const ServerSettings& b) {
    static char names[160];
    const struct {
        const char* name;
        bool differs;
    } settings[] = {
        {"gpujoin.device_memory", a.device_memory != b.device_memory},
        {"gpujoin.host_memory", a.host_memory != b.host_memory},
        {"gpujoin.staging_memory", a.staging_memory != b.staging_memory},
        {"gpujoin.keep_memory", a.keep_memory != b.keep_memory},
        {"gpujoin.cpu_threads", a.cpu_threads != b.cpu_threads},
    };
    names[0] = '\0';
    for (const auto& setting : settings) {
        if (!setting.differs) continue;
        if (names[0] != '\0') strlcat(names, ", ", sizeof names);
        strlcat(names, setting.name, sizeof names);
    }
    return names;
}

}  // namespace

ServerSettings begin_with_settings(Renewal* renewal) {
    renewal->is_announced = false;
    return renewal->running = next_settings(renewal);
}

void note_ready(Renewal* renewal) {
    renewal->proven = renewal->running;
    renewal->has_proven = true;
}

bool has_to_go_back(Renewal* renewal, const char* last_words) {
    if (!renewal->has_proven || renewal->running == renewal->proven) return false;
    renewal->refused = renewal->running;
    renewal->has_refused = true;
    ereport(WARNING, (errmsg_internal("gpujoin server does not start with what was set: %s",
                                      differences(renewal->refused, renewal->proven)),
                      errdetail_internal("Its last words were: %s", last_words),
                      errhint("The values of before stay in use until these settings are changed again.")));
    return true;
}

bool is_renewal_due(Renewal* renewal, int server_pid, bool may_leave) {
    ServerSettings next = next_settings(renewal);
    bool is_due = next != renewal->running;
    if (is_due && !(renewal->is_announced && renewal->announced == next))
        ereport(LOG, (errmsg_internal("gpujoin server (PID %d) will be replaced as soon as no join runs, to "
                                      "apply what was changed: %s",
                                      server_pid, differences(next, renewal->running))));
    if (!is_due && renewal->is_announced && !may_leave)
        ereport(LOG, (errmsg_internal("gpujoin server (PID %d) will not be replaced: its settings are what "
                                      "they were",
                                      server_pid)));
    renewal->is_announced = is_due || (renewal->is_announced && may_leave);
    renewal->announced = next;
    return is_due;
}

}  // namespace gpujoin
