// Setting up a session.
#include "session.h"

#include <cstdio>
#include <cstdlib>

namespace gpujoin::bench {

Session::Session(const Options& options)
    : options(options), host(make_host_place()), cpu_engine(make_cpu_engine(options.threads)) {
    if (options.device == "cpu") return;
    std::string why_not;
    device = open_device(options.device == "auto" ? 0 : atoi(options.device.c_str()), &why_not);
    if (!device) fprintf(stderr, "no GPU: %s\n", why_not.c_str());
}

const Inputs& Session::inputs(const Workload& workload, Place& place) {
    if (kept_.workload != &workload || kept_.place != &place) {
        forget_inputs();
        kept_.inputs = make_inputs(workload, place);
        kept_.workload = &workload;
        kept_.place = &place;
    }
    return kept_.inputs;
}

std::string failure_of(const Outcome& outcome, const Check& expected) {
    char text[900];
    if (!outcome.status.ok()) {
        snprintf(text, sizeof text, "%s %s", outcome.status.message, outcome.status.detail);
        return text;
    }
    bool is_right = outcome.check.rows == expected.rows;
    if (outcome.checked) is_right &= outcome.check.sum == expected.sum;
    if (is_right) return "";
    snprintf(text, sizeof text, "WRONG RESULT: %llu rows instead of %llu%s",
             static_cast<unsigned long long>(outcome.check.rows),
             static_cast<unsigned long long>(expected.rows),
             outcome.check.rows == expected.rows ? ", the checksum differs" : "");
    return text;
}

}  // namespace gpujoin::bench
