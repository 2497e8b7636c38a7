// Heartbeat: the supervisor's own connection to its server. Over it the supervisor learns that the server is
// of the same build, what devices it has and how fast they are, and from then on that the thread answers
// which owns all sessions.
//
// Silence is counted in ticks, ten to gpujoin.server_timeout, or more so that none is longer than half a
// second. However late the supervisor itself is, because it was stopped, the machine suspended, or other
// processes ran, it counts one tick at most, and only after it has looked for what the server has sent.
// Nothing here waits.
#pragma once

#include "pg/client/channel.h"
#include "pg/compat.h"
#include "pg/server_state.h"

extern "C" {
#include "portability/instr_time.h"
}

namespace gpujoin {

struct Heartbeat {
    Channel channel;
    bool is_listening;   // the server says that it listens; before, it has a hundred times as long
    bool is_known;       // it has told its devices
    bool is_measured;    // and their rates, or that there are none
    bool is_asked;       // a ping is under way
    bool asks_to_leave;  // which asks it to leave
    bool may_leave;      // it was asked to, and has not yet answered a ping that takes this back
    int silent_ticks;    // since it was last heard
    instr_time ticked;   // when the last tick was
};

// What was heard.
enum class Heard {
    Nothing,
    Devices,     // for the first time: the server is ready
    Measured,    // devices with their rates
    Unmeasured,  // it could not measure them: see *why
    Refusal,     // it is no use, because it does not speak as we do: see *why
};

// A server has been started: its time runs from now.
void begin_heartbeat(Heartbeat* heartbeat);
void end_heartbeat(Heartbeat* heartbeat);

// The server listens: connects, and asks for its devices and their rates.
void greet_server(Heartbeat* heartbeat, const ServerFacts& server);

// The next of what has arrived. Call it until there is nothing, and again before each tick.
Heard hear_server(Heartbeat* heartbeat, DevicesBody* devices, Status* why);

// Milliseconds until the next tick is due.
long ms_to_tick(const Heartbeat* heartbeat);
// Counts a tick, and asks the server for a sign of life, and to leave as soon as nobody uses it.
void tick(Heartbeat* heartbeat, const ServerFacts& server, bool leave_when_idle);

// Was the server heard in the tick that has just ended?
bool was_heard(const Heartbeat* heartbeat);
// How long it may be silent.
long patience_ms(const Heartbeat* heartbeat);
// Has it been silent for so long that joins should not be planned; so long that it must be replaced?
bool is_doubtful(const Heartbeat* heartbeat);
bool is_overdue(const Heartbeat* heartbeat);

}  // namespace gpujoin
