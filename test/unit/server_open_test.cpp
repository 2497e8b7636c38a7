// Opening: fragments that come in parts are gathered in turn, and accounted for until all have come.
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

// Announces `bytes` bytes of a fragment, and sends the first `here` of them.
void begin_open(TestClient& client, uint32_t bytes, size_t here, uint32_t stages = 1) {
    std::vector<std::byte> some(here);
    OpenBody body{stages, bytes, 0, 0, 0};
    client.send(MessageType::Open, 0, &body, some);
}

void send_part(TestClient& client, size_t bytes) {
    client.send(MessageType::OpenPart, 0, nullptr, std::vector<std::byte>(bytes));
}

// As many stages as there may be, each with as much as a stage may have.
OwnedFragment large_fragment() {
    OwnedFragment fragment = chain_fragment(kMaxStages, SinkKind::Groups);
    for (StageSpec& stage : fragment.stages) {
        JoinSpec& spec = stage.join;
        spec.probe_columns = spec.build_columns = spec.outputs = kMaxColumns;
        spec.equalities = spec.ranges = spec.filters = kMaxTerms;
        for (uint32_t i = 0; i < kMaxColumns; i++) {
            spec.probe[i] = spec.probe[0];
            spec.build[i] = spec.build[0];
            spec.output[i] = 0;
            stage.probe[i] = stage.probe[0];
        }
        for (uint32_t i = 0; i < kMaxTerms; i++) {
            spec.range[i].comparison = Comparison::Less;
            spec.filter[i].comparison = Comparison::NotEqual;
        }
    }
    return fragment;
}

}  // namespace

TEST(ServerOpen, FragmentsMayComeInParts) {
    TestServer server;
    const OwnedFragment fragment = plain_fragment(key_payload_spec());
    for (size_t at_once : {1, 7, 64}) {
        TestClient client = server.connect();
        client.hello();
        client.send_open(fragment.view(), at_once);
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

TEST(ServerOpen, LargeFragmentsAreTakenAndChecked) {
    TestServer server;
    OwnedFragment fragment = large_fragment();
    EXPECT_GT(packed_bytes(fragment.view()), 4 * kMaxMessageBytes);
    {
        TestClient client = server.connect_and_open(fragment.view());
        EXPECT_EQ(client.seal(kMaxStages - 1).build_rows, 0u);
    }
    fragment.stages.back().join.output[0] = kMaxColumns;
    TestClient spoiled = server.connect();
    spoiled.hello();
    spoiled.send_open(fragment.view());
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
        [](TestClient& c) { begin_open(c, 100, 50), c.send(MessageType::GetDevices, 0, nullptr); },
        [](TestClient& c) { begin_open(c, kMaxOpenBytes + 1, 50); },
        [](TestClient& c) { begin_open(c, 100, 50), send_part(c, 50); },  // complete, but no fragment
        [](TestClient& c) { begin_open(c, 0, 0); },
        [](TestClient& c) { begin_open(c, 100, 50, kMaxStages + 1); },
        [](TestClient& c) { begin_open(c, 100, 50, 0), send_part(c, 50); },  // nor one without stages
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
    const OwnedFragment chain = chain_fragment(2, SinkKind::Rows);
    for (MessageType type : {MessageType::Seal, MessageType::GetStats}) {
        for (uint32_t stage : {2u, kMaxStages, ~0u}) {
            TestClient client = server.connect_and_open(chain.view());
            client.send(type, 0, nullptr, std::span<const ColumnBuffers>(), stage);
            expect_refusal(client, "08P01");
        }
    }
    for (MessageType type :
         {MessageType::Rewind, MessageType::Flush, MessageType::GetDevices}) {  // name none
        TestClient client = server.connect_and_open(chain.view());
        client.send(type, 0, nullptr, std::span<const ColumnBuffers>(), 1);
        expect_refusal(client, "08P01");
    }
}

}  // namespace gpujoin::test
