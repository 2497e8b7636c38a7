// See inquiry.h.
#include "pg/client/inquiry.h"

#include <cstring>
#include <unistd.h>

#include "pg/allocate.h"
#include "pg/client/arena.h"
#include "pg/client/channel.h"

extern "C" {
#include "utils/memutils.h"
#include "utils/timestamp.h"
}

namespace gpujoin {

namespace {

constexpr int kPatienceMs = 3000;
constexpr int kCalibrationPatienceMs = 5000;  // where other work keeps the devices busy

// Closes its socket when its context is reset, as where a wait is interrupted.
struct OwnConnection {
    MemoryContext context;
    Channel channel;
    MemoryContextCallback on_reset;
};

void on_context_reset(void* connection) {
    channel_close(&static_cast<OwnConnection*>(connection)->channel);
}

OwnConnection* make_connection() {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpujoin inquiry", ALLOCSET_SMALL_SIZES);
    auto* connection = zeroed_in<OwnConnection>(context);
    connection->context = context;
    connection->channel = Channel{};
    connection->on_reset = {on_context_reset, connection, nullptr};
    MemoryContextRegisterResetCallback(context, &connection->on_reset);
    return connection;
}

// What the answer has behind its header.
struct Expected {
    MessageType type;
    void* body;
    size_t bytes;
};

bool ask_over(Channel* channel, const ServerFacts& server, TimestampTz deadline, const Question& question,
              const Expected& expected, Status* why) {
    Message message;
    int descriptor;
    HelloBody hello = {MyProcPid, 0, mapped_arena()};
    if (channel_connect(channel, server, why) != Reply::Got ||
        channel_ask(channel, deadline, {MessageType::Hello, &hello}, MessageType::Welcome, &message,
                    &descriptor, why) != Reply::Got)
        return false;
    if (descriptor >= 0) close(descriptor);
    if (channel_ask(channel, deadline, question, expected.type, &message, &descriptor, why) != Reply::Got)
        return false;
    memcpy(expected.body, message.body, expected.bytes);
    return true;
}

bool inquire(const Question& question, int patience_ms, const Expected& expected, Status* why) {
    ServerFacts facts;
    read_server_facts(&facts);
    *why = server_is_down(facts);
    if (facts.phase != ServerPhase::Ready) return false;

    OwnConnection* connection = make_connection();
    TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), patience_ms);
    bool is_answered = ask_over(&connection->channel, facts, deadline, question, expected, why);
    MemoryContextDelete(connection->context);
    return is_answered;
}

}  // namespace

bool client_get_devices(DevicesBody* devices, Status* why) {
    return inquire({MessageType::GetDevices}, kPatienceMs, {MessageType::Devices, devices, sizeof *devices},
                   why);
}

bool client_calibrate(DevicesBody* devices, Status* why) {
    return inquire({MessageType::Calibrate}, kCalibrationPatienceMs,
                   {MessageType::Devices, devices, sizeof *devices}, why);
}

bool client_get_kept(KeptTablesBody* tables, Status* why) {
    return inquire({MessageType::GetKept}, kPatienceMs, {MessageType::KeptTables, tables, sizeof *tables},
                   why);
}

bool client_forget_kept(const ChunkKey& table, KeptTablesBody* left, Status* why) {
    const ForgetKeptBody body = {table};
    return inquire({MessageType::ForgetKept, &body}, kPatienceMs,
                   {MessageType::KeptTables, left, sizeof *left}, why);
}

}  // namespace gpujoin
