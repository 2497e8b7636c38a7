// Opening: specs that come in parts are gathered in turn, and accounted for until all have come.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "server_test_client.h"

namespace gpujoin::test {

namespace {

void expect_refusal(TestClient& client, const char* sqlstate) {
    Received failed = client.expect(MessageType::Failed);
    const auto& status = failed.message.as<Status>();
    EXPECT_STREQ(status.sqlstate, sqlstate) << status.message << ": " << status.detail;
    EXPECT_TRUE(client.ends());
}

// Announces `bytes` bytes of one spec, and sends the first `here` of them.
void begin_open(TestClient& client, uint32_t bytes, size_t here) {
    std::vector<std::byte> some(here);
    OpenBody body{1, bytes};
    client.send(MessageType::Open, 0, &body, some);
}

void send_part(TestClient& client, size_t bytes) {
    client.send(MessageType::OpenPart, 0, nullptr, std::vector<std::byte>(bytes));
}

JoinSpec largest_spec() {
    JoinSpec spec = key_payload_spec();
    spec.probe_columns = spec.build_columns = spec.outputs = kMaxColumns;
    spec.equalities = spec.ranges = spec.filters = kMaxTerms;
    for (uint32_t i = 0; i < kMaxTerms; i++) {
        spec.range[i].comparison = Comparison::Less;
        spec.filter[i].comparison = Comparison::NotEqual;
    }
    return spec;
}

}  // namespace

TEST(ServerOpen, SpecsMayComeInParts) {
    TestServer server;
    const JoinSpec spec = key_payload_spec();
    for (size_t at_once : {1, 7, 64}) {
        TestClient client = server.connect();
        client.hello();
        client.send_open({&spec, 1}, at_once);
        Received opened = client.expect(MessageType::Opened);
        client.session = opened.message.header->session;
        client.opened = opened.message.as<OpenedBody>();
        EXPECT_EQ(client.devices().host_used, 0u) << "the parts are kept";
        client.append_and_wait({{1, int_payload(10)}});
        client.seal();
        EXPECT_EQ(client.results(client.probe(client.opened.input[0], {1})).size(), 1u);
    }
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerOpen, SeveralJoinsAreCheckedAndRefused) {
    TestServer server;
    std::vector<JoinSpec> specs(kMaxStages, largest_spec());
    TestClient client = server.connect();
    client.hello();
    client.send_open(specs);
    expect_refusal(client, "0A000");
    specs.back().output[0] = kMaxColumns;
    TestClient spoiled = server.connect();
    spoiled.hello();
    spoiled.send_open(specs);
    expect_refusal(spoiled, "08P01");
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerOpen, WhatIsUnfinishedIsAccountedFor) {
    TestServer server;
    TestClient observer = server.connect();
    {
        TestClient client = server.connect();
        client.hello();
        begin_open(client, kMaxOpenBytes, 100);
        EXPECT_TRUE(eventually([&] { return observer.devices().host_used == kMaxOpenBytes; }));
    }
    EXPECT_TRUE(eventually([&] { return observer.devices().host_used == 0; })) << "the client has gone";
    TestClient spoiled = server.connect();
    spoiled.hello();
    begin_open(spoiled, kMaxOpenBytes, 100);
    spoiled.send(MessageType::Seal, 0, nullptr);
    expect_refusal(spoiled, "08P01");
    EXPECT_EQ(observer.devices().host_used, 0u) << "the client has not gone";
}

TEST(ServerOpen, WithoutMemoryForItNothingIsGathered) {
    TestServer server({.host_memory = kMaxOpenBytes - 1});
    TestClient client = server.connect();
    client.hello();
    begin_open(client, kMaxOpenBytes, 100);
    expect_refusal(client, "53200");
    EXPECT_EQ(server.connect().devices().host_used, 0u);
}

TEST(ServerOpen, OpensThatAreNotCompletedInTurnAreRefused) {
    TestServer server;
    const std::function<void(TestClient&)> steps[] = {
        [](TestClient& c) { send_part(c, 8); },  // of nothing
        [](TestClient& c) { begin_open(c, 100, 101); },
        [](TestClient& c) { begin_open(c, 100, 50), send_part(c, 51); },
        [](TestClient& c) { begin_open(c, 100, 50), send_part(c, 49), send_part(c, 2); },
        [](TestClient& c) { begin_open(c, 100, 50), begin_open(c, 100, 50); },
        [](TestClient& c) { begin_open(c, 100, 50), c.send(MessageType::Seal, 0, nullptr); },
        [](TestClient& c) { begin_open(c, 100, 50), c.send(MessageType::Ping, 0, nullptr); },
        [](TestClient& c) { begin_open(c, kMaxOpenBytes + 1, 50); },
        [](TestClient& c) { begin_open(c, 100, 50), send_part(c, 50); },  // complete, but no spec
        [](TestClient& c) { begin_open(c, 0, 0); },
        [](TestClient& c) { c.send_open(std::vector<JoinSpec>(kMaxStages + 1)); },
        [](TestClient& c) { c.send_open(std::span<const JoinSpec>()); },
    };
    for (const auto& step : steps) {
        TestClient client = server.connect();
        client.hello();
        step(client);
        expect_refusal(client, "08P01");
    }
    {
        TestClient client = server.connect_and_open(key_payload_spec());
        send_part(client, 8);  // the session is open
        expect_refusal(client, "08P01");
    }
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerOpen, MessagesNameAStageThatExists) {
    TestServer server;
    for (MessageType type :
         {MessageType::Seal, MessageType::Rewind, MessageType::GetStats, MessageType::Ping}) {
        TestClient client = server.connect_and_open(key_payload_spec());
        alignas(8) std::byte packet[sizeof(MessageHeader)];
        uint32_t bytes = encode(type, client.session, 0, nullptr, 0, {}, packet);
        reinterpret_cast<MessageHeader*>(packet)->stage = 1;
        ASSERT_TRUE(client.send_packet(packet, bytes));
        expect_refusal(client, "08P01");
    }
}

}  // namespace gpujoin::test
