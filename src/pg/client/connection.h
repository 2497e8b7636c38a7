// Connection: one to the server without a session, for questions that need none, or for nothing but that the
// server stays: it makes room for one with other settings only when nobody is connected.
#pragma once

#include "pg/client/channel.h"

namespace gpujoin {

// Lives in a memory context of its own, which closes the socket when it is reset, as where a wait is
// interrupted.
struct Connection {
    MemoryContext context;
    Channel channel;
    MemoryContextCallback on_reset;
};

// Connects and says hello. Got, or the reason in *why and nothing open.
Reply connection_open(MemoryContext parent, const ServerFacts& server, TimestampTz deadline,
                      Connection** opened, Status* why);
void connection_close(Connection* connection);

}  // namespace gpujoin
