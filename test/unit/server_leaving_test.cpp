// A server that a Ping asks to leave: it serves whoever is there and whoever comes, until nobody is.
#include <gtest/gtest.h>

#include "server_test_client.h"

namespace gpujoin::test {

namespace {

void ping(TestClient& client, uint32_t leave_when_idle) {
    const PingBody body{leave_when_idle, 0};
    ASSERT_TRUE(client.send(MessageType::Ping, 7, &body));
    EXPECT_EQ(client.expect(MessageType::Pong).message.header->sequence, 7u);
}

}  // namespace

TEST(ServerLeaving, ItWaitsForAllThatAreConnected) {
    TestServer server;
    TestClient supervisor = server.connect();
    {
        TestClient first = server.connect_and_open(key_payload_spec());
        ping(supervisor, 1);
        TestClient second = server.connect_and_open(key_payload_spec());
        first.close();
        second.append_and_wait({{1, int_payload(10)}});
        second.seal();
        const uint64_t probe = second.probe(second.opened.input[0], {1, 2});
        EXPECT_EQ(second.results(probe), (TestClient::Pairs{{0, int_payload(10)}}));
        TestClient asking = server.connect();
        second.close();
        EXPECT_EQ(asking.devices().count, 1u);
        EXPECT_TRUE(supervisor.is_silent());
    }
    EXPECT_TRUE(supervisor.ends());
}

TEST(ServerLeaving, ItWaitsForACalibration) {
    TestServer server;
    server.cpu.fail_in[FakeControls::Seal] = 1;
    server.cpu.hang_in = FakeControls::Append;
    TestClient supervisor = server.connect();
    ASSERT_TRUE(supervisor.send(MessageType::Calibrate, 1, nullptr));
    ASSERT_TRUE(eventually([&] { return server.cpu.hanging == 1; }));
    ping(supervisor, 1);
    EXPECT_TRUE(supervisor.is_silent());
    server.cpu.hang_in = FakeControls::kCalls;
    supervisor.expect(MessageType::Failed);
    EXPECT_TRUE(supervisor.ends());
}

TEST(ServerLeaving, ItStaysWhereThatIsTakenBack) {
    TestServer server;
    TestClient supervisor = server.connect();
    {
        TestClient client = server.connect_and_open(key_payload_spec());
        ping(supervisor, 1);
        ping(supervisor, 0);
    }
    EXPECT_TRUE(server.becomes_clean());
    EXPECT_TRUE(supervisor.is_silent());
    ping(supervisor, 0);
}

}  // namespace gpujoin::test
