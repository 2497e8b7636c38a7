// Clients that break the protocol or die: the session ends, the server goes on, nothing is left behind.
#include <gtest/gtest.h>
#include <dirent.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "server/unique_fd.h"
#include "server_test_client.h"

namespace gpujoin::test {

namespace {

size_t open_descriptors() {
    size_t count = 0;
    DIR* directory = opendir("/proc/self/fd");
    while (readdir(directory)) count++;
    closedir(directory);
    return count;
}

void expect_protocol_failure(TestClient& client) {
    Received failed = client.expect(MessageType::Failed);
    EXPECT_STREQ(failed.message.as<Status>().sqlstate, "08P01") << failed.message.as<Status>().message;
    EXPECT_TRUE(client.ends());
}

// A correct batch of one row for a session of key_payload_spec(), to be spoiled.
struct Batch {
    BatchBody body;
    ColumnBuffers columns[2];
};

Batch good_batch(const TestClient& client, uint16_t columns) {
    Batch batch{};
    batch.body = BatchBody{client.opened.input[0], 1, columns, 0, 0, kNoBuffer, kNoBuffer, 0, 0};
    batch.columns[0].values = 0;
    batch.columns[1].values = 64;
    memset(client.at(client.opened.input[0].offset), 0, 4096);
    return batch;
}

using Spoiler = std::function<void(Batch*)>;

const std::pair<const char*, Spoiler> kSpoilers[] = {
    {"block of nobody", [](Batch* b) { b->body.block.offset += Arena::kBlockBytes * 7; }},
    {"block of the server", [](Batch* b) { b->body.block.offset += Arena::kBlockBytes * 3; }},
    {"inside a block", [](Batch* b) { b->body.block.offset += 64; }},
    {"longer than the block", [](Batch* b) { b->body.block.bytes++; }},
    {"offset beyond everything", [](Batch* b) { b->body.block.offset = ~uint64_t{63}; }},
    {"too many rows", [](Batch* b) { b->body.rows = kMaxBatchRows + 1; }},
    {"more rows than fit", [](Batch* b) { b->body.rows = kMaxBatchRows; }},
    {"one column too few", [](Batch* b) { b->body.columns--; }},
    {"values outside", [](Batch* b) { b->columns[0].values = b->body.block.bytes; }},
    {"values that overflow", [](Batch* b) { b->columns[0].values = ~uint64_t{63}; }},
    {"values misaligned", [](Batch* b) { b->columns[0].values = 8; }},
    {"validity outside", [](Batch* b) { b->columns[0].validity = b->body.block.bytes; }},
    {"validity not allowed", [](Batch* b) { b->columns[1].validity = 128; }},
    {"data outside",
     [](Batch* b) { b->columns[1].data = b->body.block.bytes - 64, b->columns[1].data_bytes = 65; }},
    {"data that overflows",
     [](Batch* b) { b->columns[1].data = 64, b->columns[1].data_bytes = ~uint64_t{0}; }},
};

}  // namespace

TEST(ServerBadClient, SpoiledBatchesAreRefused) {
    TestServer server;
    for (const auto& [name, spoil] : kSpoilers) {
        SCOPED_TRACE(name);
        TestClient client = server.connect_and_open(key_payload_spec(ColumnType::Bytes));
        Batch batch = good_batch(client, 2);
        spoil(&batch);
        client.send(MessageType::Append, 1, &batch.body, {batch.columns, batch.body.columns});
        expect_protocol_failure(client);
    }
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerBadClient, SpoiledOffsetsAreRefused) {
    TestServer server;
    const std::vector<uint32_t> spoiled[] = {{1, 1}, {0, 5}, {0, ~0u}};
    for (const auto& offsets : spoiled) {
        TestClient client = server.connect_and_open(key_payload_spec(ColumnType::Bytes));
        Batch batch = good_batch(client, 2);
        batch.columns[1].data = 128;
        batch.columns[1].data_bytes = 4;
        memcpy(client.at(batch.body.block.offset + 64), offsets.data(), 8);
        client.send(MessageType::Append, 1, &batch.body, batch.columns);
        expect_protocol_failure(client);
    }
    TestClient client = server.connect_and_open(key_payload_spec(ColumnType::Bytes));
    Batch batch = good_batch(client, 2);
    batch.body.rows = 2;
    batch.columns[1].data = 128;
    batch.columns[1].data_bytes = 8;
    const uint32_t decreasing[] = {0, 4, 2};
    memcpy(client.at(batch.body.block.offset + 64), decreasing, sizeof decreasing);
    client.send(MessageType::Append, 1, &batch.body, batch.columns);
    expect_protocol_failure(client);
}

TEST(ServerBadClient, BlocksInFlightCannotBeNamedAgain) {
    TestServer server;
    server.cpu.hang_in = FakeControls::Append;
    for (int attempt = 0; attempt < 3; attempt++) {
        TestClient client = server.connect_and_open(key_payload_spec());
        client.append(client.opened.input[0], {{1, int_payload(1)}}, ColumnType::Fixed8);
        if (attempt == 0) client.append(client.opened.input[0], {{1, int_payload(1)}}, ColumnType::Fixed8);
        if (attempt == 1) client.release(client.opened.input[0].offset);
        if (attempt == 2) client.release(12345);
        expect_protocol_failure(client);
    }
}

TEST(ServerBadClient, FramesAreChecked) {
    TestServer server;
    HelloBody hello{};
    std::vector<uint64_t> good(kMaxMessageBytes / 8 + 1024);
    auto* bytes = reinterpret_cast<std::byte*>(good.data());
    const std::function<uint32_t(MessageHeader*, uint32_t)> spoilers[] = {
        [](MessageHeader* h, uint32_t size) { return h->magic++, size; },
        [](MessageHeader* h, uint32_t size) { return h->version++, size; },
        [](MessageHeader* h, uint32_t size) { return h->build++, size; },
        [](MessageHeader* h, uint32_t size) { return h->type = static_cast<MessageType>(0), size; },
        [](MessageHeader* h, uint32_t size) { return h->type = static_cast<MessageType>(999), size; },
        [](MessageHeader* h, uint32_t size) { return h->type = MessageType::Append, size; },
        [](MessageHeader* h, uint32_t size) { return h->type = MessageType::Welcome, size; },
        [](MessageHeader* h, uint32_t size) { return h->type = MessageType::Open, size; },
        [](MessageHeader* h, uint32_t size) { return h->bytes++, size; },
        [](MessageHeader* h, uint32_t size) { return h->stage = 1, size; },
        [](MessageHeader*, uint32_t size) { return size - 1; },
        [](MessageHeader*, uint32_t) { return 1u; },
        [](MessageHeader* h, uint32_t) { return h->bytes = kMaxMessageBytes + 64; },
    };
    for (const auto& spoil : spoilers) {
        uint32_t size = encode(MessageType::Hello, 0, 0, &hello, sizeof hello, {}, bytes);
        size = spoil(reinterpret_cast<MessageHeader*>(bytes), size);
        TestClient client = server.connect();
        ASSERT_TRUE(client.send_packet(bytes, size));
        expect_protocol_failure(client);
    }
    TestClient empty = server.connect();
    ASSERT_TRUE(empty.send_packet(bytes, 0));
    EXPECT_TRUE(empty.ends());
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerBadClient, MessagesOutOfTurnAreRefused) {
    TestServer server;
    const std::function<void(TestClient&)> steps[] = {
        [](TestClient& c) { c.probe(c.opened.input[0], {1}); },
        [](TestClient& c) { c.scan_build(true); },
        [](TestClient& c) { c.seal(), c.flush(); },  // there are no groups
        [](TestClient& c) { c.send(MessageType::Rewind, 0, nullptr); },
        [](TestClient& c) { c.seal(), c.send(MessageType::Seal, 0, nullptr); },
        [](TestClient& c) { c.seal(), c.append(c.opened.input[0], {}, ColumnType::Fixed8); },
        [](TestClient& c) { c.session++, c.send(MessageType::Seal, 0, nullptr); },
        [](TestClient& c) {
            HelloBody hello{};
            c.send(MessageType::Hello, 0, &hello);
        },
        [](TestClient& c) { c.send_open(key_payload_spec()); },
        [](TestClient& c) {
            c.seal();
            MarkMatchedBody marks{c.opened.input[0], 1};  // the client does not decide
            c.send(MessageType::MarkMatched, 1, &marks);
        },
    };
    for (const auto& step : steps) {
        TestClient client = server.connect_and_open(key_payload_spec());
        step(client);
        expect_protocol_failure(client);
    }
    TestClient client = server.connect();
    client.send_open(key_payload_spec());  // before Hello
    expect_protocol_failure(client);
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerBadClient, MessagesThatDoNotFitTheFragmentAreRefused) {
    TestServer server;
    const std::function<void(TestClient&)> steps[] = {
        [](TestClient& c) { c.flush(); },
        [](TestClient& c) { c.seal(1), c.flush(); },
        [](TestClient& c) { c.seal(0), c.probe(c.opened.input[0], {1}); },
        [](TestClient& c) { c.seal(1), c.send(MessageType::Rewind, 0, nullptr); },
        [](TestClient& c) { c.seal(1), c.append(c.opened.input[0], {}, ColumnType::Fixed8, 1); },
        [](TestClient& c) {
            c.seal(1), c.send(MessageType::Seal, 0, nullptr, std::span<const std::byte>(), 1);
        },
        [](TestClient& c) { c.seal(0), c.seal(1), c.scan_build(true); },
        [](TestClient& c) {
            c.seal(0), c.seal(1);
            MarkMatchedBody marks{c.opened.input[0], 0};
            c.send(MessageType::MarkMatched, 1, &marks);
        },
        [](TestClient& c) {  // as many columns as the build sides have
            c.seal(0), c.seal(1);
            Batch batch = good_batch(c, 2);
            c.send(MessageType::Probe, 1, &batch.body, batch.columns);
        },
        [](TestClient& c) {  // as many columns as the source has
            Batch batch = good_batch(c, 1);
            c.send(MessageType::Append, 1, &batch.body, {batch.columns, 1}, 1);
        },
    };
    const OwnedFragment fragment = chain_fragment(2, SinkKind::Groups);
    for (const auto& step : steps) {
        TestClient client = server.connect_and_open(fragment.view());
        step(client);
        expect_protocol_failure(client);
    }
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerBadClient, MatchesOutsideTheBuildSideAreRefused) {
    TestServer server;
    JoinSpec spec = key_payload_spec();
    spec.client_decides = 1;
    for (uint64_t rows : {uint64_t{1}, Arena::kBlockBytes}) {
        TestClient client = server.connect_and_open(spec);
        client.append_and_wait({{1, int_payload(1)}});
        client.seal();
        *reinterpret_cast<uint64_t*>(client.at(client.opened.input[0].offset)) = 1;
        MarkMatchedBody marks{client.opened.input[0], rows};
        client.send(MessageType::MarkMatched, 1, &marks);
        expect_protocol_failure(client);
    }
}

TEST(ServerBadClient, InvalidSpecsAreRefused) {
    TestServer server;
    TestClient client = server.connect();
    client.hello();
    JoinSpec spec = key_payload_spec();
    spec.output[0] = 2;
    client.send_open(spec);
    expect_protocol_failure(client);
}

TEST(ServerBadClient, FloodsAreRefused) {
    TestServer server;
    server.cpu.hang_in = FakeControls::Append;
    TestClient client = server.connect_and_open(key_payload_spec());
    client.append(client.opened.input[0], {{1, int_payload(1)}}, ColumnType::Fixed8);
    client.flood(MessageType::Seal);
    expect_protocol_failure(client);

    // One who asks and asks and never reads is cut off.
    TestClient deaf = server.connect();
    const int sent = deaf.flood(MessageType::GetDevices);
    int answered = 0;
    while (deaf.receive()) answered++;
    EXPECT_LT(answered, sent);
    EXPECT_EQ(server.connect().devices().count, 1u);
}

TEST(ServerBadClient, ClientsMayDieAtAnyStage) {
    TestServer server;
    size_t before = open_descriptors();
    const std::function<void(TestClient&)> stages[] = {
        [](TestClient& c) { c.hello(); },
        [](TestClient& c) {
            c.hello();
            c.send_open(key_payload_spec());
        },
        [](TestClient& c) { c.open(key_payload_spec()); },
        [](TestClient& c) {
            c.open(key_payload_spec());
            c.append(c.opened.input[0], {{1, int_payload(1)}}, ColumnType::Fixed8);
        },
        [](TestClient& c) {
            c.open(key_payload_spec());
            c.append_and_wait({{1, int_payload(1)}});
            c.send(MessageType::Seal, 0, nullptr);
        },
        [](TestClient& c) {
            c.open(key_payload_spec());
            c.append_and_wait(std::vector<BuildRow>(1000, {1, int_payload(1)}));
            c.seal();
            c.probe(c.opened.input[0], std::vector<std::optional<int64_t>>(1000, 1));
            c.probe(c.opened.input[1], std::vector<std::optional<int64_t>>(1000, 1));
        },
        [](TestClient& c) {
            c.open(key_payload_spec());
            c.append_and_wait(std::vector<BuildRow>(1000, {1, int_payload(1)}));
            c.seal();
            c.probe(c.opened.input[0], std::vector<std::optional<int64_t>>(1000, 1));
            c.expect(MessageType::Result);
            c.send(MessageType::Rewind, 0, nullptr);
        },
        [](TestClient& c) {
            c.open(chain_fragment(2, SinkKind::Groups).view());
            for (uint32_t stage : {0, 1}) c.append_and_wait({{1, int_payload(1)}}, ColumnType::Fixed8, stage);
            for (uint32_t stage : {0, 1}) c.seal(stage);
            c.probe(c.opened.input[0], {1});
            c.flush();
        },
    };
    for (int round = 0; round < 5; round++) {
        for (const auto& stage : stages) {
            TestClient client = server.connect();
            stage(client);
        }
    }
    EXPECT_TRUE(server.becomes_clean());
    EXPECT_TRUE(eventually([&] { return open_descriptors() == before; }))
        << open_descriptors() << " " << before;
}

TEST(ServerBadClient, ClosingCancelsWhatIsUnderWay) {
    for (auto call : {FakeControls::Open, FakeControls::Append, FakeControls::Seal, FakeControls::Probe,
                      FakeControls::Next}) {
        SCOPED_TRACE(static_cast<int>(call));
        TestServer server;
        server.cpu.hang_in = call;
        TestClient client = server.connect();
        client.hello();
        client.send_open(key_payload_spec());
        auto is_hanging = [&] { return server.cpu.hanging == 1; };
        if (call != FakeControls::Open) {
            Received opened = client.expect(MessageType::Opened);
            client.session = opened.message.header->session;
            client.opened = opened.message.as<OpenedBody>();
            client.append(client.opened.input[0], {{1, int_payload(1)}}, ColumnType::Fixed8);
            if (call != FakeControls::Append) client.expect(MessageType::Appended);
            if (call != FakeControls::Append) client.send(MessageType::Seal, 0, nullptr);
            if (call > FakeControls::Seal) client.expect(MessageType::Sealed);
            if (call > FakeControls::Seal) client.probe(client.opened.input[0], {1});
        }
        ASSERT_TRUE(eventually(is_hanging));
        client.close();
        EXPECT_TRUE(server.becomes_clean());
    }
}

TEST(ServerBadClient, OneParticipantLeavesInTheMiddleOfItsProbe) {
    TestServer server;
    TestClient leader = server.connect_and_open(key_payload_spec());
    leader.append_and_wait({{1, int_payload(1)}});
    leader.seal();
    TestClient worker = server.connect();
    worker.attach(leader);
    worker.expect(MessageType::Sealed);
    server.cpu.hang_in = FakeControls::Next;
    worker.probe(worker.opened.input[0], {1});
    ASSERT_TRUE(eventually([&] { return server.cpu.hanging == 1; }));
    uint64_t staging = leader.devices().staging_used;
    worker.close();
    EXPECT_EQ(leader.devices().staging_used, staging) << "blocks are kept while a worker reads them";
    server.cpu.hang_in = FakeControls::kCalls;
    EXPECT_TRUE(eventually([&] { return leader.devices().staging_used == staging / 2; }));
    EXPECT_EQ(leader.results(leader.probe(leader.opened.input[0], {1})).size(), 1u);
}

// As long as it lives, this process may open one descriptor more than it has open.
class OneDescriptorLeft {
  public:
    OneDescriptorLeft() {
        getrlimit(RLIMIT_NOFILE, &before_);
        UniqueFd lowest_free(dup(STDIN_FILENO));
        rlimit one_more{static_cast<rlim_t>(lowest_free.get()) + 1, before_.rlim_max};
        setrlimit(RLIMIT_NOFILE, &one_more);
    }
    ~OneDescriptorLeft() { setrlimit(RLIMIT_NOFILE, &before_); }
    OneDescriptorLeft(const OneDescriptorLeft&) = delete;
    OneDescriptorLeft& operator=(const OneDescriptorLeft&) = delete;

  private:
    rlimit before_{};
};

// Each is told, by means of a spare descriptor that is opened again. The limit stays between the clients: the
// server may open its spare descriptor after it has closed the connection.
TEST(ServerBadClient, WithoutDescriptorsClientsAreRefusedAtOnce) {
    TestServer server;
    {
        OneDescriptorLeft limit;
        for (int i = 0; i < 3; i++) {
            TestClient client = server.connect();
            Received refusal = client.expect(MessageType::Failed);
            EXPECT_STREQ(refusal.message.as<Status>().sqlstate, "53000");
            EXPECT_TRUE(client.ends());
        }
    }
    server.connect().hello();
}

TEST(ServerBadClient, HundredIdleConnectionsHoldNothing) {
    TestServer server;
    std::vector<TestClient> idle;
    for (int i = 0; i < 100; i++) idle.push_back(server.connect());
    for (TestClient& client : idle) client.hello();
    DevicesBody devices = server.connect().devices();
    EXPECT_EQ(devices.staging_used, 0u);
    TestClient busy = server.connect_and_open(key_payload_spec());
    busy.append_and_wait({{1, int_payload(1)}});
}

TEST(ServerBadClient, TheLogNamesTheProcess) {
    testing::internal::CaptureStderr();
    {
        TestServer server;
        TestClient client = server.connect_and_open(key_payload_spec());
        client.send(MessageType::Pong, 0, nullptr);
        expect_protocol_failure(client);
    }
    const std::string log = testing::internal::GetCapturedStderr();
    const std::string line =
        "WARNING: join session 1 of process " + std::to_string(getpid()) + ": a client broke the protocol: ";
    EXPECT_EQ(log.substr(0, line.size()), line) << log;
}

}  // namespace gpujoin::test
