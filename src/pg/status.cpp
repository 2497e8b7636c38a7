// The SQL functions behind gpujoin_version(), gpujoin_status(), gpujoin_calibrate() and the views
// gpujoin_devices and gpujoin_running.
#include <cstring>

#include "pg/calibrate.h"
#include "pg/allocate.h"
#include "pg/client/inquiry.h"
#include "pg/compat.h"
#include "pg/extension_version.h"
#include "pg/join_hook.h"
#include "pg/report.h"
#include "pg/running_joins.h"
#include "pg/server_state.h"
#include "pg/settings.h"
#include "pg/shared_state.h"

extern "C" {
#include "access/htup_details.h"
#include "commands/dbcommands.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

SQL_FUNCTION(gpujoin_version);
SQL_FUNCTION(gpujoin_status);
SQL_FUNCTION(gpujoin_list_devices);
SQL_FUNCTION(gpujoin_calibrate);
SQL_FUNCTION(gpujoin_list_running);
}

namespace gpujoin {

namespace {

// A row under construction, filled from left to right.
struct Row {
    static constexpr int kMaxValues = 16;
    TupleDesc descriptor;
    int count;
    Datum values[kMaxValues];
    bool nulls[kMaxValues];
};

Row make_row(FunctionCallInfo fcinfo) {
    Row row = {};
    if (get_call_result_type(fcinfo, nullptr, &row.descriptor) != TYPEFUNC_COMPOSITE ||
        row.descriptor->natts > Row::kMaxValues)
        elog(ERROR, "return type must be a row type");
    row.descriptor = BlessTupleDesc(row.descriptor);
    return row;
}

void add(Row* row, Datum value, bool is_null = false) {
    row->values[row->count] = value;
    row->nulls[row->count++] = is_null;
}

void add_text(Row* row, const char* text) {
    bool is_null = text[0] == '\0';
    add(row, is_null ? Datum{0} : CStringGetTextDatum(text), is_null);
}

// A measured figure; NULL before there is one.
void add_figure(Row* row, double figure) {
    add(row, Float8GetDatum(figure), figure == 0);
}

void add_bytes(Row* row, uint64 bytes) {
    add(row, Int64GetDatum(static_cast<int64>(bytes)), bytes == 0);
}

Datum finish(const Row* row, FunctionCallInfo fcinfo) {
    if (row->count != row->descriptor->natts) report_other_version(fcinfo);
    return HeapTupleGetDatum(
        heap_form_tuple(row->descriptor, const_cast<Datum*>(row->values), const_cast<bool*>(row->nulls)));
}

const char* name_of(ServerPhase phase) {
    switch (phase) {
        case ServerPhase::NotPreloaded:
            return "not preloaded";
        case ServerPhase::Starting:
            return "starting";
        case ServerPhase::Ready:
            return "ready";
        case ServerPhase::Down:
            return "down";
    }
    return "unknown";
}

const char* name_of(RunningPhase phase) {
    switch (phase) {
        case RunningPhase::Building:
            return "building";
        case RunningPhase::Sealing:
            return "sealing";
        case RunningPhase::Probing:
            return "probing";
        case RunningPhase::Finishing:
            return "finishing";
    }
    return "unknown";
}

void add_running_join(Row* row, const RunningFacts& join) {
    const char* database = get_database_name(join.database);
    add(row, Int32GetDatum(join.pid));
    add(row, Int32GetDatum(join.leader_pid), join.leader_pid == 0);
    add_text(row, database ? database : "");
    add(row, TimestampTzGetDatum(join.since));
    add_text(row, name_of(join.phase));
    add_text(row, join.device);
    for (uint64 figure : {join.build_rows, join.probe_rows, join.result_rows, join.bytes})
        add(row, Int64GetDatum(static_cast<int64>(figure)));
}

// Why joins cannot be taken at present; empty when they can.
const char* reason_against(const ServerFacts& facts) {
    if (!IsUnderPostmaster) return "in single-user mode there is no server";
    switch (facts.phase) {
        case ServerPhase::NotPreloaded:
            return "gpujoin is not in shared_preload_libraries";
        case ServerPhase::Starting:
            return psprintf("the server has been starting since %s", timestamptz_to_str(facts.since));
        case ServerPhase::Down:
            return psprintf("the server has been down since %s; its last words were: %s",
                            timestamptz_to_str(facts.since), facts.last_words);
        case ServerPhase::Ready:
            if (!server_is_ready()) return "the server does not answer";
            break;
    }
    if (!join_hook_is_active())
        return "another extension has replaced the planner's join hook; "
               "it must come before gpujoin in shared_preload_libraries";
    return setting_enabled ? "" : "gpujoin.enabled is off";
}

}  // namespace

}  // namespace gpujoin

Datum gpujoin_version(PG_FUNCTION_ARGS) {
    (void)fcinfo;
    PG_RETURN_TEXT_P(cstring_to_text(GPUJOIN_VERSION));
}

Datum gpujoin_status(PG_FUNCTION_ARGS) {
    using namespace gpujoin;
    ServerFacts facts;
    read_server_facts(&facts);
    const char* reason = reason_against(facts);
    Row row = make_row(fcinfo);
    add(&row, BoolGetDatum(reason[0] == '\0'));
    add_text(&row, reason);
    add_text(&row, name_of(facts.phase));
    add(&row, TimestampTzGetDatum(facts.since), facts.phase == ServerPhase::NotPreloaded);
    add(&row, Int64GetDatum(static_cast<int64>(facts.generation)));
    add(&row, Int32GetDatum(facts.server_pid), facts.server_pid == 0);
    add_text(&row, facts.last_words);
    add(&row, BoolGetDatum(facts.has_gpu));
    add_bytes(&row, facts.device_memory);
    add_bytes(&row, facts.host_memory);
    add_bytes(&row, facts.staging_memory);
    add(&row, BoolGetDatum(setting_enabled));
    add_text(&row, setting_device);
    return finish(&row, fcinfo);
}

// One row a call. The devices are asked for once, by the first call.
Datum gpujoin_list_devices(PG_FUNCTION_ARGS) {
    using namespace gpujoin;
    FuncCallContext* calls;
    if (SRF_IS_FIRSTCALL()) {
        calls = SRF_FIRSTCALL_INIT();
        MemoryContext caller = MemoryContextSwitchTo(calls->multi_call_memory_ctx);
        auto* devices = zeroed<DevicesBody>();
        Status why;
        if (!client_get_devices(devices, &why))
            ereport(WARNING, (errmsg_internal("%s", why.message),
                              why.detail[0] != '\0' ? errdetail_internal("%s", why.detail) : 0));
        calls->user_fctx = devices;
        calls->max_calls = devices->count;
        MemoryContextSwitchTo(caller);
    }
    calls = SRF_PERCALL_SETUP();
    if (calls->call_cntr >= calls->max_calls) SRF_RETURN_DONE(calls);

    const DeviceBody& device = static_cast<DevicesBody*>(calls->user_fctx)->device[calls->call_cntr];
    char text[sizeof device.state];
    Row row = make_row(fcinfo);
    copy_clean_text(text, sizeof device.engine, device.engine);
    add_text(&row, text);
    add(&row, Int32GetDatum(device.number), device.number < 0);
    copy_clean_text(text, sizeof device.name, device.name);
    add_text(&row, text);
    copy_clean_text(text, sizeof device.state, device.state);
    add_text(&row, text);
    add(&row, Int32GetDatum(static_cast<int32>(device.processors)));
    add(&row, Int64GetDatum(static_cast<int64>(device.memory)));
    add(&row, Int64GetDatum(static_cast<int64>(device.free_memory)));
    add(&row, Int64GetDatum(static_cast<int64>(device.used_memory)));
    add(&row, Int32GetDatum(static_cast<int32>(device.sessions)));
    add_figure(&row, device.rates.setup_ns / 1e6);
    add_figure(&row, device.rates.build_ns);
    add_figure(&row, device.rates.probe_ns);
    add_figure(&row, device.rates.match_ns);
    add_figure(&row, device.rates.transfer_ns > 0 ? 1e3 / device.rates.transfer_ns : 0);
    SRF_RETURN_NEXT(calls, finish(&row, fcinfo));
}

Datum gpujoin_calibrate(PG_FUNCTION_ARGS) {
    (void)fcinfo;
    using namespace gpujoin;
    Status why;
    if (!calibrate(&why)) report_failure(why);
    PG_RETURN_VOID();
}

Datum gpujoin_list_running(PG_FUNCTION_ARGS) {
    using namespace gpujoin;
    InitMaterializedSRF(fcinfo, 0);
    auto* result = reinterpret_cast<ReturnSetInfo*>(fcinfo->resultinfo);
    for (int place = 0; place < running_join_places(); place++) {
        RunningFacts facts;
        if (!read_running_join(place, &facts)) continue;
        Row row = {};
        add_running_join(&row, facts);
        if (row.count != result->setDesc->natts) report_other_version(fcinfo);
        tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
    }
    return Datum{0};
}
