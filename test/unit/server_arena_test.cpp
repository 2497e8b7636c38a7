// The arena's two allocators, the ledger they charge, the server's command line, and what is given back.
#include <gtest/gtest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "server/arena.h"
#include "server/options.h"

namespace gpujoin::test {

namespace {

constexpr uint64_t kBlock = Arena::kBlockBytes;
constexpr uint64_t kUnit = Arena::kOverflowUnit;

struct TestArena {
    TestArena(uint64_t staging, uint64_t host, uint64_t spare = 0) : host_memory(host), reserve(spare) {
        EXPECT_TRUE(Arena::create(staging, &host_memory, &reserve, &arena).ok());
    }
    uint64_t resident_bytes() const {
        struct stat status;
        fstat(arena->fd(), &status);
        return static_cast<uint64_t>(status.st_blocks) * 512;
    }
    void give_back() const {
        while (arena->give_back_piece()) continue;
    }
    Ledger host_memory;
    Ledger reserve;
    std::unique_ptr<Arena> arena;
};

bool parses(std::vector<const char*> arguments, Options* options) {
    arguments.insert(arguments.begin(), "gpujoin_server");
    const auto* argv = const_cast<char* const*>(arguments.data());
    return parse_options(static_cast<int>(arguments.size()), argv, options).ok();
}

}  // namespace

TEST(Arena, IsSealed) {
    TestArena test(2 * kBlock, 0);
    EXPECT_EQ(fcntl(test.arena->fd(), F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    EXPECT_NE(ftruncate(test.arena->fd(), 0), 0);
    EXPECT_NE(test.arena->id(), 0u);
}

TEST(Arena, PrefersBlocksThatTheProcessUsedLast) {
    TestArena test(4 * kBlock, 0);
    BlockRange mine = *test.arena->grant(0, 1);
    BlockRange others = *test.arena->grant(0, 2);
    test.arena->release(mine, 1);
    test.arena->release(others, 2);
    EXPECT_EQ(test.arena->grant(0, 1)->offset, mine.offset);
    EXPECT_EQ(test.arena->grant(0, 2)->offset, others.offset);
    EXPECT_EQ(test.arena->staging_used(), 2 * kBlock);
}

TEST(Arena, OverflowIsChargedAndPunchedOut) {
    TestArena test(kBlock, 10 * kUnit);
    BlockRange pinned = *test.arena->grant(0, 1);
    EXPECT_EQ(pinned.bytes, kBlock);
    BlockRange small = *test.arena->grant(0, 1);
    EXPECT_EQ(small.bytes, kUnit);
    BlockRange large = *test.arena->grant(5 * kUnit + 1, 1);
    EXPECT_EQ(large.bytes, 6 * kUnit);
    EXPECT_EQ(test.host_memory.used(), 7 * kUnit);
    EXPECT_FALSE(test.arena->grant(4 * kUnit, 1));
    EXPECT_FALSE(test.arena->grant(~uint64_t{0}, 1));
    memset(test.arena->at(large.offset), 1, large.bytes);
    EXPECT_EQ(test.resident_bytes(), large.bytes);
    test.arena->release(large, 1);
    EXPECT_EQ(test.resident_bytes(), large.bytes) << "its pages are given back later";
    test.give_back();
    EXPECT_EQ(test.resident_bytes(), 0u);
    test.arena->release(small, 1);
    test.arena->release(pinned, 1);
    test.give_back();
    EXPECT_EQ(test.host_memory.used(), 0u);
    EXPECT_EQ(test.arena->staging_used(), 0u);
    EXPECT_TRUE(test.arena->grant(10 * kUnit, 1)) << "neighbours are merged";
}

TEST(Arena, PagesAreGivenBackInPiecesOrWhenTheyAreWanted) {
    constexpr uint64_t kLarge = 64u << 20;
    TestArena test(0, kLarge + kUnit);
    BlockRange large = *test.arena->grant(kLarge, 1);
    ASSERT_TRUE(test.arena->reserve(large));
    test.arena->release(large, 1);
    ASSERT_TRUE(test.arena->give_back_piece());
    EXPECT_LT(test.resident_bytes(), kLarge);
    EXPECT_GT(test.resident_bytes(), kLarge / 2);
    EXPECT_EQ(test.host_memory.used(), test.resident_bytes()) << "charged for as long as they are there";
    BlockRange next = *test.arena->grant(kLarge, 1);
    EXPECT_LE(test.resident_bytes() + next.bytes, kLarge + kUnit);
    test.arena->release(next, 1);
    test.give_back();
    EXPECT_EQ(test.host_memory.used() + test.resident_bytes(), 0u);
}

TEST(Arena, ReservePaysForAMinimum) {
    TestArena test(0, 4 * kUnit, 3 * kUnit);
    BlockRange large = *test.arena->grant(4 * kUnit, 1);
    EXPECT_FALSE(test.arena->grant(0, 1));
    std::vector<BlockRange> minimum;
    while (auto range = test.arena->grant(0, 1, Borrowing::Minimum)) minimum.push_back(*range);
    EXPECT_EQ(minimum.size(), 3u);
    EXPECT_EQ(test.reserve.used(), 3 * kUnit);
    test.arena->release(minimum.back(), 1);
    EXPECT_FALSE(test.arena->grant(0, 1)) << "what the reserve paid is nobody else's";
    test.give_back();
    EXPECT_EQ(test.reserve.used(), 2 * kUnit);
    test.arena->release(large, 1);
    EXPECT_TRUE(test.arena->grant(0, 1, Borrowing::Minimum))
        << "and not asked for where there is other memory";
    EXPECT_EQ(test.reserve.used(), 2 * kUnit);
    EXPECT_EQ(test.host_memory.used(), kUnit);
}

TEST(Arena, HalfOfTheReserveIsLent) {
    TestArena test(0, 4 * kUnit, 12 * kUnit);
    EXPECT_FALSE(test.arena->grant(5 * kUnit, 1));
    BlockRange large = *test.arena->grant(5 * kUnit, 1, Borrowing::Lent);
    EXPECT_EQ(test.reserve.used(), 5 * kUnit) << "also for more than all other memory";
    EXPECT_FALSE(test.arena->grant(7 * kUnit, 1, Borrowing::Lent));
    EXPECT_TRUE(test.arena->grant(4 * kUnit, 1, Borrowing::Lent)) << "other memory first";
    EXPECT_TRUE(test.arena->grant(0, 1, Borrowing::Lent));
    EXPECT_FALSE(test.arena->grant(0, 1, Borrowing::Lent));
    for (int i = 0; i < 6; i++) EXPECT_TRUE(test.arena->grant(0, 1, Borrowing::Minimum));
    EXPECT_FALSE(test.arena->grant(0, 1, Borrowing::Minimum));
    test.arena->release(large, 1);
    test.give_back();
    EXPECT_EQ(test.arena->lent()->used(), kUnit);
    EXPECT_EQ(test.reserve.used(), 7 * kUnit);
}

TEST(Arena, RangesNeverOverlap) {
    TestArena test(2 * kBlock, 64 * kUnit);
    std::mt19937 random(1);
    std::map<uint64_t, BlockRange> held;
    for (int i = 0; i < 20000; i++) {
        if (random() % 2 == 0) {
            auto range = test.arena->grant(random() % (8 * kUnit), 1);
            if (!range) continue;
            auto next = held.emplace(range->offset, *range).first;
            auto after = std::next(next);
            EXPECT_TRUE(after == held.end() || range->offset + range->bytes <= after->first);
            if (next == held.begin()) continue;
            const BlockRange& before = std::prev(next)->second;
            EXPECT_LE(before.offset + before.bytes, range->offset);
        } else if (!held.empty()) {
            auto chosen = std::next(held.begin(), static_cast<long>(random() % held.size()));
            test.arena->release(chosen->second, 1);
            held.erase(chosen);
            if (random() % 4 == 0) test.arena->give_back_piece();
        }
    }
    for (const auto& [offset, range] : held) test.arena->release(range, 1);
    test.give_back();
    EXPECT_EQ(test.host_memory.used(), 0u);
    EXPECT_EQ(test.arena->staging_used(), 0u);
}

TEST(Options, AreParsed) {
    Options options;
    ASSERT_TRUE(parses({"--socket", "s", "--staging-memory=4096", "--host-memory", "1", "--device-memory",
                        "2", "--device", "0,3", "--cpu-threads", "5"},
                       &options));
    EXPECT_EQ(options.socket, "s");
    EXPECT_EQ(options.staging_memory, 4096u);
    EXPECT_EQ(options.host_memory, 1u);
    EXPECT_EQ(options.device_memory, 2u);
    EXPECT_EQ(options.devices, (std::vector<int>{0, 3}));
    EXPECT_EQ(options.device_choice, Options::DeviceChoice::Listed);
    EXPECT_EQ(options.cpu_threads, 5u);
    EXPECT_FALSE(options.keep_memory);
    ASSERT_TRUE(parses({"--socket", "s", "--keep-memory", "0"}, &options));
    EXPECT_EQ(options.keep_memory, 0u);
    ASSERT_TRUE(parses({"--socket", "s", "--keep-memory", "auto"}, &options));
    EXPECT_FALSE(options.keep_memory);
    ASSERT_TRUE(parses({"--list-devices", "--device", "cpu"}, &options));
    EXPECT_EQ(options.action, Options::Action::ListDevices);
    EXPECT_EQ(options.device_choice, Options::DeviceChoice::Cpu);
    ASSERT_TRUE(parses({"--check", "--host-memory", "1"}, &options));
    EXPECT_EQ(options.action, Options::Action::Check);
}

TEST(Options, BadOnesAreRefused) {
    const std::vector<const char*> bad[] = {
        {},
        {"--socket"},
        {"--socket", ""},
        {"--socket", "s", "--host-memory", "1MB"},
        {"--socket", "s", "--host-memory", "-1"},
        {"--socket", "s", "--host-memory", "99999999999999999999"},
        {"--socket", "s", "--keep-memory", "none"},
        {"--socket", "s", "--device", "gpu"},
        {"--socket", "s", "--device", "0,,1"},
        {"--socket", "s", "--device", ""},
        {"--socket", "s", "--cpu-threads", "100000"},
        {"--socket", "s", "--frobnicate", "1"},
        {"--socket", "s", "stray"},
    };
    for (const auto& arguments : bad) {
        Options options;
        EXPECT_FALSE(parses(arguments, &options)) << arguments.size();
    }
    Options options;
    std::string long_name(108, 'x');
    EXPECT_FALSE(parses({"--socket", long_name.c_str()}, &options));
}

}  // namespace gpujoin::test
