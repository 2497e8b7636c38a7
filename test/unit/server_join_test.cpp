// Whole conversations with the server over a real socket: every message, several participants, parking,
// rewinding, skipping, and the blocks that go with them.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "server_test_client.h"

namespace gpujoin::test {

namespace {

using Keys = std::vector<std::optional<int64_t>>;

// n build rows with one key, payloads 0 .. n-1.
std::vector<BuildRow> same_key_rows(int64_t key, int n) {
    std::vector<BuildRow> rows;
    for (int i = 0; i < n; i++) rows.push_back({key, int_payload(i)});
    return rows;
}

constexpr uint64_t kUnit = Arena::kOverflowUnit;

}  // namespace

TEST(ServerJoin, WholeConversation) {
    TestServer server;
    TestClient client = server.connect_and_open(key_payload_spec());
    EXPECT_STREQ(client.opened.device, "CPU: fake");
    client.append_and_wait({{1, int_payload(10)}, {2, int_payload(20)}, {std::nullopt, int_payload(30)}});
    client.append_and_wait({{2, int_payload(21)}});
    EXPECT_EQ(client.seal().build_rows, 4u);

    uint64_t first = client.probe(client.opened.input[0], {2, std::nullopt, 3, 1});
    uint64_t second = client.probe(client.opened.input[1], {1});
    TestClient::Pairs expected = {{0, int_payload(20)}, {0, int_payload(21)}, {3, int_payload(10)}};
    EXPECT_EQ(client.results(first), expected);
    EXPECT_EQ(client.results(second), (TestClient::Pairs{{0, int_payload(10)}}));
    EXPECT_EQ(client.results(client.probe(client.opened.input[0], {7})), TestClient::Pairs{});
    EXPECT_EQ(client.results(client.probe(client.opened.input[0], {})), TestClient::Pairs{});

    TestClient::Pairs unmatched = {{kNoProbeRow, int_payload(30)}};
    EXPECT_EQ(client.results(client.scan_build(false)), unmatched);
    EXPECT_EQ(client.stats().join.build_rows, 4u);
    client.close();
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerJoin, ParticipantsShareTheBuildSide) {
    TestServer server;
    TestClient leader = server.connect_and_open(key_payload_spec());
    TestClient worker = server.connect();
    worker.attach(leader);
    leader.append_and_wait({{1, int_payload(1)}});
    worker.append_and_wait({{2, int_payload(2)}});
    EXPECT_EQ(leader.seal().build_rows, 2u);
    EXPECT_EQ(worker.expect(MessageType::Sealed).message.as<SealReport>().build_rows, 2u);
    TestClient late = server.connect();
    late.attach(leader);
    late.expect(MessageType::Sealed);

    for (TestClient* client : {&leader, &worker, &late})
        EXPECT_EQ(client->results(client->probe(client->opened.input[0], {2, 1})),
                  (TestClient::Pairs{{0, int_payload(2)}, {1, int_payload(1)}}));
    leader.close();
    EXPECT_EQ(worker.results(worker.probe(worker.opened.input[0], {1})).size(), 1u);
    worker.close();
    late.close();
    EXPECT_TRUE(server.becomes_clean());
}

// Clients that come and go in loops, each leaving at another stage: nothing is mixed up or left behind.
TEST(ServerJoin, ManySessionsAtOnce) {
    TestServer server({.staging = 256u << 20, .host_memory = 256u << 20});
    auto visit = [&](int thread) {
        for (int i = 0; i < 25; i++) {
            const int64_t key = thread * 1000 + i;
            TestClient client = server.connect_and_open(key_payload_spec());
            if (i % 5 == 1) continue;
            client.append_and_wait({{key, int_payload(key + 1)}, {key + 1, int_payload(0)}});
            if (i % 5 == 2) continue;
            EXPECT_EQ(client.seal().build_rows, 2u);
            const uint64_t sequence = client.probe(client.opened.input[0], {key, -1});
            if (i % 5 == 3) continue;
            EXPECT_EQ(client.results(sequence), (TestClient::Pairs{{0, int_payload(key + 1)}}));
        }
    };
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 6; thread++) threads.emplace_back(visit, thread);
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerJoin, AttachingNeedsTheSecret) {
    TestServer server;
    TestClient leader = server.connect_and_open(key_payload_spec());
    TestClient stranger = server.connect();
    stranger.hello();
    stranger.session = leader.session;
    AttachBody body{};
    stranger.send(MessageType::Attach, 0, &body);
    Received refused = stranger.expect(MessageType::Failed);
    EXPECT_STREQ(refused.message.as<Status>().sqlstate, "58000");
    EXPECT_STREQ(refused.message.as<Status>().hint, "Retry the query.");
    leader.append_and_wait({{1, int_payload(1)}});
}

TEST(ServerJoin, CursorsAreParkedUntilABlockIsReleased) {
    TestServer server({.staging = 0});
    TestClient client = server.connect_and_open(key_payload_spec());
    EXPECT_EQ(client.opened.input[0].bytes, kUnit);
    client.append_and_wait(same_key_rows(1, 400));
    client.seal();
    TestClient other = server.connect();
    other.attach(client);
    other.expect(MessageType::Sealed);

    // 160 000 pairs of 20 bytes do not fit two result blocks.
    uint64_t sequence = client.probe(client.opened.input[0], Keys(400, 1));
    Received first = client.expect(MessageType::Result);
    Received second = client.expect(MessageType::Result);
    EXPECT_TRUE(client.is_silent());
    EXPECT_EQ(client.stats().join.build_rows, 400u);
    EXPECT_EQ(other.results(other.probe(other.opened.input[0], {1})).size(), 400u);

    TestClient::Pairs pairs = client.read_result(first);
    for (const Received* result : {&first, &second}) {
        if (result == &second) {
            TestClient::Pairs more = client.read_result(second);
            pairs.insert(pairs.end(), more.begin(), more.end());
        }
        client.release(result->message.as<BatchBody>().block.offset);
    }
    TestClient::Pairs rest = client.results(sequence);
    pairs.insert(pairs.end(), rest.begin(), rest.end());
    ASSERT_EQ(pairs.size(), 160000u);
    for (size_t i = 0; i < pairs.size(); i++)
        ASSERT_EQ(pairs[i],
                  std::pair(static_cast<uint32_t>(i / 400), int_payload(static_cast<int64_t>(i % 400))));
    client.close();
    other.close();
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerJoin, ARowMayBeLargerThanABlock) {
    TestServer server;
    TestClient client = server.connect_and_open(key_payload_spec(ColumnType::Bytes));
    std::string large(6u << 20, 'x');
    auto block = client.reserve(large.size() + 4096);
    ASSERT_TRUE(block);
    EXPECT_GE(block->bytes, large.size() + 4096);
    client.append(*block, {{1, large}}, ColumnType::Bytes);
    client.expect(MessageType::Appended);
    client.release(block->offset);
    client.append_and_wait({{1, "small"}, {1, large.substr(0, 5u << 10)}}, ColumnType::Bytes);
    client.seal();
    TestClient::Pairs expected = {{0, large}, {0, "small"}, {0, large.substr(0, 5u << 10)}};
    EXPECT_EQ(client.results(client.probe(client.opened.input[0], {1}), ColumnType::Bytes), expected);
    client.close();
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerJoin, LargeResultBlocksAreNotHandedOutWithoutEnd) {
    TestServer server({.staging = 16u << 20, .host_memory = 64u << 20});
    TestClient client = server.connect_and_open(key_payload_spec(ColumnType::Bytes));
    std::string large(5u << 20, 'x');
    auto block = client.reserve(large.size() + 4096);
    ASSERT_TRUE(block);
    for (int i = 0; i < 2; i++) {
        client.append(*block, {{1, large}}, ColumnType::Bytes);
        client.expect(MessageType::Appended);
    }
    client.seal();
    // 12 rows of 5 MiB would not fit host memory at once.
    client.probe(client.opened.input[0], Keys(6, 1));
    client.expect(MessageType::Result);
    client.expect(MessageType::Result);
    EXPECT_TRUE(client.is_silent());
    client.close();
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerJoin, RewindDropsProbesAndForgetsMatches) {
    TestServer server({.staging = 0});
    TestClient client = server.connect_and_open(key_payload_spec());
    client.append_and_wait(same_key_rows(1, 400));
    client.append_and_wait({{2, int_payload(2)}});
    client.seal();
    for (int round = 0; round < 3; round++) {
        client.probe(client.opened.input[0], Keys(400, 1));  // parked after two blocks
        client.probe(client.opened.input[1], {2});
        std::vector<uint64_t> held;
        for (int i = 0; i < 2; i++)
            held.push_back(client.expect(MessageType::Result).message.as<BatchBody>().block.offset);
        client.send(MessageType::Rewind, 0, nullptr);
        client.expect(MessageType::Rewound);
        for (uint64_t offset : held) client.release(offset);
        EXPECT_EQ(client.results(client.scan_build(true)).size(), 0u);
    }
    EXPECT_EQ(client.results(client.probe(client.opened.input[1], {2})).size(), 1u);
    EXPECT_EQ(client.results(client.scan_build(true)).size(), 1u);
    client.close();
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerJoin, RewindDropsARunningProbe) {
    TestServer server;
    TestClient client = server.connect_and_open(key_payload_spec());
    client.append_and_wait({{1, int_payload(1)}});
    client.seal();
    server.cpu.hang_in = FakeControls::Next;
    client.probe(client.opened.input[0], {1});
    client.probe(client.opened.input[1], {1});
    ASSERT_TRUE(eventually([&] { return server.cpu.hanging == 1; }));
    client.send(MessageType::Rewind, 0, nullptr);
    EXPECT_TRUE(client.is_silent());
    server.cpu.hang_in = FakeControls::kCalls;
    client.expect(MessageType::Rewound);
    EXPECT_EQ(client.results(client.probe(client.opened.input[0], {1})).size(), 1u);
}

TEST(ServerJoin, SkippedRowsGiveNoMoreResults) {
    TestServer server({.staging = 0});
    TestClient client = server.connect_and_open(key_payload_spec());
    client.append_and_wait(same_key_rows(1, 10000));
    client.seal();
    uint64_t sequence = client.probe(client.opened.input[0], Keys(10, 1));
    Received first = client.expect(MessageType::Result);
    Received second = client.expect(MessageType::Result);
    client.skip(sequence, 8);
    client.skip(sequence + 1, 9);  // another probe's: without effect
    client.skip(sequence, 100);    // no such row: without effect
    client.release(first.message.as<BatchBody>().block.offset);
    client.release(second.message.as<BatchBody>().block.offset);
    TestClient::Pairs rest = client.results(sequence);
    ASSERT_EQ(rest.size(), 10000u);
    EXPECT_EQ(rest.front().first, 9u);
}

TEST(ServerJoin, ScanningWaitsForOtherParticipants) {
    TestServer server({.staging = 0});
    TestClient client = server.connect_and_open(key_payload_spec());
    client.append_and_wait(same_key_rows(1, 400));
    client.seal();
    TestClient other = server.connect();
    other.attach(client);
    other.expect(MessageType::Sealed);
    client.probe(client.opened.input[0], Keys(400, 1));
    client.expect(MessageType::Result);
    client.expect(MessageType::Result);  // parked now
    uint64_t scan = other.scan_build(false);
    EXPECT_TRUE(other.is_silent());
    client.close();  // destroys its cursor
    EXPECT_EQ(other.results(scan).size(), 0u);
}

TEST(ServerJoin, ClientsThatDecideReportMatches) {
    TestServer server;
    JoinSpec spec = key_payload_spec();
    spec.kind = JoinKind::Right;
    spec.client_decides = 1;
    TestClient client = server.connect_and_open(spec);
    client.append_and_wait({{1, int_payload(1)}, {1, int_payload(2)}});
    client.seal();
    uint64_t sequence = client.probe(client.opened.input[0], {1});
    Received result = client.expect(MessageType::Result);
    const auto& body = result.message.as<BatchBody>();
    ASSERT_NE(body.build_rows, kNoBuffer);
    uint64_t build_rows[2];
    memcpy(build_rows, client.at(body.block.offset + body.build_rows), sizeof build_rows);
    EXPECT_EQ((std::set<uint64_t>{build_rows[0], build_rows[1]}), (std::set<uint64_t>{0, 1}));
    client.release(body.block.offset);

    memcpy(client.at(client.opened.input[1].offset), &build_rows[1], 8);
    MarkMatchedBody marks{client.opened.input[1], 1};
    client.send(MessageType::MarkMatched, sequence + 10, &marks);
    EXPECT_EQ(client.expect(MessageType::Marked).message.header->sequence, sequence + 10);
    EXPECT_EQ(client.results(client.scan_build(false)).size(), 1u);
}

TEST(ServerJoin, BlocksRunOutWithoutADeadlock) {
    // Room for two participants in pinned blocks, and for two in overflow ranges.
    TestServer server({.staging = 8 * Arena::kBlockBytes, .host_memory = 9 * kUnit + kUnit / 2});
    std::vector<TestClient> clients;
    for (int i = 0; i < 4; i++) {
        clients.push_back(server.connect_and_open(key_payload_spec()));
        EXPECT_EQ(clients.back().opened.input[0].bytes, i < 2 ? Arena::kBlockBytes : kUnit);
    }
    TestClient refused = server.connect();
    refused.hello();
    refused.send_open(key_payload_spec());
    EXPECT_STREQ(refused.expect(MessageType::Failed).message.as<Status>().sqlstate, "53200");
    EXPECT_TRUE(clients[0].reserve(0));  // the last 256 KiB
    EXPECT_FALSE(clients[0].reserve(0));

    for (TestClient& client : clients) {
        client.append_and_wait(same_key_rows(1, 100));
        client.seal();
    }
    std::vector<uint64_t> sequences;
    for (TestClient& client : clients)
        sequences.push_back(client.probe(client.opened.input[0], Keys(300, 1)));
    for (size_t i = 0; i < clients.size(); i++) EXPECT_EQ(clients[i].results(sequences[i]).size(), 30000u);
    clients.clear();
    EXPECT_TRUE(server.becomes_clean());
    TestClient again = server.connect_and_open(key_payload_spec());
    EXPECT_EQ(again.opened.input[0].bytes, Arena::kBlockBytes);
}

TEST(ServerJoin, ReserveHasAMinimumForWhoComesLast) {
    TestServer server({.staging = 0, .host_memory = 4 * kUnit, .reserve = 8 * kUnit});
    TestClient first = server.connect_and_open(key_payload_spec());
    EXPECT_FALSE(first.reserve(0)) << "more than the minimum is of what all share";
    TestClient second = server.connect_and_open(key_payload_spec());
    second.append_and_wait(same_key_rows(1, 100));
    second.seal();
    uint64_t sequence = second.probe(second.opened.input[0], Keys(300, 1));
    EXPECT_EQ(second.results(sequence).size(), 30000u);
    TestClient refused = server.connect();
    refused.hello();
    refused.send_open(key_payload_spec());
    EXPECT_STREQ(refused.expect(MessageType::Failed).message.as<Status>().sqlstate, "53200");
    first.close();
    second.close();
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerJoin, HostMemoryThatIsUsedUpEndsTheSessionForAll) {
    TestServer server({.host_memory = 1u << 20});
    TestClient leader = server.connect_and_open(key_payload_spec());
    TestClient worker = server.connect();
    worker.attach(leader);
    for (int i = 0; i < 3; i++) leader.append_and_wait(same_key_rows(1, 10000));
    worker.append(worker.opened.input[0], same_key_rows(1, 10000), ColumnType::Fixed8);
    for (TestClient* client : {&leader, &worker}) {
        Received failed = client->expect(MessageType::Failed);
        EXPECT_EQ(failed.message.header->sequence, 0u);
        EXPECT_STREQ(failed.message.as<Status>().sqlstate, "53200");
        EXPECT_TRUE(client->ends());
    }
    EXPECT_TRUE(eventually([&] { return server.cpu.joins == 0; })) << "before the clients close";
    leader.close();
    worker.close();
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerJoin, ASessionTakesNoMoreThanItSays) {
    TestServer server;
    TestClient limited = server.connect();
    limited.most_memory = 1u << 20;
    limited.open(key_payload_spec());
    TestClient other = server.connect_and_open(key_payload_spec());
    for (int i = 0; i < 3; i++) limited.append_and_wait(same_key_rows(1, 10000));
    limited.append(limited.opened.input[0], same_key_rows(1, 10000), ColumnType::Fixed8);
    const Received failed = limited.expect(MessageType::Failed);
    EXPECT_STREQ(failed.message.as<Status>().sqlstate, "53200");
    EXPECT_NE(strstr(failed.message.as<Status>().hint, "gpujoin.max_join_memory"), nullptr);
    for (int i = 0; i < 8; i++) other.append_and_wait(same_key_rows(1, 10000));
    limited.close();
    other.close();
    EXPECT_TRUE(server.becomes_clean());
}

// What a session is lent is of the reserve, of which every other one finds its part.
TEST(ServerJoin, ASessionIsLentMemory) {
    TestServer server({.reserve = 8u << 20});
    TestClient lent = server.connect();
    lent.most_memory = 1u << 20;
    lent.lent_memory = UINT64_MAX;
    lent.open(key_payload_spec());
    for (int i = 0; i < 8; i++) lent.append_and_wait(same_key_rows(1, 10000));
    TestClient other = server.connect_and_open(key_payload_spec());
    for (int i = 0; i < 8; i++) other.append_and_wait(same_key_rows(1, 10000));
    lent.close();
    other.close();
    EXPECT_TRUE(server.becomes_clean());
}

}  // namespace gpujoin::test
