// The server's side of calibration: who asks is answered when it is over, and it holds nothing afterwards.
#include <gtest/gtest.h>

#include "server_test_client.h"

namespace gpujoin::test {

TEST(ServerCalibration, AFailureIsToldToAllWhoWait) {
    TestServer server;
    server.cpu.fail_in[FakeControls::Seal] = 1;
    server.cpu.hang_in = FakeControls::Append;
    TestClient first = server.connect(), second = server.connect(), leaver = server.connect();
    ASSERT_TRUE(first.send(MessageType::Calibrate, 11, nullptr));
    ASSERT_TRUE(eventually([&] { return server.cpu.hanging == 1; }));
    ASSERT_TRUE(leaver.send(MessageType::Calibrate, 12, nullptr));
    ASSERT_TRUE(second.send(MessageType::Calibrate, 13, nullptr));
    EXPECT_TRUE(second.is_silent());
    EXPECT_EQ(server.connect().devices().count, 1u) << "others are served meanwhile";
    leaver.close();
    server.cpu.hang_in = FakeControls::kCalls;
    EXPECT_EQ(first.expect(MessageType::Failed).message.header->sequence, 11u);
    EXPECT_EQ(second.expect(MessageType::Failed).message.header->sequence, 13u);
    EXPECT_EQ(second.devices().device[0].rates.setup_ns, 0) << "what was not measured stays unknown";
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerCalibration, WithoutMemoryItIsRefused) {
    TestServer server(TestServer::Setup{.staging = 8u << 20, .host_memory = 1u << 20});
    TestClient holder = server.connect(), client = server.connect();
    ASSERT_TRUE(client.send(MessageType::Calibrate, 5, nullptr));
    EXPECT_STREQ(client.expect(MessageType::Failed).message.as<Status>().sqlstate, "53200");
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerCalibration, AServerThatStopsDoesNotWaitForIt) {
    TestServer server;
    server.cpu.hang_in = FakeControls::Append;
    TestClient client = server.connect();
    ASSERT_TRUE(client.send(MessageType::Calibrate, 1, nullptr));
    ASSERT_TRUE(eventually([&] { return server.cpu.hanging == 1; }));
}

}  // namespace gpujoin::test
