// See heartbeat.h. A connection that the server closes is made again at the next tick: if the server has
// ended, the supervisor will see that; if not, it goes on.
#include "pg/heartbeat.h"

#include <unistd.h>

#include "fault/fault.h"

#include "pg/settings.h"

namespace gpujoin {

namespace {

constexpr int kFewestTicks = 10;  // to gpujoin.server_timeout
constexpr int kLongestTickMs = 500;
constexpr int kStartFactor =
    100;  // times as long to start: a GPU's context, pinned memory, code that is compiled

// The questions' numbers.
enum : uint64 { kDevices = 1, kRates = 2, kPing = 3 };

// A question that cannot be sent goes unanswered.
void ask(Heartbeat* heartbeat, MessageType question, uint64 sequence, const void* body = nullptr) {
    FaultPause pause;
    uint32 bytes = encode(question, 0, sequence, body, body_bytes(question), {}, packet_buffer());
    if (channel_send(&heartbeat->channel, bytes) == Reply::Lost) channel_close(&heartbeat->channel);
}

// A server that cannot speak with us is no use; one that is short of something is asked again.
Heard judge(Heartbeat* heartbeat, const Status& why) {
    if (why.fault == Fault::Protocol) return Heard::Refusal;
    channel_close(&heartbeat->channel);
    return Heard::Nothing;
}

Heard file(Heartbeat* heartbeat, const Message& message, DevicesBody* devices, Status* why) {
    uint64 sequence = message.header->sequence;
    switch (message.header->type) {
        case MessageType::Pong:
            heartbeat->is_asked = false;
            heartbeat->may_leave = heartbeat->asks_to_leave;
            return Heard::Nothing;
        case MessageType::Devices:
            *devices = message.as<DevicesBody>();
            if (sequence == kRates) {
                heartbeat->is_measured = true;
                return Heard::Measured;
            }
            if (heartbeat->is_known) return Heard::Nothing;
            heartbeat->is_known = true;
            return Heard::Devices;
        case MessageType::Failed:
            *why = message.as<Status>();
            if (sequence != kRates) return judge(heartbeat, *why);
            heartbeat->is_measured = true;
            return Heard::Unmeasured;
        default:
            *why = malformed_answer("It is no answer to a question.");
            return Heard::Refusal;
    }
}

int ticks_to_timeout() {
    return Max(kFewestTicks, (setting_server_timeout + kLongestTickMs - 1) / kLongestTickMs);
}

int start_factor(const Heartbeat* heartbeat) {
    return heartbeat->is_listening ? 1 : kStartFactor;
}

long tick_ms() {
    return setting_server_timeout / ticks_to_timeout();
}

long ms_since_tick(const Heartbeat* heartbeat) {
    instr_time elapsed;
    INSTR_TIME_SET_CURRENT(elapsed);
    INSTR_TIME_SUBTRACT(elapsed, heartbeat->ticked);
    return static_cast<long>(INSTR_TIME_GET_MILLISEC(elapsed));
}

}  // namespace

void begin_heartbeat(Heartbeat* heartbeat) {
    *heartbeat = Heartbeat{};
    INSTR_TIME_SET_CURRENT(heartbeat->ticked);
}

void end_heartbeat(Heartbeat* heartbeat) {
    channel_close(&heartbeat->channel);
}

void greet_server(Heartbeat* heartbeat, const ServerFacts& server) {
    if (!heartbeat->is_listening) heartbeat->silent_ticks = 0;
    heartbeat->is_listening = true;
    heartbeat->is_asked = false;
    channel_close(&heartbeat->channel);
    Status why;
    if (channel_connect(&heartbeat->channel, server, &why) != Reply::Got) return;
    if (!heartbeat->is_known) ask(heartbeat, MessageType::GetDevices, kDevices);
    if (!heartbeat->is_measured) ask(heartbeat, MessageType::Calibrate, kRates);
}

Heard hear_server(Heartbeat* heartbeat, DevicesBody* devices, Status* why) {
    while (heartbeat->channel.socket >= 0) {
        Message message;
        int descriptor;
        Reply reply = channel_receive(&heartbeat->channel, &message, &descriptor, why);
        if (descriptor >= 0) close(descriptor);
        if (reply == Reply::Nothing) break;
        if (reply == Reply::Lost) {
            channel_close(&heartbeat->channel);
            break;
        }
        heartbeat->silent_ticks = 0;
        Heard heard =
            reply == Reply::Failed ? judge(heartbeat, *why) : file(heartbeat, message, devices, why);
        if (heard != Heard::Nothing) return heard;
    }
    return Heard::Nothing;
}

long ms_to_tick(const Heartbeat* heartbeat) {
    return Max(0, tick_ms() - ms_since_tick(heartbeat));
}

void tick(Heartbeat* heartbeat, const ServerFacts& server, bool leave_when_idle) {
    INSTR_TIME_SET_CURRENT(heartbeat->ticked);
    heartbeat->silent_ticks++;
    if (!heartbeat->is_listening) return;
    if (heartbeat->channel.socket < 0) greet_server(heartbeat, server);
    if (heartbeat->channel.socket < 0 || heartbeat->is_asked) return;
    heartbeat->is_asked = true;
    heartbeat->asks_to_leave = leave_when_idle;
    heartbeat->may_leave |= leave_when_idle;
    PingBody body = {leave_when_idle, 0};
    ask(heartbeat, MessageType::Ping, kPing, &body);
}

bool was_heard(const Heartbeat* heartbeat) {
    return heartbeat->silent_ticks == 1;
}

bool is_doubtful(const Heartbeat* heartbeat) {
    return heartbeat->silent_ticks > ticks_to_timeout() / 2;
}

bool is_overdue(const Heartbeat* heartbeat) {
    return heartbeat->silent_ticks > ticks_to_timeout() * start_factor(heartbeat);
}

long patience_ms(const Heartbeat* heartbeat) {
    return static_cast<long>(setting_server_timeout) * start_factor(heartbeat);
}

}  // namespace gpujoin
