// Kept columns over real sockets: chunks are made, found, probed with and built from, in and out of order, by
// several participants and sessions, some of which leave in the middle or move.
#include <gtest/gtest.h>

#include <cstring>

#include "kept_conditions.h"
#include "server_test_client.h"

namespace gpujoin::test {

namespace {

constexpr ChunkKey kKey = {1, 2, 3, 4};
const ChunkColumn kColumn = {{7}, {ColumnType::Fixed8, ValueOrder::Signed, 1, 0}, 0};
const TestClient::Counts kAllCounts = {{100, 1}, {101, 1}, {200, 2}};

TestServer::Setup keeps(uint64_t memory = 16u << 20) {
    return {.keep_memory = memory};
}

// Two stages and groups; keys 1 and 2 lead to 100, 101 and 200.
TestClient open_groups(TestServer* server) {
    return server->connect_and_open(chain_fragment(2, SinkKind::Groups).view());
}
void build(TestClient& client) {
    client.append_and_wait({{1, int_payload(10)}, {2, int_payload(20)}}, ColumnType::Fixed8, 0);
    client.append_and_wait({{10, int_payload(100)}, {20, int_payload(200)}, {10, int_payload(101)}},
                           ColumnType::Fixed8, 1);
    for (uint32_t stage : {0, 1}) client.seal(stage);
}

ChunkMap map_of(const std::vector<uint32_t>& blocks) {
    ChunkMap map{};
    for (uint32_t block : blocks) map.add(block);
    return map;
}
const ChunkMap kMap = map_of({3, 5});

FoundKeptBody ask(TestClient& client, MessageType question, const ChunkKey& key = kKey, uint64_t bytes = 0) {
    const ChunkBody body{key, bytes, 1, 0, 0, 0};
    client.send(question, 0, &body, std::as_bytes(std::span(&kColumn, 1)));
    return client.expect(MessageType::FoundKept).message.as<FoundKeptBody>();
}

std::vector<FoundChunk> find(TestClient& client, std::span<const ChunkColumn> columns, const ChunkKey& first,
                             uint32_t chunks) {
    const ChunkBody body{first, 0, static_cast<uint32_t>(columns.size()), 0, chunks, 0};
    client.send(MessageType::FindKept, 0, &body, std::as_bytes(columns));
    const Received received = client.expect(MessageType::FoundChunks);
    return {received.message.found.begin(), received.message.found.end()};
}
FoundChunk find(TestClient& client, const ChunkKey& key = kKey) {
    return find(client, {&kColumn, 1}, key, 1).at(0);
}

// The column twice, as key and as value of a build side.
uint32_t find_pairs(TestClient& client) {
    const ChunkColumn columns[] = {kColumn, kColumn};
    return find(client, columns, kKey, 1).at(0).handle;
}

void send_rows(TestClient& client, uint32_t handle, uint32_t first_block,
               const std::vector<uint16_t>& block_rows, const std::vector<int64_t>& keys) {
    const BlockRange block = client.opened.input[0];
    if (!keys.empty()) memcpy(client.at(block.offset), keys.data(), 8 * keys.size());
    if (!block_rows.empty()) memcpy(client.at(block.offset + 4096), block_rows.data(), 2 * block_rows.size());
    const ColumnBuffers column{kNoBuffer, 0, 0, 0};
    const AppendKeptBody body{block,       static_cast<uint32_t>(keys.size()),       1, 0,   handle,
                              first_block, static_cast<uint32_t>(block_rows.size()), 0, 4096};
    client.send(MessageType::AppendKept, client.next_sequence(), &body, {&column, 1});
}
void append(TestClient& client, uint32_t handle, uint32_t first_block,
            const std::vector<uint16_t>& block_rows, const std::vector<int64_t>& keys) {
    send_rows(client, handle, first_block, block_rows, keys);
    client.expect(MessageType::Appended);
}

void send_seal(TestClient& client, uint32_t handle, bool keep = true) {
    const SealKeptBody body{{77, 70}, handle, keep};
    client.send(MessageType::SealKept, 0, &body,
                keep ? std::as_bytes(std::span(&kMap, 1)) : std::span<const std::byte>());
}
uint32_t seal(TestClient& client, uint32_t handle, bool keep = true) {
    send_seal(client, handle, keep);
    return client.expect(MessageType::FoundKept).message.as<FoundKeptBody>().handle;
}

// Keys 2 and 1 in block 3, 2 and 7 in block 5.
void keep_rows(TestClient& client) {
    const uint32_t handle = ask(client, MessageType::MakeKept).handle;
    ASSERT_NE(handle, 0u);
    append(client, handle, 3, {2, 0}, {2, 1});
    append(client, handle, 5, {2}, {2, 7});
    EXPECT_EQ(seal(client, handle), handle);
}

void send_scan(TestClient& client, MessageType type, uint64_t sequence,
               const std::vector<ScannedChunk>& chunks, const std::vector<KeptCondition>& conditions) {
    std::vector<std::byte> tail;
    auto add = [&tail](const auto& values) {
        const auto bytes = std::as_bytes(std::span(values));
        tail.insert(tail.end(), bytes.begin(), bytes.end());
    };
    add(conditions);
    add(chunks);
    const ScanKeptBody body{static_cast<uint32_t>(conditions.size()), static_cast<uint32_t>(chunks.size())};
    client.send(type, sequence, &body, tail);
}

uint64_t probe(TestClient& client, const std::vector<ScannedChunk>& chunks,
               const std::vector<KeptCondition>& conditions = {}) {
    const uint64_t sequence = client.next_sequence();
    send_scan(client, MessageType::ProbeKept, sequence, chunks, conditions);
    return sequence;
}

uint64_t probe(TestClient& client, uint32_t handle, const ChunkMap& map = kMap,
               const std::vector<KeptCondition>& conditions = {}) {
    return probe(client, {{handle, map, {}}}, conditions);
}

void send_build(TestClient& client, uint32_t handle, const std::vector<KeptCondition>& conditions = {}) {
    send_scan(client, MessageType::BuildKept, 0, {{handle, kMap, {}}}, conditions);
}
// How many rows were appended.
uint64_t build_kept(TestClient& client, uint32_t handle, const std::vector<KeptCondition>& conditions = {}) {
    send_build(client, handle, conditions);
    return client.expect(MessageType::FoundKept).message.as<FoundKeptBody>().rows;
}

// Two stages and groups, the first of which leads from a key to the same.
TestClient open_to_build(TestServer* server) {
    OwnedFragment fragment = chain_fragment(2, SinkKind::Groups);
    fragment.stages[0].join.build[1].nullable = 1;
    TestClient client = server->connect_and_open(fragment.view());
    client.append_and_wait({{1, int_payload(100)}, {2, int_payload(200)}}, ColumnType::Fixed8, 1);
    client.seal(1);
    return client;
}

TestClient::Counts counts_of(TestClient& client, uint32_t handle, const ChunkMap& map = kMap,
                             const std::vector<KeptCondition>& conditions = {}) {
    EXPECT_TRUE(client.groups(probe(client, handle, map, conditions)).empty());
    TestClient::Counts counts = client.groups(client.flush());
    client.send(MessageType::Rewind, 0, nullptr);
    client.expect(MessageType::Rewound);
    return counts;
}

TestClient::Counts probed_with(TestClient& client, const std::vector<std::optional<int64_t>>& keys) {
    EXPECT_TRUE(client.groups(client.probe(client.opened.input[0], keys)).empty());
    return client.groups(client.flush());
}

void expect_refused(TestClient& client) {
    EXPECT_STREQ(client.expect(MessageType::Failed).message.as<Status>().sqlstate, "08P01");
    EXPECT_TRUE(client.ends());
}

KeptTablesBody tables(TestServer* server, MessageType question = MessageType::GetKept) {
    TestClient client = server->connect();
    client.hello();
    const ForgetKeptBody all{};
    client.send(question, 0, question == MessageType::ForgetKept ? &all : nullptr);
    return client.expect(MessageType::KeptTables).message.as<KeptTablesBody>();
}

}  // namespace

TEST(ServerKept, ItSaysHowMuchItMayKeep) {
    EXPECT_EQ(TestServer(keeps()).connect().devices().keep_bytes, 16u << 20);
    EXPECT_EQ(TestServer(keeps(0)).connect().devices().keep_bytes, 0u);
}

TEST(ServerKept, SeveralChunksAreFoundAtOnce) {
    TestServer server(keeps());
    TestClient client = open_groups(&server);
    keep_rows(client);
    ChunkKey before = kKey;
    before.number -= 2;
    for (uint32_t count : {1u, 2u, 3u, 4u, kMaxFoundChunks}) {
        const std::vector<FoundChunk> found = find(client, {&kColumn, 1}, before, count);
        ASSERT_EQ(found.size(), count);
        for (uint32_t i = 0; i < count; i++) {
            EXPECT_EQ(found[i].exists, i == 2);
            EXPECT_EQ(found[i].rows, i == 2 ? 4u : 0u);
            EXPECT_EQ(found[i].handle != 0, i == 2);
            EXPECT_EQ(found[i].map.has(3), i == 2);
        }
    }
    for (uint32_t count : {0u, kMaxFoundChunks + 1}) {
        TestClient wrong = open_groups(&server);
        const ChunkBody body{kKey, 0, 1, 0, count, 0};
        wrong.send(MessageType::FindKept, 0, &body, std::as_bytes(std::span(&kColumn, 1)));
        expect_refused(wrong);
    }
}

TEST(ServerKept, RowsThatAreKeptArePiped) {
    for (bool real : {false, true}) {
        TestServer server({.keep_memory = 16u << 20, .real = real});
        TestClient maker = open_groups(&server);
        EXPECT_FALSE(find(maker).exists);
        keep_rows(maker);
        TestClient client = open_groups(&server);
        const FoundChunk found = find(client);
        EXPECT_EQ(found.proof.version, 77u);
        EXPECT_EQ(found.proof.since, 70u);
        EXPECT_EQ(found.rows, 4u);
        EXPECT_EQ(found.has[0], 1u);
        ASSERT_NE(found.handle, 0u);
        build(client);
        EXPECT_EQ(counts_of(client, found.handle), kAllCounts);
        EXPECT_EQ(counts_of(client, found.handle, map_of({3})),
                  (TestClient::Counts{{100, 1}, {101, 1}, {200, 1}}));
        EXPECT_EQ(counts_of(client, found.handle, map_of({4, 6})), TestClient::Counts{});
        EXPECT_EQ(counts_of(client, found.handle, kMap, {interval_condition(2, 0, 0)}),
                  (TestClient::Counts{{200, 2}}));
        EXPECT_EQ(counts_of(client, found.handle, kMap, {interval_condition(2, 0, 0, KeptTest::Outside)}),
                  (TestClient::Counts{{100, 1}, {101, 1}}));
        // Proven anew, it keeps the rows of all blocks for who holds it.
        const RenewKeptBody renewal{kKey, 77, {78, 75}, map_of({5, 9}), {}};
        client.send(MessageType::RenewKept, 0, &renewal);
        const FoundChunk renewed = find(client);
        EXPECT_EQ(renewed.handle, found.handle);
        EXPECT_EQ(renewed.proof.version, 78u);
        EXPECT_EQ(renewed.proof.since, 75u);
        EXPECT_TRUE(renewed.map.has(5) && !renewed.map.has(9));
        // Of several chunks, here the same twice.
        client.groups(probe(client, {{found.handle, kMap, {}}, {found.handle, map_of({5}), {}}}));
        EXPECT_EQ(client.groups(client.flush()), (TestClient::Counts{{100, 1}, {101, 1}, {200, 3}}));
        client.send(MessageType::Rewind, 0, nullptr);
        client.expect(MessageType::Rewound);
        // Together with rows that come as ever.
        client.groups(probe(client, found.handle));
        client.groups(client.probe(client.opened.input[0], {2, 1}));
        EXPECT_EQ(client.groups(client.flush()), (TestClient::Counts{{100, 2}, {101, 2}, {200, 3}}));
        maker.close();
        client.close();
        EXPECT_TRUE(server.becomes_clean());
        EXPECT_EQ(tables(&server).count, 1u);
        EXPECT_EQ(tables(&server, MessageType::ForgetKept).count, 0u);
        EXPECT_EQ(tables(&server).used, 0u);
    }
}

TEST(ServerKept, WhatIsFoundAgainHasTheSameHandle) {
    TestServer server(keeps());
    TestClient client = open_groups(&server);
    keep_rows(client);
    const uint32_t handle = find(client).handle;
    for (int i = 0; i < 100; i++) EXPECT_EQ(find(client).handle, handle);
    EXPECT_EQ(tables(&server).table[0].uses, 101u);
    tables(&server, MessageType::ForgetKept);
    EXPECT_EQ(find(client).handle, 0u);
    build(client);
    EXPECT_EQ(counts_of(client, handle), kAllCounts);  // it is held
    keep_rows(client);
    EXPECT_GT(find(client).handle, handle);
}

TEST(ServerKept, WrongHandlesEndTheSession) {
    TestServer server(keeps());
    {
        TestClient client = open_groups(&server);
        keep_rows(client);
    }
    using Wrong = void (*)(TestClient&, uint32_t, uint32_t);
    const Wrong wrongs[] = {
        [](TestClient& client, uint32_t, uint32_t) { send_rows(client, 0, 0, {1}, {1}); },
        [](TestClient& client, uint32_t, uint32_t) { send_rows(client, 99, 0, {1}, {1}); },
        [](TestClient& client, uint32_t found, uint32_t) { send_rows(client, found, 0, {1}, {1}); },
        [](TestClient& client, uint32_t found, uint32_t) { send_seal(client, found); },
        [](TestClient& client, uint32_t, uint32_t) { send_seal(client, 0); },
        [](TestClient& client, uint32_t, uint32_t) { probe(client, 0); },
        [](TestClient& client, uint32_t, uint32_t making) { probe(client, making); },
        [](TestClient& client, uint32_t, uint32_t) { probe(client, UINT32_MAX); },
        [](TestClient& client, uint32_t found, uint32_t) {
            probe(client, found, kMap, {interval_condition(0, 1, 1)});
        },
    };
    for (const Wrong& wrong : wrongs) {
        SCOPED_TRACE(&wrong - wrongs);
        ASSERT_TRUE(server.becomes_clean());  // the one before has left the chunk
        TestClient client = open_groups(&server);
        build(client);
        const uint32_t found = find(client).handle;
        const uint32_t making = ask(client, MessageType::MakeKept, {1, 2, 4, 0}).handle;
        ASSERT_TRUE(found && making);
        wrong(client, found, making);
        expect_refused(client);
    }
    EXPECT_TRUE(server.becomes_clean());
    EXPECT_EQ(tables(&server).count, 1u);
}

TEST(ServerKept, NothingComesBehindASeal) {
    TestServer server(keeps());
    for (bool keep : {true, false})
        for (bool rows : {true, false}) {
            ASSERT_TRUE(server.becomes_clean());  // the one before has left the chunk
            TestClient client = open_groups(&server);
            const uint32_t handle = ask(client, MessageType::MakeKept).handle;
            ASSERT_NE(handle, 0u);
            // Two at once: the second comes while the first is under way, or has been answered.
            send_seal(client, handle, keep);
            if (rows)
                send_rows(client, handle, 9, {1}, {1});
            else
                send_seal(client, handle, keep);
            auto received = client.receive();
            if (received && received->type() == MessageType::FoundKept) received = client.receive();
            ASSERT_TRUE(received && received->type() == MessageType::Failed);
            EXPECT_STREQ(received->message.as<Status>().sqlstate, "08P01");
        }
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerKept, OnlyTheMakerFills) {
    TestServer server(keeps());
    TestClient leader = open_groups(&server);
    TestClient worker = server.connect();
    worker.attach(leader);
    const uint32_t handle = ask(leader, MessageType::MakeKept).handle;
    ASSERT_NE(handle, 0u);
    EXPECT_EQ(ask(worker, MessageType::MakeKept).handle, 0u);
    send_rows(worker, handle, 0, {1}, {1});
    expect_refused(worker);
}

TEST(ServerKept, WhoLeavesGivesUp) {
    TestServer server(keeps());
    TestClient leader = open_groups(&server);
    {
        TestClient worker = server.connect();
        worker.attach(leader);
        const uint32_t handle = ask(worker, MessageType::MakeKept).handle;
        ASSERT_NE(handle, 0u);
        send_rows(worker, handle, 3, {2}, {2, 1});
    }
    EXPECT_TRUE(eventually([&] { return ask(leader, MessageType::MakeKept).handle != 0; }));
    leader.close();
    EXPECT_TRUE(server.becomes_clean());
    EXPECT_EQ(tables(&server).used, 0u);
    TestClient next = open_groups(&server);
    keep_rows(next);
    EXPECT_EQ(tables(&server).count, 1u);
}

TEST(ServerKept, AChunkThatFailsIsNotKept) {
    TestServer server(keeps(200u << 10));
    TestClient client = open_groups(&server);
    const uint32_t handle = ask(client, MessageType::MakeKept).handle;
    append(client, handle, 3, {1}, {2, 1});  // they do not add up
    append(client, handle, 4, {2}, {2, 1});
    EXPECT_EQ(seal(client, handle), 0u);
    EXPECT_FALSE(find(client).exists);
    const uint32_t given_up = ask(client, MessageType::MakeKept).handle;
    ASSERT_NE(given_up, 0u);
    append(client, given_up, 3, {2}, {2, 1});
    EXPECT_EQ(seal(client, given_up, false), 0u);
    EXPECT_FALSE(find(client).exists);
    EXPECT_EQ(ask(client, MessageType::MakeKept, kKey, 1u << 30).handle, 0u);
    const uint32_t large = ask(client, MessageType::MakeKept).handle;
    ASSERT_NE(large, 0u);
    const std::vector<int64_t> keys(500, 1);
    for (uint32_t block = 0; block < 60; block++) append(client, large, block, {500}, keys);
    EXPECT_EQ(seal(client, large), 0u);
    EXPECT_EQ(tables(&server).used, 0u);
    keep_rows(client);
    build(client);
    EXPECT_EQ(counts_of(client, find(client).handle), kAllCounts);
}

TEST(ServerKept, SessionsThatMoveProbeAgain) {
    for (FakeControls::Call call : {FakeControls::Probe, FakeControls::Next}) {
        TestServer server({.keep_memory = 16u << 20, .gpu = true});
        TestClient client = open_groups(&server);
        build(client);
        keep_rows(client);
        const uint32_t handle = find(client).handle;
        server.gpu.fault = Fault::DeviceMemory;
        server.gpu.fail_in[call] = 1;
        EXPECT_TRUE(client.groups(probe(client, handle)).empty());
        EXPECT_EQ(client.stats(1).join.moved, 1);
        EXPECT_EQ(client.groups(client.flush()), kAllCounts);
    }
}

TEST(ServerKept, ProbesAreRewound) {
    TestServer server(keeps());
    TestClient client = open_groups(&server);
    build(client);
    keep_rows(client);
    const uint32_t handle = find(client).handle;
    server.cpu.hang_in = FakeControls::Next;
    probe(client, handle);
    ASSERT_TRUE(eventually([&] { return server.cpu.hanging == 1; }));
    probe(client, handle);
    client.send(MessageType::Rewind, 0, nullptr);
    client.stats();
    server.cpu.hang_in = FakeControls::kCalls;
    client.expect(MessageType::Rewound);
    EXPECT_EQ(client.groups(client.flush()), TestClient::Counts{});
    EXPECT_EQ(counts_of(client, handle), kAllCounts);
    client.close();
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerKept, WhoProbesMayLeave) {
    TestServer server(keeps());
    {
        TestClient client = open_groups(&server);
        build(client);
        keep_rows(client);
        const uint32_t handle = find(client).handle;
        server.cpu.hang_in = FakeControls::Next;
        probe(client, handle);
        ASSERT_TRUE(eventually([&] { return server.cpu.hanging == 1; }));
        tables(&server, MessageType::ForgetKept);
    }
    EXPECT_TRUE(server.becomes_clean());
    EXPECT_EQ(tables(&server).used, 0u);
}

TEST(ServerKept, ProbesNeedGroupsAndABuildSide) {
    TestServer server(keeps());
    TestClient unsealed = open_groups(&server);
    keep_rows(unsealed);
    probe(unsealed, find(unsealed).handle);
    expect_refused(unsealed);
    TestClient rows = server.connect_and_open(chain_fragment(2, SinkKind::Rows).view());
    build(rows);
    probe(rows, find(rows).handle);
    expect_refused(rows);
}

TEST(ServerKept, RowsOfAChainWhoseSourceIsNotNamed) {
    TestServer server(keeps());
    TestClient maker = open_groups(&server);
    keep_rows(maker);
    OwnedFragment fragment = chain_fragment(2, SinkKind::Rows);
    fragment.spec->source_is_unnamed = 1;
    TestClient rows = server.connect_and_open(fragment.view());
    build(rows);
    const FoundChunk found = find(rows);
    EXPECT_FALSE(rows.results(probe(rows, found.handle)).empty());
}

TEST(ServerKept, BuildSidesAreMadeOfKeptRows) {
    for (bool real : {false, true}) {
        TestServer server({.keep_memory = 16u << 20, .real = real});
        TestClient maker = open_groups(&server);
        keep_rows(maker);
        TestClient all = open_to_build(&server);
        EXPECT_EQ(build_kept(all, find_pairs(all)), 4u);
        all.append_and_wait({{2, int_payload(1)}}, ColumnType::Fixed8, 0);
        EXPECT_EQ(build_kept(all, find_pairs(all), {interval_condition(7, 0, 1)}), 1u);
        all.seal(0);
        EXPECT_EQ(probed_with(all, {2, 1, 7, 1}), (TestClient::Counts{{200, 2}, {100, 3}}));
        EXPECT_EQ(all.stats(0).join.build_rows, 6u);
        TestClient some = open_to_build(&server);
        EXPECT_EQ(build_kept(some, find_pairs(some), {interval_condition(2, 0, 0)}), 2u);
        EXPECT_EQ(build_kept(some, find_pairs(some), {interval_condition(99, 0, 0)}), 0u);
        some.seal(0);
        EXPECT_EQ(probed_with(some, {2, 1, 7}), (TestClient::Counts{{200, 2}}));
    }
}

TEST(ServerKept, SeveralBuildAtOnce) {
    TestServer server({.keep_memory = 16u << 20, .real = true});
    TestClient leader = open_to_build(&server);
    keep_rows(leader);
    TestClient worker = server.connect();
    worker.attach(leader);
    worker.expect(MessageType::Sealed);
    for (TestClient* client : {&leader, &worker}) {
        const uint32_t handle = find_pairs(*client);
        for (int i = 0; i < 10; i++) send_build(*client, handle);
    }
    for (TestClient* client : {&leader, &worker})
        for (int i = 0; i < 10; i++)
            EXPECT_EQ(client->expect(MessageType::FoundKept).message.as<FoundKeptBody>().rows, 4u);
    leader.seal(0);
    EXPECT_EQ(probed_with(leader, {2, 1}), (TestClient::Counts{{200, 40}, {100, 20}}));
}

TEST(ServerKept, SessionsThatMoveBuildOn) {
    TestServer server({.keep_memory = 16u << 20, .gpu = true});
    TestClient client = open_to_build(&server);
    keep_rows(client);
    server.gpu.fault = Fault::DeviceMemory;
    server.gpu.fail_in[FakeControls::Append] = 2;
    EXPECT_EQ(build_kept(client, find_pairs(client)), 4u);
    EXPECT_EQ(build_kept(client, find_pairs(client)), 4u);
    client.seal(0);
    EXPECT_EQ(client.stats(0).join.moved, 1);
    EXPECT_EQ(probed_with(client, {2, 1}), (TestClient::Counts{{200, 4}, {100, 2}}));
}

TEST(ServerKept, WhoBuildsMayLeave) {
    TestServer server(keeps());
    TestClient leader = open_to_build(&server);
    keep_rows(leader);
    {
        TestClient worker = server.connect();
        worker.attach(leader);
        worker.expect(MessageType::Sealed);
        server.cpu.hang_in = FakeControls::Append;
        send_build(worker, find_pairs(worker));
        ASSERT_TRUE(eventually([&] { return server.cpu.hanging == 1; }));
    }
    leader.stats(1);
    server.cpu.hang_in = FakeControls::kCalls;
    leader.seal(0);
    EXPECT_EQ(probed_with(leader, {2}), (TestClient::Counts{{200, 2}}));
    leader.close();
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerKept, BuildSidesThatCannotBeMadeOfKeptRows) {
    TestServer server(keeps());
    TestClient maker = open_groups(&server);
    keep_rows(maker);
    const auto refuses = [&](auto wrong) {
        TestClient client = open_to_build(&server);
        wrong(client);
        expect_refused(client);
    };
    refuses([](TestClient& client) { send_build(client, 0); });
    refuses([](TestClient& client) { send_build(client, 9); });
    refuses([](TestClient& client) { send_build(client, find(client).handle); });
    refuses(
        [](TestClient& client) { send_build(client, find_pairs(client), {interval_condition(0, 1, 2)}); });
    refuses([](TestClient& client) {
        client.seal(0);
        send_build(client, find_pairs(client));
    });
    maker.close();
    EXPECT_TRUE(server.becomes_clean());
}

}  // namespace gpujoin::test
