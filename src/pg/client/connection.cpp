// See connection.h.
#include "pg/client/connection.h"

#include <unistd.h>

#include "pg/allocate.h"
#include "pg/client/arena.h"

extern "C" {
#include "miscadmin.h"
#include "utils/memutils.h"
}

namespace gpujoin {

namespace {

void on_context_reset(void* connection) {
    channel_close(&static_cast<Connection*>(connection)->channel);
}

Connection* make_connection(MemoryContext parent) {
    MemoryContext context = AllocSetContextCreate(parent, "gpujoin connection", ALLOCSET_SMALL_SIZES);
    auto* connection = zeroed_in<Connection>(context);
    connection->context = context;
    connection->channel = Channel{};
    connection->on_reset = {on_context_reset, connection, nullptr};
    MemoryContextRegisterResetCallback(context, &connection->on_reset);
    return connection;
}

Reply greet(Channel* channel, const ServerFacts& server, TimestampTz deadline, Status* why) {
    Reply reply = channel_connect(channel, server, why);
    if (reply != Reply::Got) return reply;
    Message message;
    int descriptor;
    HelloBody hello = {MyProcPid, 0, mapped_arena()};
    reply = channel_ask(channel, deadline, {MessageType::Hello, &hello}, MessageType::Welcome, &message,
                        &descriptor, why);
    if (reply == Reply::Got && descriptor >= 0) close(descriptor);
    return reply;
}

}  // namespace

Reply connection_open(MemoryContext parent, const ServerFacts& server, TimestampTz deadline,
                      Connection** opened, Status* why) {
    Connection* connection = make_connection(parent);
    Reply reply = greet(&connection->channel, server, deadline, why);
    if (reply == Reply::Got)
        *opened = connection;
    else
        connection_close(connection);
    return reply;
}

void connection_close(Connection* connection) {
    MemoryContextDelete(connection->context);
}

}  // namespace gpujoin
