// See inquiry.h.
#include "pg/client/inquiry.h"

#include <cstring>

#include "pg/client/connection.h"

extern "C" {
#include "utils/timestamp.h"
}

namespace gpujoin {

namespace {

constexpr int kPatienceMs = 3000;
constexpr int kCalibrationPatienceMs = 5000;  // where other work keeps the devices busy
constexpr int kRetryMs = 20;

// What the answer has behind its header.
struct Expected {
    MessageType type;
    void* body;
    size_t bytes;
};

Reply ask_over(Channel* channel, TimestampTz deadline, const Question& question, const Expected& expected,
               Status* why) {
    Message message;
    int descriptor;
    Reply reply = channel_ask(channel, deadline, question, expected.type, &message, &descriptor, why);
    if (reply == Reply::Got) memcpy(expected.body, message.body, expected.bytes);
    return reply;
}

Reply ask_server(const ServerFacts& server, TimestampTz deadline, const Question& question,
                 const Expected& expected, Status* why) {
    Connection* connection;
    Reply reply = connection_open(CurrentMemoryContext, server, deadline, &connection, why);
    if (reply != Reply::Got) return reply;
    reply = ask_over(&connection->channel, deadline, question, expected, why);
    connection_close(connection);
    return reply;
}

// With patience while a server is being started, as where one makes room for another.
bool inquire(const Question& question, int patience_ms, const Expected& expected, Status* why) {
    Channel none;
    TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), patience_ms);
    for (;;) {
        ServerFacts facts;
        read_server_facts(&facts);
        *why = server_is_down(facts);
        if (facts.phase == ServerPhase::Ready) {
            Reply reply = ask_server(facts, deadline, question, expected, why);
            if (reply != Reply::Lost) return reply == Reply::Got;
        }
        bool is_one_to_come = facts.phase == ServerPhase::Ready || facts.phase == ServerPhase::Starting;
        if (!is_one_to_come || GetCurrentTimestamp() >= deadline) return false;
        channel_wait(&none, 0, kRetryMs);
    }
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
