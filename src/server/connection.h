// Connection: packets in and out of one client's socket. Sends never block: what the socket does not take is
// queued and written when epoll says so. A connection is given up (after a failure of the protocol, or when
// its queue overflows because the client does not read) by ending it on this side only: the client's own
// close, which frees what it holds, comes when it has seen that.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "server/unique_fd.h"
#include "wire/message.h"

namespace gpujoin {

class Connection {
  public:
    static constexpr size_t kMaxQueuedBytes = 4u << 20;

    // Registers the socket in the epoll set under `id`.
    Connection(UniqueFd socket, int epoll, uint64_t id);

    // The next packet into buffer (kMaxMessageBytes): its size, 0 at the end, -1 when there is none now. A
    // packet that was too long comes with its full size.
    ssize_t receive(std::byte* buffer);

    // Sends a message, with what follows its body, or queues it. fd: a descriptor to send along, -1 for none.
    // A queue that overflows ends the connection.
    void send(MessageType type, uint64_t session, uint64_t sequence, const void* body,
              std::span<const std::byte> tail = {}, uint32_t stage = 0, int fd = -1);
    // Writes what is queued, as far as the socket takes it.
    void flush();

    // Nothing more is read; after what is queued the client sees the end.
    void finish();
    uint64_t id() const { return id_; }
    void close() { socket_.reset(); }

    // False where the kernel has no memory for it: nothing will be heard of the client.
    bool is_watched() const { return is_watched_; }

    // Process and user at the other end (SO_PEERCRED).
    pid_t peer_process() const { return peer_process_; }
    uid_t peer_user() const { return peer_user_; }

  private:
    bool write_packet(std::span<const std::byte> packet, int fd);
    void abandon();
    void update_interest();

    UniqueFd socket_;
    const int epoll_;
    const uint64_t id_;
    pid_t peer_process_ = 0;
    uid_t peer_user_ = static_cast<uid_t>(-1);
    bool is_watched_ = false;
    bool finished_ = false;
    uint32_t interest_ = 0;
    size_t queued_bytes_ = 0;
    std::deque<std::vector<std::byte>> queue_;
};

}  // namespace gpujoin
