// Sessions of several joins, and of groups: stages are built each by itself, rows pass through all of them,
// and groups are whoever's who flushes.
#include <gtest/gtest.h>

#include <cstring>

#include "server_test_client.h"

namespace gpujoin::test {

namespace {

using Keys = std::vector<std::optional<int64_t>>;

// Keys 1 and 2 lead to 10 and 20, and these to 100, 101 and 200.
void append_stages(TestClient& client) {
    client.append_and_wait({{1, int_payload(10)}, {2, int_payload(20)}}, ColumnType::Fixed8, 0);
    client.append_and_wait({{10, int_payload(100)}, {20, int_payload(200)}, {10, int_payload(101)}},
                           ColumnType::Fixed8, 1);
}

// Of all pairs of source and build rows, NULL keys included.
OwnedFragment groups_of_source_keys() {
    OwnedFragment fragment = chain_fragment(1, SinkKind::Groups);
    fragment.spec->input[0] = {kFromSource, 0};
    fragment.stages[0].join.equalities = 0;
    return fragment;
}

TestClient open_chain(TestServer* server, SinkKind sink) {
    TestClient client = server->connect_and_open(chain_fragment(2, sink).view());
    append_stages(client);
    EXPECT_EQ(client.seal(0).build_rows, 2u);
    EXPECT_EQ(client.seal(1).build_rows, 3u);
    return client;
}

TestClient attach_to(TestServer* server, const TestClient& leader) {
    TestClient client = server->connect();
    client.attach(leader);
    for (uint32_t stage : {0, 1}) client.expect_sealed(stage);
    return client;
}

void expect_lost_groups(TestClient& client) {
    Received failed = client.expect(MessageType::Failed);
    EXPECT_STREQ(failed.message.as<Status>().sqlstate, "58000");
    EXPECT_TRUE(client.ends());
}

const TestClient::Pairs kOfTwoAndOne = {{0, int_payload(200)}, {1, int_payload(100)}, {1, int_payload(101)}};

}  // namespace

TEST(ServerFragment, RowsPassThroughAllStages) {
    TestServer server;
    TestClient client = open_chain(&server, SinkKind::Rows);
    EXPECT_EQ(client.results(client.probe(client.opened.input[0], {2, 1, 7, std::nullopt})), kOfTwoAndOne);
    EXPECT_EQ(client.results(client.probe(client.opened.input[0], {})), TestClient::Pairs{});
    EXPECT_EQ(client.stats(0).join.build_rows, 2u);
    EXPECT_EQ(client.stats(1).join.build_rows, 3u);
    EXPECT_EQ(client.stats(1).sink.rows, 3u);
    client.send(MessageType::Rewind, 0, nullptr);
    client.expect(MessageType::Rewound);
    EXPECT_EQ(client.results(client.probe(client.opened.input[1], {2, 1})), kOfTwoAndOne);
    client.close();
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerFragment, TheCpuEngineIsNoDifferent) {
    for (bool gpu : {false, true}) {  // one that moves to it at the last moment
        TestServer server({.gpu = gpu, .real = true});
        server.gpu.fault = Fault::DeviceMemory;
        server.gpu.fail_in[FakeControls::Next] = 1;
        TestClient rows = open_chain(&server, SinkKind::Rows);
        EXPECT_EQ(rows.results(rows.probe(rows.opened.input[0], {2, 1, 7, std::nullopt})), kOfTwoAndOne);
        server.gpu.fail_in[FakeControls::Next] = 1;
        TestClient leader = open_chain(&server, SinkKind::Groups);
        TestClient worker = attach_to(&server, leader);
        TestClient::Counts counts;
        for (TestClient* client : {&leader, &worker})
            for (auto [key, count] : client->groups(client->probe(client->opened.input[0], {2, 1, 2, 7})))
                counts[key] += count;
        for (auto [key, count] : leader.groups(leader.flush())) counts[key] += count;
        EXPECT_EQ(counts, (TestClient::Counts{{100, 2}, {101, 2}, {200, 4}}));
        EXPECT_EQ(leader.stats().sink.rows, 8u);
        EXPECT_EQ(leader.stats(1).join.moved, gpu);
        leader.send(MessageType::Rewind, 0, nullptr);
        leader.expect(MessageType::Rewound);
        EXPECT_EQ(leader.groups(leader.flush()), TestClient::Counts{});
    }
}

TEST(ServerFragment, SkippingHasNoEffect) {
    TestServer server;
    TestClient client = open_chain(&server, SinkKind::Rows);
    server.cpu.hang_in = FakeControls::Next;
    uint64_t sequence = client.probe(client.opened.input[0], {2, 1});
    ASSERT_TRUE(eventually([&] { return server.cpu.hanging == 1; }));
    client.skip(sequence, 1);
    client.stats();  // by now it has been handled
    server.cpu.hang_in = FakeControls::kCalls;
    EXPECT_EQ(client.results(sequence), kOfTwoAndOne);
}

TEST(ServerFragment, StagesAreSealedEachByItself) {
    TestServer server;
    TestClient leader = server.connect_and_open(chain_fragment(2, SinkKind::Rows).view());
    TestClient worker = server.connect();
    worker.attach(leader);
    leader.append_and_wait({{10, int_payload(100)}}, ColumnType::Fixed8, 1);
    EXPECT_EQ(leader.seal(1).build_rows, 1u);
    EXPECT_EQ(worker.expect_sealed(1).build_rows, 1u);
    TestClient late = server.connect();
    late.attach(leader);
    EXPECT_EQ(late.expect_sealed(1).build_rows, 1u);
    EXPECT_TRUE(late.is_silent());
    worker.append_and_wait({{1, int_payload(10)}}, ColumnType::Fixed8, 0);
    EXPECT_EQ(leader.seal(0).build_rows, 1u);
    EXPECT_EQ(worker.expect_sealed(0).build_rows, 1u);
    EXPECT_EQ(late.expect_sealed(0).build_rows, 1u);
    for (TestClient* client : {&leader, &worker, &late})
        EXPECT_EQ(client->results(client->probe(client->opened.input[0], {1})).size(), 1u);
}

TEST(ServerFragment, ASealWaitsForItsOwnStageAlone) {
    TestServer server;
    TestClient leader = server.connect_and_open(chain_fragment(2, SinkKind::Rows).view());
    TestClient worker = server.connect();
    worker.attach(leader);
    server.cpu.hang_in = FakeControls::Append;
    worker.append(worker.opened.input[0], {{1, int_payload(10)}}, ColumnType::Fixed8, 0);
    ASSERT_TRUE(eventually([&] { return server.cpu.hanging == 1; }));
    leader.seal(1);
    worker.expect_sealed(1);
    leader.send(MessageType::Seal, 0, nullptr);
    EXPECT_TRUE(leader.is_silent());
    server.cpu.hang_in = FakeControls::kCalls;
    worker.expect(MessageType::Appended);
    EXPECT_EQ(leader.expect_sealed(0).build_rows, 1u);
}

TEST(ServerFragment, GroupsAreOfAllParticipants) {
    TestServer server;
    TestClient leader = open_chain(&server, SinkKind::Groups);
    TestClient worker = attach_to(&server, leader);
    for (TestClient* client : {&leader, &worker})
        EXPECT_EQ(client->groups(client->probe(client->opened.input[0], {2, 1, 2})), TestClient::Counts{});
    worker.close();
    const TestClient::Counts expected = {{100, 2}, {101, 2}, {200, 4}};
    EXPECT_EQ(leader.groups(leader.flush()), expected);
    EXPECT_EQ(leader.groups(leader.flush()), TestClient::Counts{}) << "they are forgotten";
    leader.groups(leader.probe(leader.opened.input[0], {2}));
    EXPECT_EQ(leader.groups(leader.flush()), (TestClient::Counts{{200, 1}}));
    leader.groups(leader.probe(leader.opened.input[0], {2}));
    leader.send(MessageType::Rewind, 0, nullptr);
    leader.expect(MessageType::Rewound);
    EXPECT_EQ(leader.groups(leader.flush()), TestClient::Counts{}) << "rewound";
    leader.close();
    EXPECT_TRUE(server.becomes_clean());
}

// There is nothing to build or to seal: rows may be sent at once, by whoever attaches, too.
TEST(ServerFragment, GroupsWithoutStages) {
    TestServer server({.real = true});
    TestClient leader = server.connect_and_open(chain_fragment(0, SinkKind::Groups).view());
    TestClient worker = server.connect();
    worker.attach(leader);
    TestClient::Counts counts;
    for (TestClient* client : {&leader, &worker})
        for (auto [key, count] : client->groups(client->probe(client->opened.input[0], {2, 1, 2})))
            counts[key] += count;
    EXPECT_EQ(leader.stats(0).sink.rows, 6u);
    EXPECT_GT(strlen(leader.stats(0).join.device), 0u);
    worker.close();
    for (auto [key, count] : leader.groups(leader.flush())) counts[key] += count;
    EXPECT_EQ(counts, (TestClient::Counts{{1, 2}, {2, 4}}));
    leader.groups(leader.probe(leader.opened.input[0], {2}));
    leader.send(MessageType::Rewind, 0, nullptr);
    leader.expect(MessageType::Rewound);
    EXPECT_EQ(leader.groups(leader.flush()), TestClient::Counts{}) << "rewound";
    leader.send(MessageType::Seal, 0, nullptr);
    EXPECT_STREQ(leader.expect(MessageType::Failed).message.as<Status>().sqlstate, "08P01");
    EXPECT_TRUE(leader.ends());
    leader.close();
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerFragment, EscapedRowsComeBackFlagged) {
    TestServer server;
    TestClient client = server.connect_and_open(groups_of_source_keys().view());
    client.append_and_wait({{1, int_payload(1)}, {2, int_payload(2)}});
    client.seal();
    uint64_t sequence = client.probe(client.opened.input[0], {5, std::nullopt});
    Received escaped = client.expect(MessageType::Result);
    EXPECT_EQ(escaped.message.header->sequence, sequence);
    const auto& body = escaped.message.as<BatchBody>();
    EXPECT_TRUE(body.undecided);
    EXPECT_TRUE(body.last);
    EXPECT_EQ(body.rows, 2u);
    EXPECT_EQ(body.columns, 1u) << "the inputs";
    EXPECT_EQ(body.probe_rows, kNoBuffer);
    EXPECT_EQ(client.groups(client.flush()), (TestClient::Counts{{5, 2}}));
}

// 70 000 groups of two integers do not fit two result blocks.
TEST(ServerFragment, FlushesAreParked) {
    constexpr int kGroups = 70000, kAtOnce = 10000;
    TestServer server({.staging = 0});
    TestClient client = server.connect_and_open(groups_of_source_keys().view());
    client.append_and_wait({{1, int_payload(1)}});
    client.seal();
    for (int first = 0; first < kGroups; first += kAtOnce) {
        Keys keys;
        for (int key = 0; key < kAtOnce; key++) keys.emplace_back(first + key);
        client.groups(client.probe(client.opened.input[0], keys));
    }
    uint64_t sequence = client.flush();
    const Received held[] = {client.expect(MessageType::Result), client.expect(MessageType::Result)};
    EXPECT_TRUE(client.is_silent()) << "parked";
    uint64_t rows = 0;
    for (const Received& result : held) {
        rows += result.message.as<BatchBody>().rows;
        client.release(result.message.as<BatchBody>().block.offset);
    }
    EXPECT_EQ(rows + client.groups(sequence).size(), static_cast<uint64_t>(kGroups));
}

// Nobody else may be in the middle of a probe.
TEST(ServerFragment, AFlushHasTheFragmentToItself) {
    TestServer server;
    TestClient leader = open_chain(&server, SinkKind::Groups);
    TestClient worker = attach_to(&server, leader);
    server.cpu.hang_in = FakeControls::Next;
    uint64_t probe = worker.probe(worker.opened.input[0], {2});
    ASSERT_TRUE(eventually([&] { return server.cpu.hanging == 1; }));
    uint64_t flush = leader.flush();
    EXPECT_TRUE(leader.is_silent());
    server.cpu.hang_in = FakeControls::kCalls;
    worker.groups(probe);
    EXPECT_EQ(leader.groups(flush), (TestClient::Counts{{200, 1}}));
}

// What it had under way may have been aggregated in part, or not at all.
TEST(ServerFragment, WithAParticipantGroupsMayBeLost) {
    TestServer server;
    for (bool flushes : {false, true}) {
        TestClient leader = open_chain(&server, SinkKind::Groups);
        TestClient worker = attach_to(&server, leader);
        leader.groups(leader.probe(leader.opened.input[0], {1}));
        server.cpu.hang_in = FakeControls::Next;
        if (flushes)
            worker.flush();
        else
            worker.probe(worker.opened.input[0], {2});
        ASSERT_TRUE(eventually([&] { return server.cpu.hanging == 1; }));
        worker.close();
        EXPECT_EQ(leader.stats().join.build_rows, 2u) << "figures are to be had";
        server.cpu.hang_in = FakeControls::kCalls;
        if (flushes)
            leader.probe(leader.opened.input[0], {1});
        else
            leader.flush();
        expect_lost_groups(leader);
    }
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerFragment, LostGroupsAreForgottenByRewinding) {
    TestServer server;
    TestClient leader = open_chain(&server, SinkKind::Groups);
    TestClient worker = attach_to(&server, leader);
    server.cpu.hang_in = FakeControls::Next;
    worker.probe(worker.opened.input[0], {2});
    ASSERT_TRUE(eventually([&] { return server.cpu.hanging == 1; }));
    worker.close();
    server.cpu.hang_in = FakeControls::kCalls;
    leader.send(MessageType::Rewind, 0, nullptr);
    leader.expect(MessageType::Rewound);
    leader.groups(leader.probe(leader.opened.input[0], {2}));
    EXPECT_EQ(leader.groups(leader.flush()), (TestClient::Counts{{200, 1}}));
}

// Where rows go to the client, the others miss nothing.
TEST(ServerFragment, AParticipantMayLeaveItsRows) {
    TestServer server;
    TestClient leader = open_chain(&server, SinkKind::Rows);
    TestClient worker = attach_to(&server, leader);
    server.cpu.hang_in = FakeControls::Next;
    worker.probe(worker.opened.input[0], {2});
    ASSERT_TRUE(eventually([&] { return server.cpu.hanging == 1; }));
    worker.close();
    server.cpu.hang_in = FakeControls::kCalls;
    EXPECT_EQ(leader.results(leader.probe(leader.opened.input[0], {2, 1})), kOfTwoAndOne);
}

TEST(ServerFragment, AllStagesMove) {
    const std::pair<FakeControls::Call, int> steps[] = {
        {FakeControls::Open, 2}, {FakeControls::Append, 1}, {FakeControls::Append, 2},
        {FakeControls::Seal, 1}, {FakeControls::Seal, 2},   {FakeControls::Probe, 1},
        {FakeControls::Next, 1},
    };
    for (SinkKind sink : {SinkKind::Rows, SinkKind::Groups}) {
        for (auto [call, nth] : steps) {
            SCOPED_TRACE(static_cast<int>(call));
            TestServer server({.gpu = true});
            server.gpu.fault = Fault::DeviceMemory;
            server.gpu.fail_in[call] = nth;
            TestClient client = open_chain(&server, sink);
            uint64_t sequence = client.probe(client.opened.input[0], {2, 1});
            if (sink == SinkKind::Rows) {
                EXPECT_EQ(client.results(sequence), kOfTwoAndOne);
            } else {
                client.groups(sequence);
                EXPECT_EQ(client.groups(client.flush()), (TestClient::Counts{{100, 1}, {101, 1}, {200, 1}}));
            }
            EXPECT_TRUE(client.stats(1).join.moved);
            EXPECT_EQ(server.gpu.joins, 0);
            client.close();
            EXPECT_TRUE(server.becomes_clean());
        }
    }
}

// A stage that was sealed before the move is sealed after it, and the other may still be built.
TEST(ServerFragment, StagesMoveWhileOneIsBuilt) {
    TestServer server({.gpu = true});
    TestClient client = server.connect();
    client.query = -77;
    client.open(chain_fragment(2, SinkKind::Rows).view());
    client.append_and_wait({{10, int_payload(100)}}, ColumnType::Fixed8, 1);
    client.seal(1);
    server.gpu.fault = Fault::DeviceMemory;
    server.gpu.fail_in[FakeControls::Append] = 2;
    client.append_and_wait({{1, int_payload(10)}}, ColumnType::Fixed8, 0);
    testing::internal::CaptureStderr();
    client.append_and_wait({{2, int_payload(10)}}, ColumnType::Fixed8, 0);
    EXPECT_EQ(client.seal(0).build_rows, 2u);
    EXPECT_EQ(
        testing::internal::GetCapturedStderr().find(
            "LOG: join session 1 of process " + std::to_string(getpid()) + ", query -77 moves to the CPU: "),
        0u);
    TestClient late = attach_to(&server, client);
    EXPECT_EQ(late.results(late.probe(late.opened.input[0], {2, 1})).size(), 2u);
    EXPECT_TRUE(client.stats().join.moved);
}

// Rows of a probe that was answered are in the groups.
TEST(ServerFragment, GroupsAreTooLateToMove) {
    TestServer server({.gpu = true});
    server.gpu.fault = Fault::DeviceMemory;
    server.gpu.fail_in[FakeControls::Probe] = 2;
    TestClient client = open_chain(&server, SinkKind::Groups);
    client.groups(client.probe(client.opened.input[0], {2, 1}));
    client.probe(client.opened.input[0], {2, 1});
    EXPECT_STREQ(client.expect(MessageType::Failed).message.as<Status>().sqlstate, "53200");
}

}  // namespace gpujoin::test
