// Joins that find no room on their device move to the CPU engine, as long as no probe was answered.
#include <gtest/gtest.h>

#include "server_test_client.h"

namespace gpujoin::test {

namespace {

const std::vector<BuildRow> kRows = {
    {1, int_payload(10)}, {std::nullopt, int_payload(20)}, {2, int_payload(30)}};

void fail_once(FakeControls* gpu, FakeControls::Call call, int nth) {
    gpu->fault = Fault::DeviceMemory;
    gpu->fail_in[call] = nth;
}

// A whole join that should not notice; true in *moved when it ran on the CPU in the end.
void join_and_check(TestServer* server, bool* moved) {
    TestClient client = server->connect_and_open(key_payload_spec());
    client.append_and_wait(kRows);
    client.append_and_wait({{2, int_payload(31)}});
    EXPECT_EQ(client.seal().build_rows, 4u);
    uint64_t first = client.probe(client.opened.input[0], {2, 1});
    uint64_t second = client.probe(client.opened.input[1], {1});
    TestClient::Pairs expected = {{0, int_payload(30)}, {0, int_payload(31)}, {1, int_payload(10)}};
    EXPECT_EQ(client.results(first), expected);
    EXPECT_EQ(client.results(second).size(), 1u);
    EXPECT_EQ(client.results(client.scan_build(true)).size(), 3u);
    JoinStats stats = client.stats().join;
    *moved = stats.moved != 0;
    EXPECT_EQ(client.has_moved, *moved);
    EXPECT_STREQ(stats.device, *moved ? "CPU: fake" : "GPU 0: fake");
}

}  // namespace

TEST(ServerMove, StaysOnTheDeviceWhereThereIsRoom) {
    TestServer server({.gpu = true});
    bool moved = true;
    join_and_check(&server, &moved);
    EXPECT_FALSE(moved);
}

TEST(ServerMove, MovesAtAnyStageBeforeTheFirstResult) {
    const std::pair<FakeControls::Call, int> stages[] = {
        {FakeControls::Open, 1}, {FakeControls::Append, 1}, {FakeControls::Append, 2},
        {FakeControls::Seal, 1}, {FakeControls::Probe, 1},  {FakeControls::Next, 1},
    };
    for (auto [call, nth] : stages) {
        SCOPED_TRACE(static_cast<int>(call));
        TestServer server({.gpu = true});
        fail_once(&server.gpu, call, nth);
        bool moved = false;
        join_and_check(&server, &moved);
        EXPECT_TRUE(moved);
        EXPECT_EQ(server.gpu.joins, 0);
        EXPECT_TRUE(server.becomes_clean());
    }
}

TEST(ServerMove, FailsAfterTheFirstResult) {
    TestServer server({.gpu = true});
    fail_once(&server.gpu, FakeControls::Next, 2);
    TestClient client = server.connect_and_open(key_payload_spec());
    client.append_and_wait(kRows);
    client.seal();
    client.results(client.probe(client.opened.input[0], {2, 1}));
    client.probe(client.opened.input[0], {2, 1});
    EXPECT_STREQ(client.expect(MessageType::Failed).message.as<Status>().sqlstate, "53200");
}

TEST(ServerMove, FailsWhenTheHostHasNoRoomEither) {
    TestServer server({.gpu = true});
    fail_once(&server.gpu, FakeControls::Seal, 1);
    server.cpu.fault = Fault::HostMemory;
    server.cpu.fail_in[FakeControls::Append] = 2;
    TestClient client = server.connect_and_open(key_payload_spec());
    client.append_and_wait(kRows);
    client.send(MessageType::Seal, 0, nullptr);
    EXPECT_STREQ(client.expect(MessageType::Failed).message.as<Status>().sqlstate, "53200");
    client.close();
    EXPECT_TRUE(server.becomes_clean());
}

// A device without room to hand the build side out: there is nothing left to move then.
TEST(ServerMove, FailsWhenTheBuildSideCannotBeExported) {
    TestServer server({.gpu = true});
    fail_once(&server.gpu, FakeControls::Seal, 1);
    server.gpu.fail_in[FakeControls::Export] = 1;
    TestClient client = server.connect_and_open(key_payload_spec());
    client.append_and_wait(kRows);
    client.send(MessageType::Seal, 0, nullptr);
    EXPECT_STREQ(client.expect(MessageType::Failed).message.as<Status>().sqlstate, "53200");
    client.close();
    EXPECT_TRUE(server.becomes_clean());
}

// The join on the device uses the session's ledgers to its end, so the session does not end before.
TEST(ServerMove, AFailedMoveEndsAfterTheJoinOnTheDevice) {
    TestServer server({.gpu = true});
    fail_once(&server.gpu, FakeControls::Seal, 1);
    server.cpu.fail_in[FakeControls::Open] = 1;
    TestClient client = server.connect_and_open(key_payload_spec());
    client.append_and_wait(kRows);
    server.gpu.hang_in = FakeControls::Destroy;
    client.send(MessageType::Seal, 0, nullptr);
    ASSERT_TRUE(eventually([&] { return server.gpu.hanging == 1; }));
    EXPECT_TRUE(client.is_silent());
    server.gpu.hang_in = FakeControls::kCalls;
    client.expect(MessageType::Failed);
    client.close();
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerMove, OtherParticipantsGoOn) {
    TestServer server({.gpu = true});
    TestClient leader = server.connect_and_open(key_payload_spec());
    std::vector<TestClient> workers;
    for (int i = 0; i < 3; i++) workers.push_back(server.connect());
    for (TestClient& worker : workers) worker.attach(leader);
    fail_once(&server.gpu, FakeControls::Append, 5);
    for (int i = 0; i < 4; i++) {
        for (TestClient& worker : workers) worker.append(worker.opened.input[0], kRows, ColumnType::Fixed8);
        for (TestClient& worker : workers) worker.expect(MessageType::Appended);
    }
    EXPECT_EQ(leader.seal().build_rows, 36u);
    for (TestClient& worker : workers) {
        worker.expect(MessageType::Sealed);
        EXPECT_EQ(worker.results(worker.probe(worker.opened.input[0], {2})).size(), 12u);
    }
    EXPECT_TRUE(leader.stats().join.moved);
    workers.clear();
    leader.close();
    EXPECT_TRUE(server.becomes_clean());
}

// A client that goes while its rows wait for the move leaves no gap in the row numbers.
TEST(ServerMove, RowsOfAClientThatHasGoneComeAlong) {
    TestServer server({.gpu = true});
    TestClient leader = server.connect_and_open(key_payload_spec());
    TestClient worker = server.connect();
    worker.attach(leader);
    leader.append_and_wait(kRows);
    server.gpu.hang_in = FakeControls::Export;
    fail_once(&server.gpu, FakeControls::Append, 1);
    worker.append(worker.opened.input[0], kRows, ColumnType::Fixed8);
    ASSERT_TRUE(eventually([&] { return server.gpu.hanging == 1; }));
    leader.append(leader.opened.input[0], kRows, ColumnType::Fixed8);
    worker.close();
    EXPECT_TRUE(leader.is_silent());
    server.gpu.hang_in = FakeControls::kCalls;
    leader.expect(MessageType::Appended);
    EXPECT_EQ(leader.seal().build_rows, 9u);
    leader.close();
    EXPECT_TRUE(server.becomes_clean());
}

// Another participant's probe ends while the move is due: what it matched is not known on the CPU.
TEST(ServerMove, ProbesThatEndWhileAMoveIsDueAreDoneAgain) {
    TestServer server({.gpu = true});
    TestClient leader = server.connect_and_open(key_payload_spec());
    leader.append_and_wait(kRows);
    TestClient worker = server.connect();
    worker.attach(leader);
    leader.seal();
    worker.expect(MessageType::Sealed);
    server.gpu.hang_in = FakeControls::Next;
    uint64_t others = worker.probe(worker.opened.input[0], {1});
    ASSERT_TRUE(eventually([&] { return server.gpu.hanging == 1; }));
    fail_once(&server.gpu, FakeControls::Probe, 1);
    uint64_t failing = leader.probe(leader.opened.input[0], {2});
    ASSERT_TRUE(eventually([&] { return server.gpu.fail_in[FakeControls::Probe] == 0; }));
    EXPECT_TRUE(leader.is_silent());
    server.gpu.hang_in = FakeControls::kCalls;
    EXPECT_EQ(worker.results(others).size(), 1u);
    EXPECT_EQ(leader.results(failing).size(), 1u);
    EXPECT_TRUE(leader.stats().join.moved);
    EXPECT_EQ(leader.results(leader.scan_build(true)).size(), 2u);
}

TEST(ServerMove, ALostDeviceEndsTheProcess) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    auto lose_device = [] {
        TestServer server({.gpu = true});
        server.gpu.fault = Fault::DeviceLost;
        server.gpu.fail_in[FakeControls::Seal] = 1;
        TestClient client = server.connect_and_open(key_payload_spec());
        client.send(MessageType::Seal, 0, nullptr);
        client.receive();
        _exit(0);
    };
    EXPECT_EXIT(lose_device(), testing::ExitedWithCode(1),
                "FATAL: GPU 0: fake is lost in join session 1 of process [0-9]+: told to fail");
}

TEST(ServerMove, NewJoinsGoToTheGpuWithTheMostFreeMemory) {
    FakeControls controls;
    Devices devices(make_fake_engine(-1, &controls));
    auto choose = [&devices]() -> Device& { return devices.choose({}, false); };
    EXPECT_TRUE(choose().is_cpu());
    devices.add(make_fake_engine(0, &controls, 1000));
    devices.add(make_fake_engine(1, &controls, 2000));
    EXPECT_EQ(choose().description.number, 1);
    ASSERT_TRUE(choose().memory.charge(1500));
    EXPECT_EQ(choose().description.number, 0);
}

// Long work on many kept rows gets all GPUs, while nobody else is on one, and may take all their memory.
TEST(ServerMove, LongJoinsGetAllGpus) {
    FakeControls controls;
    Devices devices(make_fake_engine(-1, &controls));
    devices.add(make_fake_engine(0, &controls, 1000));
    devices.add(make_fake_engine(1, &controls, 2000));
    devices.unite();
    auto spec = std::make_unique<FragmentSpec>();
    spec->sink = SinkKind::Groups;
    std::vector<StageSpec> stages(1);
    stages[0].join.equalities = 1;
    auto get_all = [&](bool is_limited = false) {
        return devices.choose({spec.get(), stages}, is_limited).label == "GPUs 0, 1: fake";
    };
    EXPECT_FALSE(get_all()) << "a few rows that are read";
    spec->source_is_kept = 1;
    spec->estimated_source_rows = 400'000'000;
    EXPECT_FALSE(get_all()) << "any number of groups";
    spec->estimated_groups = 1000;
    EXPECT_TRUE(get_all());
    EXPECT_FALSE(get_all(true));
    spec->completes_groups = 1;
    EXPECT_FALSE(get_all()) << "complete groups";
    spec->completes_groups = 0;
    stages[0].join.kind = JoinKind::Full;
    EXPECT_FALSE(get_all()) << "build rows are scanned";
    stages[0].join.kind = JoinKind::Left;
    spec->estimated_groups = 100'000'000;
    EXPECT_FALSE(get_all()) << "too many groups";
    spec->estimated_groups = 1000;
    spec->source_is_kept = 0;
    EXPECT_FALSE(get_all()) << "rows that are read";
    stages[0].join.equalities = 0;
    EXPECT_TRUE(get_all()) << "a nested loop";
    devices.cpu().sessions = 1;
    EXPECT_TRUE(get_all()) << "others are on the CPU";
    devices.cpu().sessions = 0;
    devices.usable().back()->sessions = 1;
    EXPECT_FALSE(get_all()) << "others are there";
    devices.usable().back()->sessions = 0;
    Device& all = devices.choose({spec.get(), stages}, false);
    all.sessions = 1;
    EXPECT_FALSE(get_all()) << "others have them all";
    auto body = std::make_unique<DevicesBody>();
    devices.describe(Ledger(1000), body.get());
    EXPECT_EQ(body->device[0].sessions, 0u) << "of the CPU";
    EXPECT_EQ(body->device[1].sessions, 1u);
    EXPECT_EQ(body->device[2].sessions, 1u);
    all.sessions = 0;
    EXPECT_TRUE(get_all());
}

TEST(ServerMove, CpuEnginesStandInForGpus) {
    FakeControls controls;
    Devices devices(make_fake_engine(-1, &controls));
    devices.unite();
    EXPECT_EQ(devices.choose({}, false).label, devices.cpu().label) << "there is one";
    devices.add(make_fake_engine(-1, &controls));
    devices.unite();
    auto spec = std::make_unique<FragmentSpec>();
    std::vector<StageSpec> stages(1);
    EXPECT_EQ(devices.choose({spec.get(), stages}, false).label, "2 CPU engines: fake");
    EXPECT_EQ(devices.summary(), "2 CPU engines: fake");
    EXPECT_EQ(devices.gpus(), 0u);
    stages[0].join.kind = JoinKind::RightSemi;
    EXPECT_EQ(devices.choose({spec.get(), stages}, false).label, devices.cpu().label);
}

}  // namespace gpujoin::test
