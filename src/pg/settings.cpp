// Definition of the settings. Of those that the server is started with, the device belongs to the postmaster;
// a reload may change the others (see renewal.h). Where gpujoin is not preloaded there is no server, and they
// are defined only so that postgresql.conf may name them.
#include "pg/settings.h"

#include <cfloat>

#include "wire/join_spec.h"
#include "wire/message.h"
#include "wire/stats.h"

#include "pg/compat.h"

namespace gpujoin {

bool setting_enabled = true;
bool setting_force = false;
bool setting_chain = true;
bool setting_aggregate = true;
bool setting_float_aggregates = true;
bool setting_decorrelate = true;
bool setting_carry = false;
bool setting_keep_in_background = true;
int setting_keep_workers = 0;
int setting_algorithm = static_cast<int>(Algorithm::Auto);
char* setting_device = nullptr;
int setting_device_memory = 0;
int setting_staging_memory = 256;
int setting_host_memory = 0;
int setting_keep_memory = -1;
int setting_max_join_memory = 0;
int setting_cpu_threads = 0;
int setting_server_timeout = 5000;
double setting_startup_cost = 300;
double setting_encode_cost = 0.0004;
double setting_transfer_cost = -1;
double setting_build_cost = -1;
double setting_probe_cost = -1;
double setting_match_cost = -1;
double setting_pair_cost = 0.0005;
double setting_emit_cost = 0.0015;

namespace {

constexpr int kMaxMemoryMb = 1 << 26;  // 64 TB: what an address space holds with room to spare
constexpr int kMinStagingMb = 32;
constexpr int kMaxDeviceNumber = 1023;
constexpr int kMinServerTimeoutMs = 100;
constexpr int kMaxServerTimeoutMs = 3600 * 1000;

const struct config_enum_entry algorithm_options[] = {
    {"auto", static_cast<int>(Algorithm::Auto), false},
    {"hash", static_cast<int>(Algorithm::Hash), false},
    {"sort_merge", static_cast<int>(Algorithm::SortMerge), false},
    {"index", static_cast<int>(Algorithm::Index), false},
    {"nested_loop", static_cast<int>(Algorithm::NestedLoop), false},
    {nullptr, 0, false},
};

const char* skip_blanks(const char* text) {
    while (*text == ' ' || *text == '\t') text++;
    return text;
}

// GPU numbers separated by commas, with blanks wherever a reader likes them.
bool is_device_list(const char* text) {
    for (;;) {
        text = skip_blanks(text);
        int number = 0;
        int digits = 0;
        for (; *text >= '0' && *text <= '9'; text++, digits++)
            if ((number = number * 10 + (*text - '0')) > kMaxDeviceNumber) return false;
        if (digits == 0) return false;
        text = skip_blanks(text);
        if (*text == '\0') return true;
        if (*text++ != ',') return false;
    }
}

// "cpu", or several of it: CPU engines that stand in for as many GPUs.
bool is_cpu_list(const char* text) {
    for (uint32 engines = 1; engines <= kMaxReplicas; engines++) {
        text = skip_blanks(text);
        if (pg_strncasecmp(text, "cpu", 3) != 0) return false;
        text = skip_blanks(text + 3);
        if (*text == '\0') return true;
        if (*text++ != ',') return false;
    }
    return false;
}

bool check_device(char** value, void**, GucSource) {
    if (pg_strcasecmp(*value, "auto") == 0 || is_cpu_list(*value) || is_device_list(*value)) return true;
    GUC_check_errdetail(
        "It must be \"auto\", \"cpu\", or GPU numbers from 0 to %d separated by commas, such as \"0,1\".",
        kMaxDeviceNumber);
    return false;
}

void define_cost(const char* name, const char* what, double* setting) {
    DefineCustomRealVariable(name, what, nullptr, setting, *setting, 0, DBL_MAX, PGC_USERSET, GUC_EXPLAIN,
                             nullptr, nullptr, nullptr);
}

void define_engine_cost(const char* name, const char* what, double* setting) {
    DefineCustomRealVariable(name, what, "-1 selects what was measured on the device.", setting, *setting, -1,
                             DBL_MAX, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
}

void define_planner_settings() {
    DefineCustomBoolVariable("gpujoin.enabled", "Enables the planner's use of GPU Join plans.", nullptr,
                             &setting_enabled, setting_enabled, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr,
                             nullptr);
    DefineCustomBoolVariable("gpujoin.force", "Plans every eligible join as GPU Join, whatever the cost.",
                             "For tests and troubleshooting.", &setting_force, setting_force, PGC_USERSET,
                             GUC_EXPLAIN, nullptr, nullptr, nullptr);
    DefineCustomEnumVariable("gpujoin.algorithm", "Sets the algorithm by which GPU Join executes joins.",
                             "With auto the engine chooses by what it has counted.", &setting_algorithm,
                             setting_algorithm, algorithm_options, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr,
                             nullptr);
    DefineCustomBoolVariable("gpujoin.chain", "Lets one GPU Join run several joins.", nullptr, &setting_chain,
                             setting_chain, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
    DefineCustomBoolVariable(
        "gpujoin.aggregate", "Lets aggregates run in the engine, above joins and tables.", nullptr,
        &setting_aggregate, setting_aggregate, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
    DefineCustomBoolVariable(
        "gpujoin.float_aggregates", "Lets sums and averages of floats run in the engine.",
        "Their last digits depend on the order in which values are added up.", &setting_float_aggregates,
        setting_float_aggregates, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
    DefineCustomBoolVariable(
        "gpujoin.decorrelate",
        "Lets correlated subqueries be planned as joins with all their results, and NOT IN as antijoins.",
        nullptr, &setting_decorrelate, setting_decorrelate, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr,
        nullptr);
    DefineCustomBoolVariable(
        "gpujoin.keep_in_background",
        "Lets a process of its own read tables whose columns are to be kept, rather than queries.", nullptr,
        &setting_keep_in_background, setting_keep_in_background, PGC_USERSET, 0, nullptr, nullptr, nullptr);
    DefineCustomIntVariable(
        "gpujoin.keep_workers",
        "Sets how many processes of a database read tables whose columns are to be kept.",
        "Zero means the lesser of half the processors and a quarter of max_worker_processes, at most eight.",
        &setting_keep_workers, setting_keep_workers, 0, 16, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    DefineCustomBoolVariable("gpujoin.carry",
                             "Sends wanted probe columns through joins rather than keeping them.",
                             "For measurements and tests.", &setting_carry, setting_carry, PGC_USERSET,
                             GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE, nullptr, nullptr, nullptr);
    define_cost("gpujoin.startup_cost",
                "Sets the planner's estimate of the cost of opening a GPU Join session.",
                &setting_startup_cost);
    define_cost("gpujoin.encode_cost", "Sets the planner's estimate of the cost of encoding one value.",
                &setting_encode_cost);
    define_engine_cost(
        "gpujoin.transfer_cost",
        "Sets the planner's estimate of the cost of moving one megabyte to or from the engine.",
        &setting_transfer_cost);
    define_engine_cost("gpujoin.build_cost",
                       "Sets the planner's estimate of the engine's cost of one build row.",
                       &setting_build_cost);
    define_engine_cost("gpujoin.probe_cost",
                       "Sets the planner's estimate of the engine's cost of one probe row.",
                       &setting_probe_cost);
    define_engine_cost("gpujoin.match_cost", "Sets the planner's estimate of the engine's cost of one match.",
                       &setting_match_cost);
    define_cost("gpujoin.pair_cost",
                "Sets the planner's estimate of the CPU engine's cost of testing conditions on one pair.",
                &setting_pair_cost);
    define_cost("gpujoin.emit_cost", "Sets the planner's estimate of the cost of handing out one result row.",
                &setting_emit_cost);
}

void define_memory(const char* name, const char* what, const char* more, int* setting, int minimum) {
    DefineCustomIntVariable(name, what, more, setting, *setting, minimum, kMaxMemoryMb, PGC_SIGHUP,
                            GUC_UNIT_MB, nullptr, nullptr, nullptr);
}

// The superuser's, so that what is set for a role holds.
void define_join_settings() {
    DefineCustomIntVariable("gpujoin.max_join_memory",
                            "Sets the main memory, and the memory of a GPU, that one join may take.",
                            "A join that needs more goes through temporary files. Zero sets no limit but "
                            "those of all joins.",
                            &setting_max_join_memory, setting_max_join_memory, 0, kMaxMemoryMb, PGC_SUSET,
                            GUC_UNIT_MB | GUC_EXPLAIN, nullptr, nullptr, nullptr);
}

void define_server_settings() {
    GucContext context = process_shared_preload_libraries_in_progress ? PGC_POSTMASTER : PGC_SIGHUP;
    DefineCustomStringVariable("gpujoin.device", "Selects the devices that execute joins.",
                               "auto, cpu, or GPU numbers separated by commas.", &setting_device, "auto",
                               context, 0, check_device, nullptr, nullptr);
    define_memory("gpujoin.device_memory", "Sets the memory that joins may take on each GPU.",
                  "Zero selects four fifths of what is free when the server starts.", &setting_device_memory,
                  0);
    define_memory("gpujoin.staging_memory",
                  "Sets the memory shared with the server, through which rows travel.", nullptr,
                  &setting_staging_memory, kMinStagingMb);
    define_memory("gpujoin.host_memory",
                  "Sets the main memory that all joins together may take in the server.",
                  "Zero selects half of what the machine, or the container, has beside shared_buffers.",
                  &setting_host_memory, 0);
    define_memory("gpujoin.keep_memory",
                  "Sets the main memory that columns of tables may take in the server, so that they need not "
                  "be read again.",
                  "Zero keeps none, -1 selects an eighth of what the machine, or the container, has beside "
                  "shared_buffers.",
                  &setting_keep_memory, -1);
    DefineCustomIntVariable("gpujoin.cpu_threads", "Sets the number of threads of the server's CPU engine.",
                            "Zero selects as many as there are processors.", &setting_cpu_threads,
                            setting_cpu_threads, 0, kMaxCpuThreads, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    DefineCustomIntVariable(
        "gpujoin.server_timeout", "Sets the time after which a server that does not answer is replaced.",
        "One that is starting has a hundred times as long.", &setting_server_timeout, setting_server_timeout,
        kMinServerTimeoutMs, kMaxServerTimeoutMs, PGC_SIGHUP, GUC_UNIT_MS, nullptr, nullptr, nullptr);
}

}  // namespace

ServerSettings server_settings() {
    return {setting_device_memory, setting_host_memory, setting_staging_memory, setting_keep_memory,
            setting_cpu_threads};
}

void define_settings() {
    define_planner_settings();
    define_server_settings();
    define_join_settings();
    MarkGUCPrefixReserved("gpujoin");
}

}  // namespace gpujoin
