// The socket. Sends and receives never block (MSG_DONTWAIT) and messages are never split (SOCK_SEQPACKET).
#include "pg/client/channel.h"

#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fault/fault.h"

#include "pg/wait_events.h"

extern "C" {
#include "pgstat.h"
#include "portability/instr_time.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/timestamp.h"
}

namespace gpujoin {

namespace {

constexpr const char* kDescriptorHint = "Close cursors, or raise max_files_per_process.";

alignas(8) std::byte outgoing[kMaxMessageBytes];
alignas(8) std::byte incoming[kMaxMessageBytes];

bool server_is_our_user(int socket) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

// The first descriptor that came with a message; any further ones are closed.
int take_descriptor(struct msghdr* received) {
    int taken = -1;
    for (struct cmsghdr* part = CMSG_FIRSTHDR(received); part; part = CMSG_NXTHDR(received, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
        size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(part) + i * sizeof(int), sizeof descriptor);
            if (taken < 0)
                taken = descriptor;
            else
                close(descriptor);
        }
    }
    return taken;
}

Reply lost(Status* why) {
    *why = server_lost();
    return Reply::Lost;
}

Reply no_descriptor(Status* why) {
    *why = failure(Fault::Error, "53000", "could not open a socket to the gpujoin server: %m")
               .with_hint("%s", kDescriptorHint);
    return Reply::Failed;
}

// What decode() says of a message of ours.
Status unfit(const Status& checked) {
    if (checked.hint[0] == '\0') return malformed_answer(checked.detail);
    return failure(Fault::Protocol, "58000", "the gpujoin server is of another build of gpujoin")
        .with_detail("%s", checked.detail)
        .with_hint("%s", checked.hint);
}

}  // namespace

Status server_is_down(const ServerFacts& facts) {
    Status status = failure(Fault::Error, "58000", "the gpujoin server is not running");
    if (facts.phase == ServerPhase::NotPreloaded)
        return status.with_detail("gpujoin is not in shared_preload_libraries.");
    if (facts.last_words[0] != '\0') status.with_detail("The server's last words were: %s", facts.last_words);
    return status.with_hint("Retry the query. It is planned without gpujoin until the server is back.");
}

Status server_lost() {
    return failure(Fault::Error, "58000", "lost the connection to the gpujoin server")
        .with_detail("The server process has ended or does not answer; a new one is being started.")
        .with_hint("Retry the query. It is planned without gpujoin until the server is back.");
}

Status malformed_answer(const char* detail) {
    return failure(Fault::Protocol, "58000", "malformed message from the gpujoin server")
        .with_detail("%s", detail);
}

std::byte* packet_buffer() {
    return outgoing;
}

Reply channel_connect(Channel* channel, const ServerFacts& server, Status* why) {
    struct sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    strlcpy(address.sun_path, server.socket_name, sizeof address.sun_path);
    channel->generation = server.generation;

    // One for the socket; another must be left for the waits on it. Either it is given back, or the first.
    if (!AcquireExternalFD()) return no_descriptor(why);
    bool is_one_left = AcquireExternalFD();
    ReleaseExternalFD();
    if (!is_one_left) return no_descriptor(why);
    channel->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (channel->socket < 0) {
        ReleaseExternalFD();
        return no_descriptor(why);
    }
    // The process may be allowed fewer than PostgreSQL counted when it started.
    if (int other = fcntl(channel->socket, F_DUPFD_CLOEXEC, 0); other >= 0) {
        close(other);
    } else {
        Reply reply = no_descriptor(why);
        channel_close(channel);
        return reply;
    }
    if (connect(channel->socket, reinterpret_cast<struct sockaddr*>(&address), sizeof address) < 0) {
        *why = failure(Fault::Error, "58000", "could not connect to the gpujoin server: %m");
        channel_close(channel);
        return Reply::Lost;
    }
    if (!server_is_our_user(channel->socket)) {
        channel_close(channel);
        *why = failure(Fault::Error, "58000", "the gpujoin server runs as another user");
        return Reply::Failed;
    }
    return Reply::Got;
}

void channel_close(Channel* channel) {
    if (channel->socket < 0) return;
    close(channel->socket);
    channel->socket = -1;
    ReleaseExternalFD();
}

Reply channel_send(Channel* channel, uint32 bytes) {
    for (;;) {
        if (fault_due(FaultPoint::Send)) return Reply::Lost;
        ssize_t sent = send(channel->socket, outgoing, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent == static_cast<ssize_t>(bytes)) return Reply::Got;
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS)) return Reply::Nothing;
        return Reply::Lost;
    }
}

Reply channel_receive(Channel* channel, Message* message, int* descriptor, Status* why) {
    alignas(struct cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
    struct iovec part = {incoming, sizeof incoming};
    struct msghdr packet = {};
    packet.msg_iov = &part;
    packet.msg_iovlen = 1;
    packet.msg_control = control;
    packet.msg_controllen = sizeof control;

    *descriptor = -1;
    ssize_t bytes;
    do bytes = recvmsg(channel->socket, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (bytes < 0 &&
           (errno == EINTR || errno == ECONNRESET));  // what had arrived before a reset comes next
    if (bytes < 0 && errno == EAGAIN) return Reply::Nothing;
    if (bytes <= 0) return lost(why);

    *descriptor = take_descriptor(&packet);
    if ((packet.msg_flags & MSG_CTRUNC) && *descriptor < 0)
        *why = failure(Fault::Error, "53000",
                       "could not receive the shared memory of the gpujoin server: out of file descriptors")
                   .with_hint("%s", kDescriptorHint);
    else if (packet.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
        *why = malformed_answer("It is too long.");
    else if (Status checked = decode({incoming, static_cast<size_t>(bytes)}, message); !checked.ok())
        *why = unfit(checked);
    else
        return Reply::Got;
    if (*descriptor >= 0) close(*descriptor);
    *descriptor = -1;
    return Reply::Failed;
}

namespace {

// Nothing but time passes where there is no server.
Wait wait_for(uint32 events) {
    if (events == 0) return Wait::ServerStart;
    return events & WL_SOCKET_WRITEABLE ? Wait::ServerReceive : Wait::ServerReply;
}

}  // namespace

void channel_wait(Channel* channel, uint32 events, long timeout_ms) {
    instr_time begin, waited;
    INSTR_TIME_SET_CURRENT(begin);
    int flags = WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | WL_TIMEOUT | static_cast<int>(events);
    int happened =
        WaitLatchOrSocket(MyLatch, flags, channel->socket, timeout_ms, wait_event(wait_for(events)));
    if (happened & WL_LATCH_SET) ResetLatch(MyLatch);
    INSTR_TIME_SET_CURRENT(waited);
    INSTR_TIME_SUBTRACT(waited, begin);
    channel->waited_ms += INSTR_TIME_GET_MILLISEC(waited);
    CHECK_FOR_INTERRUPTS();
}

namespace {

// Of what follows the body of a question, its first message has what there is room for. The rest comes in
// OpenParts, each with as much.
uint32 encode_part(const Question& question, size_t* taken) {
    bool is_first = *taken == 0;
    MessageType type = is_first ? question.type : MessageType::OpenPart;
    uint32 fixed = body_bytes(type);
    std::span<const std::byte> part = question.tail.subspan(*taken);
    part = part.first(Min(part.size(), kMaxMessageBytes - sizeof(MessageHeader) - fixed));
    *taken += part.size();
    return encode(type, question.session, 0, is_first ? question.body : nullptr, fixed, part, outgoing);
}

}  // namespace

Reply channel_ask(Channel* channel, TimestampTz deadline, const Question& question, MessageType expected,
                  Message* answer, int* descriptor, Status* why) {
    size_t taken = 0;
    uint32 bytes = encode_part(question, &taken);
    bool sent = false;
    for (;;) {
        Reply reply = sent ? channel_receive(channel, answer, descriptor, why) : channel_send(channel, bytes);
        if (reply == Reply::Lost && !sent) {
            // A server that has closed the connection may have said why.
            sent = true;
            reply = channel_receive(channel, answer, descriptor, why);
            if (reply == Reply::Nothing) reply = Reply::Lost;
        }
        if (reply == Reply::Got && sent) break;
        if (reply == Reply::Got && taken < question.tail.size())
            bytes = encode_part(question, &taken);
        else if (reply == Reply::Got)
            sent = true;
        if (reply == Reply::Lost) return lost(why);
        if (reply == Reply::Failed) return reply;
        if (reply != Reply::Nothing) continue;
        if (!server_is_alive(channel->generation)) return lost(why);
        long left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);
        if (left <= 0) {
            *why = failure(Fault::Error, "58000", "the gpujoin server does not answer")
                       .with_hint("Retry the query. It is planned without gpujoin until the server answers.");
            return Reply::Nothing;
        }
        channel_wait(channel, sent ? WL_SOCKET_READABLE : WL_SOCKET_WRITEABLE, Min(left, kLookMs));
    }
    if (answer->header->type == expected) return Reply::Got;
    if (*descriptor >= 0) close(*descriptor);
    if (answer->header->type == MessageType::Failed)
        *why = answer->as<Status>();
    else
        *why = malformed_answer("It is not the answer expected.");
    return Reply::Failed;
}

}  // namespace gpujoin
