// Channel: a connected socket to the server. It sends and receives whole messages without blocking, and
// waits through the process latch, so that every wait can be interrupted and ends with the postmaster.
#pragma once

#include "wire/message.h"
#include "wire/status.h"

#include "pg/compat.h"
#include "pg/server_state.h"

extern "C" {
#include "datatype/timestamp.h"
}

namespace gpujoin {

struct Channel {
    int socket = -1;        // -1: closed
    uint64 generation = 0;  // of the server at the other end
    double waited_ms = 0;
};

// What came of an attempt to talk to the server.
enum class Reply {
    Got,
    Nothing,  // would have to wait
    Lost,     // nobody listens, or the connection was closed
    Failed,   // it refused, or sent nonsense: see *why
};

// Connects to a server's socket (pg/socket_place.h) and checks
// that it runs as our user.
Reply channel_connect(Channel* channel, const ServerFacts& server, Status* why);
void channel_close(Channel* channel);

// The buffer to encode() messages in: one for the process.
std::byte* packet_buffer();

// Sends the message in the packet buffer. Nothing: the socket is full.
Reply channel_send(Channel* channel, uint32 bytes);

// Receives and checks a message. It stays valid until the next call, for whatever channel. *descriptor is the
// file descriptor that came with it, which the caller closes, or -1.
Reply channel_receive(Channel* channel, Message* message, int* descriptor, Status* why);

// Waits for socket events (WL_SOCKET_...) at most timeout_ms milliseconds, and services interrupts, which may
// raise an error.
void channel_wait(Channel* channel, uint32 events, long timeout_ms);
// How long to wait at a time: then whoever waits looks whether the server is still alive.
inline constexpr long kLookMs = 1000;

struct Question {
    MessageType type;
    const void* body = nullptr;
    std::span<const std::byte> tail = {};  // of an Open it may take several messages
    uint64 session = 0;
};

// Sends a message and waits for its answer, of type `expected`: for the time when nothing else can arrive.
// Nothing: the deadline has passed.
Reply channel_ask(Channel* channel, TimestampTz deadline, const Question& question, MessageType expected,
                  Message* answer, int* descriptor, Status* why);

// The failures of a conversation.
Status server_is_down(const ServerFacts& facts);
Status server_lost();
Status malformed_answer(const char* detail);

}  // namespace gpujoin
