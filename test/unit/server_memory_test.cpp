// A machine that has no memory left: for the arena's pages, which fallocate() is refused here, and for what
// the server itself asks for, by an operator new that fails. A client is refused, the server goes on.
#include <gtest/gtest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "server_test_client.h"

namespace {

std::atomic<int64_t> bytes_left{INT64_MAX};  // that fallocate() gives out
std::atomic<int> allocations_left{0};        // until the one that fails; 0: none will
std::atomic<bool> is_gate_shut{false};       // at which fallocate() waits for pages
std::atomic<int> at_gate{0};                 // how many wait there
std::atomic<int> pieces{0};                  // that were asked for
thread_local bool is_tester = false;         // whose allocations do not count

void* allocate(size_t bytes) {
    bool fails = !is_tester && allocations_left > 0 && --allocations_left == 0;
    void* memory = fails ? nullptr : malloc(bytes);
    if (!memory) throw std::bad_alloc();
    return memory;
}

bool gets_pages(int64_t bytes) {
    at_gate++;
    pieces++;
    while (is_gate_shut) usleep(1000);
    bool is_refused = bytes_left.fetch_sub(bytes) < bytes;
    if (is_refused) bytes_left += bytes;
    at_gate--;
    return !is_refused;
}

}  // namespace

// In the place of the C library's.
extern "C" int fallocate(int fd, int mode, off_t offset, off_t len) {
    if (mode == 0 && !gets_pages(len)) {
        errno = ENOSPC;
        return -1;
    }
    return static_cast<int>(syscall(SYS_fallocate, fd, mode, offset, len));
}

// Not inlined: where one of them is and the other is not, GCC takes them for a pair that does not match.
[[gnu::noinline]] void* operator new(size_t bytes) {
    return allocate(bytes);
}
// The library's would be paired with the operator delete below: a sanitizer brings its own.
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
    try {
        return allocate(bytes);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
    free(memory);
}

namespace gpujoin::test {

namespace {

constexpr uint64_t kSmallest = Arena::kOverflowUnit;

// What the machine has left, as long as it lives.
struct MachineHas {
    explicit MachineHas(int64_t bytes) { bytes_left = bytes; }
    ~MachineHas() { bytes_left = INT64_MAX; }
};

// Nobody gets pages, or is refused them, as long as it lives.
struct ShutGate {
    ShutGate() { is_gate_shut = true; }
    ~ShutGate() { is_gate_shut = false; }
    static bool is_reached() {
        return eventually([] { return at_gate > 0; });
    }
};

void join_once(TestClient* client) {
    client->append_and_wait({{1, int_payload(10)}, {2, int_payload(20)}});
    client->seal();
    auto pairs = client->results(client->probe(client->opened.input[0], {2, 3}));
    EXPECT_EQ(pairs, (TestClient::Pairs{{0, int_payload(20)}}));
}

void expect_refusal(TestClient* client) {
    Received answer = client->expect(MessageType::Failed);
    EXPECT_STREQ(answer.message.as<Status>().sqlstate, "53200");
}

void send_open(TestClient* client) {
    client->hello();
    client->send_open(key_payload_spec());
}

// All that a session may ask for, unless the server refuses some of it or cuts somebody off.
void join_unless_refused(TestServer* server) {
    try {
        server->cpu.fail_in[FakeControls::Open] = 1;  // measuring would take long
        TestClient calibrator = server->connect();
        calibrator.send(MessageType::Calibrate, 1, nullptr);
        calibrator.receive();
        server->cpu.fail_in[FakeControls::Open] = 0;
        TestClient first = server->connect();
        first.may_fail = true;
        first.open(key_payload_spec(ColumnType::Bytes));
        TestClient second = server->connect();
        second.may_fail = true;
        second.attach(first);
        const std::string payload(2 * kSmallest, 'x');
        first.append_and_wait({{1, payload}}, ColumnType::Bytes);
        first.seal();
        second.expect(MessageType::Sealed);
        second.reserve(Arena::kBlockBytes + 1);
        auto results = [](TestClient* client) {
            return client->results(client->probe(client->opened.input[0], {1, 2}), ColumnType::Bytes);
        };
        EXPECT_EQ(results(&second), (TestClient::Pairs{{0, payload}}));
        second.close();
        EXPECT_EQ(results(&first), (TestClient::Pairs{{0, payload}}));
        first.scan_build(true);
    } catch (const std::runtime_error&) {
    }
}

}  // namespace

TEST(Ledger, AllowanceIsOfTheReserve) {
    Ledger all(10), reserve(5);
    Ledger other(10, &all);
    ASSERT_TRUE(other.charge(8));
    {
        Ledger mine(100, &all, &reserve, 4);
        EXPECT_TRUE(mine.charge(2));
        EXPECT_EQ(all.used(), 10u);
        EXPECT_FALSE(mine.charge(5)) << "beyond the allowance";
        EXPECT_TRUE(mine.charge(3));
        EXPECT_EQ(reserve.used(), 3u);
        EXPECT_FALSE(mine.charge(2));
        EXPECT_EQ(mine.used(), 5u);
        EXPECT_FALSE(other.charge(1)) << "others have no part in it";
        mine.release(4);
        EXPECT_EQ(reserve.used(), 0u) << "is given back first";
        EXPECT_EQ(all.used(), 9u);
        EXPECT_TRUE(mine.charge(1));
        EXPECT_TRUE(mine.charge(4));
    }
    EXPECT_EQ(all.used(), 8u);
    EXPECT_EQ(reserve.used(), 0u);
    Ledger one(100, &all, &reserve, 4), two(100, &all, &reserve, 4);
    ASSERT_TRUE(one.charge(2) && one.charge(4));
    EXPECT_FALSE(two.charge(2)) << "the reserve has an end too";
    EXPECT_TRUE(two.charge(1));
}

// Charges and releases of several threads at once: nothing is lost of any ledger.
TEST(Ledger, AllowanceOfManyThreads) {
    Ledger all(1000), reserve(300);
    Ledger mine(100000, &all, &reserve, 250);
    std::vector<std::thread> threads;
    std::atomic<uint64_t> refused = 0;
    for (unsigned seed = 0; seed < 4; seed++)
        threads.emplace_back([&, seed] {
            std::mt19937 random(seed);
            std::vector<uint64_t> held;
            for (int i = 0; i < 100000; i++) {
                if (random() % 2 == 0 || held.empty()) {
                    uint64_t bytes = random() % 64;
                    if (mine.charge(bytes))
                        held.push_back(bytes);
                    else
                        refused++;
                } else {
                    mine.release(held.back());
                    held.pop_back();
                }
            }
            for (uint64_t bytes : held) mine.release(bytes);
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(refused.load(), 0u);
    EXPECT_EQ(mine.used() + all.used() + reserve.used(), 0u);
}

TEST(Memory, GrantedRangesAreBacked) {
    Ledger host_memory(64u << 20);
    std::unique_ptr<Arena> arena;
    ASSERT_TRUE(Arena::create(2 * Arena::kBlockBytes, &host_memory, nullptr, &arena).ok());
    auto resident = [&] {
        struct stat status;
        fstat(arena->fd(), &status);
        return static_cast<uint64_t>(status.st_blocks) * 512;
    };
    BlockRange pinned = *arena->grant(0, 1), overflow = *arena->grant(3 * Arena::kBlockBytes, 1);
    EXPECT_EQ(resident(), 0u);
    EXPECT_TRUE(arena->reserve(pinned));
    EXPECT_TRUE(arena->reserve(overflow));
    EXPECT_EQ(resident(), pinned.bytes + overflow.bytes);
    arena->set_backed(pinned, pinned.bytes);
    arena->set_backed(overflow, overflow.bytes);
    EXPECT_EQ(arena->backed(pinned), pinned.bytes);
    arena->release(overflow, 1);
    arena->release(pinned, 1);
    while (arena->give_back_piece()) continue;
    EXPECT_EQ(resident(), pinned.bytes) << "what is pinned keeps its pages";
    EXPECT_EQ(arena->backed(*arena->grant(0, 1)), pinned.bytes);
    EXPECT_EQ(arena->backed(*arena->grant(3 * Arena::kBlockBytes, 1)), 0u);
    MachineHas little(5 * kSmallest);
    EXPECT_FALSE(arena->reserve(overflow));
}

TEST(Memory, AJoinThatTheMachineHasNoPagesForIsRefused) {
    TestServer server;
    {
        MachineHas nothing(0);
        TestClient client = server.connect();
        send_open(&client);
        expect_refusal(&client);
        EXPECT_TRUE(client.ends());
    }
    TestClient client = server.connect_and_open(key_payload_spec());
    join_once(&client);
    client.close();
    EXPECT_TRUE(server.becomes_clean());
}

TEST(Memory, AParticipantIsRefusedAlone) {
    TestServer server;
    TestClient first = server.connect_and_open(key_payload_spec());
    {
        MachineHas nothing(0);
        TestClient second = server.connect();
        second.hello();
        second.session = first.session;
        AttachBody body;
        memcpy(body.secret, first.opened.secret, sizeof body.secret);
        second.send(MessageType::Attach, 0, &body);
        expect_refusal(&second);
        EXPECT_TRUE(second.ends());
    }
    join_once(&first);
    first.close();
    EXPECT_TRUE(server.becomes_clean());
}

// Of a large row, for which pages are refused when the client does not wait for it any more.
TEST(Memory, AParticipantThatHasGoneIsRefusedAlone) {
    TestServer server;
    const std::string payload(5u << 20, 'x');
    TestClient first = server.connect_and_open(key_payload_spec(ColumnType::Bytes));
    TestClient second = server.connect();
    second.attach(first);
    auto large = first.reserve(6u << 20);
    ASSERT_TRUE(large);
    first.append(*large, {{1, payload}}, ColumnType::Bytes);
    first.expect(MessageType::Appended);
    first.seal();
    second.expect(MessageType::Sealed);
    {
        MachineHas nothing(0);
        ShutGate gate;
        second.probe(second.opened.input[0], {1});
        ASSERT_TRUE(ShutGate::is_reached());
        second.close();
        first.devices();  // by now it has been seen to be gone
        is_gate_shut = false;
        ASSERT_TRUE(eventually([] { return at_gate == 0; }));
    }
    uint64_t probe = first.probe(first.opened.input[0], {1});
    EXPECT_EQ(first.results(probe, ColumnType::Bytes), (TestClient::Pairs{{0, payload}}));
    first.close();
    EXPECT_TRUE(server.becomes_clean());
}

TEST(Memory, NothingIsReservedForAClientThatHasGone) {
    TestServer server;
    TestClient other = server.connect_and_open(key_payload_spec());
    TestClient client = server.connect_and_open(key_payload_spec());
    {
        ShutGate gate;
        pieces = 0;
        ReserveBody body{8 * Arena::kBlockBytes};
        client.send(MessageType::Reserve, 1, &body);
        ASSERT_TRUE(ShutGate::is_reached());
        client.close();
        other.devices();  // by now it has been seen to be gone
    }
    join_once(&other);
    other.close();
    EXPECT_TRUE(server.becomes_clean());
    EXPECT_LE(pieces, 1);
}

TEST(Memory, BlocksShrinkToWhatTheMachineHas) {
    TestServer server;
    MachineHas little(5 * kSmallest);
    TestClient client = server.connect_and_open(key_payload_spec());
    EXPECT_EQ(client.opened.input[0].bytes, 2 * kSmallest);
    EXPECT_EQ(client.opened.input[1].bytes, kSmallest);
    join_once(&client);
    bytes_left = INT64_MAX;
    TestClient next = server.connect_and_open(key_payload_spec());
    EXPECT_EQ(next.opened.input[0].bytes, Arena::kBlockBytes);
    client.close();
    next.close();
    EXPECT_TRUE(server.becomes_clean());
}

TEST(Memory, AFurtherBlockIsRefusedAndTheJoinGoesOn) {
    TestServer server;
    TestClient client = server.connect_and_open(key_payload_spec());
    {
        MachineHas nothing(0);
        EXPECT_FALSE(client.reserve(0));
        EXPECT_FALSE(client.reserve(8 * Arena::kBlockBytes));
    }
    {
        MachineHas little(3 * kSmallest);
        EXPECT_FALSE(client.reserve(Arena::kBlockBytes)) << "less would not do";
        auto smaller = client.reserve(0);
        ASSERT_TRUE(smaller);
        EXPECT_LT(smaller->bytes, Arena::kBlockBytes);
    }
    auto large = client.reserve(8 * Arena::kBlockBytes);
    ASSERT_TRUE(large);
    EXPECT_GE(large->bytes, 8 * Arena::kBlockBytes);
    join_once(&client);
    client.close();
    EXPECT_TRUE(server.becomes_clean());
}

TEST(Memory, ALargeResultWaitsForItsPagesOrIsRefused) {
    TestServer server;
    const std::string payload(5u << 20, 'x');
    for (bool refused : {false, true}) {
        TestClient client = server.connect_and_open(key_payload_spec(ColumnType::Bytes));
        auto large = client.reserve(6u << 20);
        ASSERT_TRUE(large);
        client.append(*large, {{1, payload}}, ColumnType::Bytes);
        client.expect(MessageType::Appended);
        client.seal();
        MachineHas left(refused ? 0 : INT64_MAX);
        uint64_t probe = client.probe(client.opened.input[0], {1});
        if (refused) {
            expect_refusal(&client);
        } else {
            EXPECT_EQ(client.results(probe, ColumnType::Bytes), (TestClient::Pairs{{0, payload}}));
        }
    }
    EXPECT_TRUE(server.becomes_clean());
}

TEST(Memory, ALargeResultTakesABlockThatHasItsPages) {
    TestServer server;
    const std::string payload(kSmallest + 1, 'x');
    auto little = std::make_unique<MachineHas>(5 * kSmallest);
    TestClient client = server.connect_and_open(key_payload_spec(ColumnType::Bytes));
    little.reset();
    TestClient other = server.connect_and_open(key_payload_spec());
    auto large = client.reserve(2 * kSmallest);
    ASSERT_TRUE(large);
    client.append(*large, {{1, payload}}, ColumnType::Bytes);
    client.expect(MessageType::Appended);
    client.seal();
    other.close();
    server.connect_and_open(key_payload_spec()).close();  // the other's blocks are free by now
    uint64_t probe = client.probe(client.opened.input[0], {1});
    EXPECT_EQ(client.results(probe, ColumnType::Bytes), (TestClient::Pairs{{0, payload}}));
    client.close();
    EXPECT_TRUE(server.becomes_clean());
}

// Whichever allocation of the server fails: the join gives the right rows, or its client is told or cut off;
// nothing is left behind, and the next join succeeds.
TEST(Memory, AnyAllocationMayFail) {
    is_tester = true;
    TestServer server;
    int n = 1;
    for (; n < 2000; n++) {
        SCOPED_TRACE(n);
        allocations_left = n;
        join_unless_refused(&server);
        bool has_failed = allocations_left.exchange(0) <= 0;  // by two threads at once
        ASSERT_TRUE(server.becomes_clean());
        TestClient client = server.connect_and_open(key_payload_spec());
        join_once(&client);
        if (!has_failed) break;
    }
    is_tester = false;
    EXPECT_GT(n, 20);
    EXPECT_LT(n, 2000);
}

}  // namespace gpujoin::test
