// Turns at the workers: calls that give way where they are, and sessions that keep nobody from anything.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "engine/cpu/work/workers.h"
#include "engine/turn.h"
#include "server/workers.h"
#include "server_test_client.h"

namespace gpujoin::test {

namespace {

// Runs calls of a share each, to their end.
class Calls {
  public:
    explicit Calls(size_t most_threads = SIZE_MAX) : workers_(1, most_threads) {}
    void run(std::function<void()> work) {
        begun_++;
        workers_.run(WorkerThreads::make_share(), [this, work = std::move(work)] {
            work();
            ended_++;
        });
    }
    bool end() const {
        return eventually([this] { return ended_ == begun_; });
    }

  private:
    std::atomic<int> begun_{0};
    std::atomic<int> ended_{0};
    WorkerThreads workers_;  // with one Quick place and one Long one
};

constexpr int kMany = 10;  // calls or sessions, more than may run at once

using Keys = std::vector<std::optional<int64_t>>;

}  // namespace

// None ends before all have begun.
TEST(ServerTurns, CallsGiveWayWhereTheyAre) {
    std::atomic<int> met{0};
    Calls calls;
    for (int i = 0; i < kMany; i++)
        calls.run([&] {
            met++;
            while (met < kMany) give_way();
        });
    EXPECT_TRUE(calls.end());
}

// All threads that help with a call wait while it does: as long as two others, which do not give way, have
// both places, none of them gets on.
TEST(ServerTurns, HelpersGiveWayWithTheirCall) {
    std::atomic<int> others{0};
    std::atomic<bool> is_over{false};
    std::atomic<uint64_t> work{0};
    Calls calls;
    calls.run([&] {
        auto do_work = [&, turn = Turn::current()] {
            TurnScope scope(turn);
            for (; !is_over; work++) give_way();
        };
        std::thread helper(do_work);
        do_work();
        helper.join();
    });
    EXPECT_TRUE(eventually([&] { return work > 0; }));
    for (int i = 0; i < 2; i++)
        calls.run([&] {
            others++;
            while (!is_over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        });
    EXPECT_TRUE(eventually([&] { return others == 2; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const uint64_t before = work;
    std::this_thread::sleep_for(3 * WorkerThreads::kTurn);
    EXPECT_EQ(work, before);
    is_over = true;
    EXPECT_TRUE(calls.end());
}

// Calls of one join, as of the participants of a parallel query, that all run loops which give way. A call
// that waited for a slot of the join's arena would keep its place while those in the slots wait for one.
TEST(ServerTurns, CallsOfOneJoinDoNotWaitForItsArena) {
    constexpr int kCalls = 9;
    struct Session {
        WorkerThreads workers{2};
        cpu::Workers join{2};
        WorkerThreads::Share share = WorkerThreads::make_share();
        std::atomic<int> ended{0};
    };
    auto* session = new Session;
    session->workers.run(session->share,
                         [session] {  // from now on the session is a long one, with two places in all
                             std::this_thread::sleep_for(2 * Schedule::kQuick);
                             session->ended++;
                         });
    ASSERT_TRUE(eventually([&] { return session->ended == 1; }));
    for (int i = 0; i < kCalls; i++)
        session->workers.run(session->share, [session] {
            Status status = session->join.run(nullptr, 4, [](uint32_t) {
                for (int step = 0; step < 100; step++) {
                    std::this_thread::sleep_for(std::chrono::microseconds(200));
                    cpu::should_stop(nullptr);
                }
            });
            EXPECT_TRUE(status.ok());
            session->ended++;
        });
    ASSERT_TRUE(eventually([&] { return session->ended == 1 + kCalls; })) << "its threads are left behind";
    delete session;
}

// The one that holds the lock needs a place to go on, and those that wait for the lock have them all.
TEST(ServerTurns, WaitingForALockGivesWayToItsHolder) {
    std::mutex mutex;
    std::atomic<int> met{0};
    Calls calls;
    for (int i = 0; i < kMany; i++)
        calls.run([&] {
            met++;
            auto lock = lock_in_turn(mutex, nullptr);
            while (met < kMany) give_way();
        });
    EXPECT_TRUE(calls.end());
}

// Those that wait for the lock have both places and the last threads; its holder and others want a place.
TEST(ServerTurns, WaitingForALockGivesWayWithoutThreadsForOthers) {
    constexpr int kThreads = 3;
    std::mutex mutex;
    std::atomic<int> begun{0};
    auto* calls = new Calls(kThreads);
    for (int i = 0; i < kMany; i++)
        calls->run([&] {
            begun++;
            auto lock = lock_in_turn(mutex, nullptr);
            while (begun < kThreads) give_way();
            auto end = std::chrono::steady_clock::now() + 2 * WorkerThreads::kTurn;
            while (std::chrono::steady_clock::now() < end) give_way();
        });
    ASSERT_TRUE(calls->end()) << "its threads are left behind";
    EXPECT_EQ(begun, kMany);
    delete calls;
}

TEST(ServerTurns, NobodyWaitsForALockOnceItsJoinIsCancelled) {
    std::mutex mutex;
    std::lock_guard holder(mutex);
    std::atomic<bool> cancel{false};
    Calls calls;
    std::atomic<bool> is_locked{true};
    calls.run([&] { is_locked = lock_in_turn(mutex, &cancel).owns_lock(); });
    cancel = true;
    EXPECT_TRUE(calls.end());
    EXPECT_FALSE(is_locked);
    EXPECT_FALSE(lock_in_turn(mutex, &cancel).owns_lock()) << "without a turn";
}

// Who waits for a lock has no place that others could have.
TEST(ServerTurns, WaitingForALockTakesNoTurns) {
    std::mutex mutex;
    std::unique_lock holder(mutex);
    std::atomic<int> waiting{0};
    std::atomic<bool> is_done{false};
    Calls calls;
    for (int i = 0; i < 2; i++)
        calls.run([&] {
            waiting++;
            lock_in_turn(mutex, nullptr);
        });
    EXPECT_TRUE(eventually([&] { return waiting == 2; }));
    calls.run([&] { is_done = true; });
    EXPECT_TRUE(eventually([&] { return is_done.load(); }));
    holder.unlock();
    EXPECT_TRUE(calls.end());
}

// Also where a helper has passed the turn on, while the thread that made the call waits for the helper.
TEST(ServerTurns, TimesOfWorkLeaveOutWhatOthersTake) {
    std::atomic<bool> is_over{false};
    std::atomic<int> others{0};
    Turn::Duration work{};
    const auto began = std::chrono::steady_clock::now();
    Calls calls;
    calls.run([&] {
        WorkTimer timer;
        std::thread([&, turn = Turn::current()] {
            TurnScope scope(turn);
            while (!is_over) give_way();
        }).join();
        work = timer.elapsed();
    });
    for (int i = 0; i < 2; i++)
        calls.run([&] {
            others++;
            eventually([&] { return others == 2; });
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            is_over = true;
        });
    EXPECT_TRUE(calls.end());
    EXPECT_LT(work + std::chrono::milliseconds(200), std::chrono::steady_clock::now() - began);
}

TEST(ServerTurns, WithoutOthersATurnIsNotOver) {
    Calls calls;
    calls.run([] {
        std::this_thread::sleep_for(2 * WorkerThreads::kTurn);
        EXPECT_FALSE(turn_is_over());
    });
    EXPECT_TRUE(calls.end());
    EXPECT_FALSE(turn_is_over()) << "no call";
}

// The first two begin at once, since there is one place of each kind. The third one has a place when one of
// them has left, whose time counts then.
TEST(ServerTurns, CallsOfASessionThatTakesLongAreNotQuick) {
    constexpr int kCalls = 3;
    WorkerThreads workers(1);
    const auto share = WorkerThreads::make_share();
    std::atomic<int> entered{0};
    std::atomic<int> ended{0};
    for (int i = 0; i < kCalls; i++) {
        workers.run(share, [&, i] {
            EXPECT_EQ(Turn::current()->is_quick(), i < 2) << "call " << i;
            eventually([&] { return entered == kCalls; });
            std::this_thread::sleep_for(2 * Schedule::kQuick);
            ended++;
        });
        entered++;
    }
    ASSERT_TRUE(eventually([&] { return ended == kCalls; }));
}

TEST(ServerTurns, SmallJoinsRunBesideLargeOnes) {
    TestServer server({.staging = 256u << 20});
    server.cpu.busy_from = 100;
    std::vector<TestClient> large;
    std::vector<uint64_t> sequences;
    for (int i = 0; i < kMany; i++) {
        large.push_back(server.connect_and_open(key_payload_spec()));
        large.back().append_and_wait({{1, int_payload(i)}});
        large.back().seal();
        sequences.push_back(large.back().probe(large.back().opened.input[0], Keys(100, 1)));
    }
    EXPECT_TRUE(eventually([&] { return server.cpu.turns > 3 * kMany; })) << "they take turns";
    TestClient small = server.connect_and_open(key_payload_spec());
    small.append_and_wait({{1, int_payload(7)}});
    small.seal();
    EXPECT_EQ(small.results(small.probe(small.opened.input[0], {1})),
              (TestClient::Pairs{{0, int_payload(7)}}));

    server.cpu.busy_from = ~uint64_t{0};
    for (int i = 0; i < kMany; i++) EXPECT_EQ(large[i].results(sequences[i]).size(), 100u);
    large.clear();
    small.close();
    EXPECT_TRUE(server.becomes_clean());
}

TEST(ServerTurns, RewindDropsAProbeBetweenItsTurns) {
    TestServer server;
    TestClient client = server.connect_and_open(key_payload_spec());
    TestClient other = server.connect_and_open(key_payload_spec());
    TestClient third = server.connect_and_open(key_payload_spec());
    server.cpu.busy_from = 2;
    for (TestClient* each : {&client, &other, &third}) {
        each->append_and_wait({{1, int_payload(1)}});
        each->seal();
        each->probe(each->opened.input[0], {1, 1});
    }
    EXPECT_TRUE(eventually([&] { return server.cpu.turns > 10; }));
    client.send(MessageType::Rewind, 0, nullptr);
    client.expect(MessageType::Rewound);
    EXPECT_EQ(client.results(client.probe(client.opened.input[0], {1})).size(), 1u);
}

TEST(ServerTurns, SessionsAreOpenedWhateverIsRunning) {
    TestServer server({.staging = 256u << 20});
    std::vector<TestClient> clients;
    for (int i = 0; i < kMany; i++) clients.push_back(server.connect_and_open(key_payload_spec()));
    server.cpu.hang_in = FakeControls::Append;
    for (TestClient& client : clients)
        client.append(client.opened.input[0], {{1, int_payload(1)}}, ColumnType::Fixed8);
    ASSERT_TRUE(eventually([&] { return server.cpu.hanging == 2; })) << "which do not give way";
    TestClient late = server.connect_and_open(key_payload_spec());
    TestClient worker = server.connect();
    worker.attach(late);
    server.cpu.hang_in = FakeControls::kCalls;
    for (TestClient& client : clients) client.expect(MessageType::Appended);
}

}  // namespace gpujoin::test
