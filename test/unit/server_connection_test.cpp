// One connection by itself, on sockets with little room.
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "server/connection.h"

namespace gpujoin::test {

TEST(ServerConnection, EndsWhenAMessageCannotBeSent) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    UniqueFd server(ends[0]), client(ends[1]), epoll(epoll_create1(EPOLL_CLOEXEC));
    int least = 0;
    ASSERT_EQ(setsockopt(server.get(), SOL_SOCKET, SO_SNDBUF, &least, sizeof least), 0);
    Connection connection(std::move(server), epoll.get(), 1);
    std::vector<std::byte> packet(kMaxMessageBytes);

    connection.send(MessageType::Appended, 1, 1, nullptr);
    EXPECT_GT(recv(client.get(), packet.data(), packet.size(), 0), 0) << "short ones fit";
    DevicesBody devices{};
    devices.count = kMaxDevices;
    connection.send(MessageType::Devices, 1, 2, &devices);
    EXPECT_EQ(recv(client.get(), packet.data(), packet.size(), 0), 0) << "the end, not silence";
}

}  // namespace gpujoin::test
