// Non-blocking packet input and output.
#include "server/connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "fault/fault.h"

namespace gpujoin {

Connection::Connection(UniqueFd socket, int epoll, uint64_t id)
    : socket_(std::move(socket)), epoll_(epoll), id_(id), interest_(EPOLLIN) {
    ucred peer{};
    socklen_t length = sizeof peer;
    if (getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0) {
        peer_process_ = peer.pid;
        peer_user_ = peer.uid;
    }
    epoll_event event{.events = interest_, .data = {.u64 = id_}};
    is_watched_ = epoll_ctl(epoll_, EPOLL_CTL_ADD, socket_.get(), &event) == 0;
}

ssize_t Connection::receive(std::byte* buffer) {
    if (finished_) return -1;
    ssize_t bytes = recv(socket_.get(), buffer, kMaxMessageBytes, MSG_DONTWAIT | MSG_TRUNC);
    if (bytes >= 0) return bytes;
    return errno == EAGAIN || errno == EINTR ? -1 : 0;
}

void Connection::send(MessageType type, uint64_t session, uint64_t sequence, const void* body,
                      std::span<const std::byte> tail, uint32_t stage, int fd) {
    if (finished_ || !socket_) return;
    if (fault_due(FaultPoint::Send)) return abandon();
    alignas(8) static thread_local std::byte buffer[kMaxMessageBytes];
    uint32_t bytes = encode(type, session, sequence, body, body_bytes(type), tail, buffer, stage);
    std::span<const std::byte> packet(buffer, bytes);
    if (queue_.empty() && write_packet(packet, fd)) return;
    // A descriptor goes out with the first message of a connection, which the socket always takes.
    if (fd >= 0 || queued_bytes_ + bytes > kMaxQueuedBytes) return abandon();
    try {
        queue_.emplace_back(packet.begin(), packet.end());
    } catch (const std::bad_alloc&) {
        return abandon();
    }
    queued_bytes_ += bytes;
    update_interest();
}

void Connection::flush() {
    while (!queue_.empty() && write_packet(queue_.front(), -1)) {
        queued_bytes_ -= queue_.front().size();
        queue_.pop_front();
    }
    if (finished_ && queue_.empty() && socket_) shutdown(socket_.get(), SHUT_WR);
    update_interest();
}

// True when the packet needs no more attention: sent, or the connection is over. False: try again later.
bool Connection::write_packet(std::span<const std::byte> packet, int fd) {
    iovec part{const_cast<std::byte*>(packet.data()), packet.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
    if (fd >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr* attached = CMSG_FIRSTHDR(&message);
        *attached = {CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(attached), &fd, sizeof fd);
    }
    ssize_t sent;
    do sent = sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0) return true;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ENOMEM) return false;
    // Nobody is left to send it to; or it cannot be sent, and the client must not wait for it.
    shutdown(socket_.get(), SHUT_WR);
    return true;
}

void Connection::finish() {
    finished_ = true;
    flush();
}

void Connection::abandon() {
    queue_.clear();
    queued_bytes_ = 0;
    finish();
}

// A hang-up is always reported; input only while it is wanted, output only while some is queued.
void Connection::update_interest() {
    uint32_t wanted = (finished_ ? 0u : EPOLLIN) | (queue_.empty() ? 0u : EPOLLOUT);
    if (wanted == interest_ || !socket_) return;
    interest_ = wanted;
    epoll_event event{.events = wanted, .data = {.u64 = id_}};
    epoll_ctl(epoll_, EPOLL_CTL_MOD, socket_.get(), &event);
}

}  // namespace gpujoin
