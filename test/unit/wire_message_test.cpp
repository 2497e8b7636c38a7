// Messages: what encode() writes decode() reads; every other size, type or text is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <vector>

#include "fault/fault.h"
#include "wire/message.h"

namespace gpujoin::test {

namespace {

constexpr auto kFirst = static_cast<uint16_t>(MessageType::Hello);
constexpr auto kLast = static_cast<uint16_t>(MessageType::Failed);

struct Packet {
    std::vector<uint64_t> buffer = std::vector<uint64_t>(kMaxMessageBytes / 8 + 1);
    uint32_t bytes = 0;

    Packet(MessageType type, const void* body, std::span<const ColumnBuffers> columns = {})
        : Packet(type, body, std::as_bytes(columns)) {}
    Packet(MessageType type, const void* body, std::span<const std::byte> tail) {
        bytes = encode(type, 7, 9, body, body_bytes(type), tail, data());
    }
    std::byte* data() { return reinterpret_cast<std::byte*>(buffer.data()); }
    MessageHeader& header() { return *reinterpret_cast<MessageHeader*>(data()); }
    Status decode(Message* message) { return gpujoin::decode({data(), bytes}, message); }
};

// A packet with a body that nobody objects to: zeros, save that there is no session without a stage.
Packet plain_packet(MessageType type) {
    std::vector<std::byte> zeros(kMaxMessageBytes);
    OpenBody open{1, 0, 0, 0, 0};
    return Packet(type, type == MessageType::Open ? static_cast<const void*>(&open) : zeros.data(),
                  std::span<const std::byte>{});
}

template <typename Element>
std::vector<std::byte>& operator<<(std::vector<std::byte>& tail, const std::vector<Element>& elements) {
    std::ranges::copy(std::as_bytes(std::span(elements)), std::back_inserter(tail));
    return tail;
}

// What there is of a message whose body may say other things than its tail has.
Message decoded(MessageType type, const void* body, std::span<const std::byte> tail) {
    static std::vector<uint64_t> buffer;
    Packet packet(type, body, tail);
    buffer = std::move(packet.buffer);
    Message message;
    Status status = decode({reinterpret_cast<std::byte*>(buffer.data()), packet.bytes}, &message);
    if (!status.ok()) {
        EXPECT_STREQ(status.sqlstate, "08P01");
        message = {};
    }
    return message;
}
bool is_taken(MessageType type, const void* body, std::span<const std::byte> tail) {
    return decoded(type, body, tail).header != nullptr;
}

}  // namespace

TEST(Message, EveryTypeSurvives) {
    for (uint16_t number = kFirst; number <= kLast; number++) {
        auto type = static_cast<MessageType>(number);
        Packet packet = plain_packet(type);
        Message message;
        ASSERT_TRUE(packet.decode(&message).ok()) << number;
        EXPECT_EQ(message.header->type, type);
        EXPECT_EQ(message.header->session, 7u);
        EXPECT_EQ(message.header->sequence, 9u);
        EXPECT_EQ(message.header->bytes, sizeof(MessageHeader) + body_bytes(type));
    }
    EXPECT_EQ(body_bytes(static_cast<MessageType>(0)), UINT32_MAX);
    EXPECT_EQ(body_bytes(static_cast<MessageType>(kLast + 1)), UINT32_MAX);
}

TEST(Message, EveryOtherSizeIsRefused) {
    for (uint16_t number = kFirst; number <= kLast; number++) {
        auto type = static_cast<MessageType>(number);
        if (type == MessageType::OpenPart) continue;  // has any
        Packet packet = plain_packet(type);
        uint32_t right = packet.bytes;
        for (uint32_t bytes : {0u, 1u, 31u, right - 1, right + 1, right + 32}) {
            packet.bytes = packet.header().bytes = bytes;
            Message message;
            EXPECT_STREQ(packet.decode(&message).sqlstate, "08P01") << number << " of " << bytes;
        }
    }
}

TEST(Message, OnlyWhatIsAboutAStageNamesOne) {
    int naming = 0;
    for (uint16_t number = kFirst; number <= kLast; number++) {
        auto type = static_cast<MessageType>(number);
        Packet packet = plain_packet(type);
        packet.header().stage = 3;
        Message message;
        Status status = packet.decode(&message);
        EXPECT_EQ(status.ok(), names_stage(type)) << number;
        naming += names_stage(type);
    }
    EXPECT_EQ(naming, 8);
    alignas(8) std::byte seal[sizeof(MessageHeader)];
    encode(MessageType::Seal, 7, 0, nullptr, 0, {}, seal, 3);
    EXPECT_EQ(reinterpret_cast<MessageHeader*>(seal)->stage, 3u);
}

TEST(Message, BatchesCarryTheirColumns) {
    ColumnBuffers columns[2] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
    BatchBody body{{64, 128}, 10, 2, 1, 0, 0, kNoBuffer, 0, 0};
    Packet packet(MessageType::Result, &body, columns);
    Message message;
    ASSERT_TRUE(packet.decode(&message).ok());
    ASSERT_EQ(message.columns.size(), 2u);
    EXPECT_EQ(message.columns[1].data_bytes, 8u);
    EXPECT_EQ(message.as<BatchBody>().block.bytes, 128u);
    auto* stored = reinterpret_cast<BatchBody*>(packet.data() + sizeof(MessageHeader));
    for (int count : {0, 1, 3, int{kMaxColumns} + 1, 65535}) {
        stored->columns = static_cast<uint16_t>(count);
        EXPECT_FALSE(packet.decode(&message).ok()) << count;
    }
}

TEST(Message, TheLargestBatchFits) {
    std::vector<ColumnBuffers> columns(kMaxColumns);
    BatchBody body{};
    body.columns = kMaxColumns;
    Packet packet(MessageType::Append, &body, columns);
    Message message;
    EXPECT_TRUE(packet.decode(&message).ok());
    EXPECT_LE(packet.bytes, kMaxMessageBytes);
}

TEST(Message, ChunksAreNamedWithTheirColumns) {
    for (MessageType type : {MessageType::FindKept, MessageType::MakeKept})
        for (uint32_t columns : {0u, 1u, kMaxKeptColumns, kMaxKeptColumns + 1}) {
            std::vector<std::byte> tail;
            tail << std::vector<ChunkColumn>(columns,
                                             {{1, 2, 3}, {ColumnType::Fixed4, ValueOrder::Signed, 1, 0}, 0});
            ChunkBody body{{1, 2, 3, 4}, 6, columns, 0, 1, 0};
            Message message = decoded(type, &body, tail);
            ASSERT_EQ(message.header != nullptr, columns <= kMaxKeptColumns) << columns;
            if (!message.header) continue;
            EXPECT_EQ(message.as<ChunkBody>().chunk, (ChunkKey{1, 2, 3, 4}));
            ASSERT_EQ(message.kept_columns.size(), columns);
            for (const ChunkColumn& column : message.kept_columns) EXPECT_EQ(column.identity[2], 3);
            EXPECT_TRUE(message.columns.empty() && message.conditions.empty() && !message.map);
            body.columns++;
            EXPECT_FALSE(is_taken(type, &body, tail));
            body.columns = UINT32_MAX;
            EXPECT_FALSE(is_taken(type, &body, tail));
        }
}

TEST(Message, MapsFollowWhereTheBodySaysSo) {
    std::vector<ChunkMap> map(1);
    map[0].add(9);
    std::vector<std::byte> none, tail;
    tail << map;
    auto check = [&](MessageType type, const void* without, const void* with) {
        EXPECT_TRUE(is_taken(type, without, none));
        EXPECT_FALSE(is_taken(type, without, tail));
        EXPECT_FALSE(is_taken(type, with, none));
        EXPECT_FALSE(is_taken(type, with, std::span(tail).first(tail.size() - 1)));
        Message message = decoded(type, with, tail);
        ASSERT_TRUE(message.map);
        EXPECT_TRUE(message.map->has(9) && !message.map->has(8));
    };
    SealKeptBody given_up{{2, 1}, 1, 0}, kept{{2, 1}, 1, 1};
    check(MessageType::SealKept, &given_up, &kept);
}

TEST(Message, FoundChunksAreCounted) {
    for (uint32_t count : {0u, 1u, kMaxFoundChunks, kMaxFoundChunks + 1}) {
        std::vector<FoundChunk> chunks(count, {{7, 6}, 8, 9, 1, {}, {}, {}});
        for (FoundChunk& chunk : chunks) chunk.map.add(kChunkBlocks - 1);
        std::vector<std::byte> tail;
        tail << chunks;
        FoundChunksBody body{count, 0};
        Message message = decoded(MessageType::FoundChunks, &body, tail);
        ASSERT_EQ(message.header != nullptr, count <= kMaxFoundChunks) << count;
        if (!message.header) continue;
        ASSERT_EQ(message.found.size(), count);
        for (const FoundChunk& chunk : message.found)
            EXPECT_TRUE(chunk.handle == 9 && chunk.map.has(kChunkBlocks - 1) && !chunk.map.has(0));
        for (uint32_t other : {count + 1, count - 1, UINT32_MAX}) {
            FoundChunksBody wrong{other, 0};
            EXPECT_FALSE(is_taken(MessageType::FoundChunks, &wrong, tail)) << other;
        }
    }
}

void check_scan_of_kept_rows(MessageType type) {
    std::vector<ScannedChunk> chunks(2, {4, {}, {}});
    chunks[1].map.add(kChunkBlocks - 1);
    for (uint32_t count : {0u, 1u, kMaxKeptConditions, kMaxKeptConditions + 1}) {
        std::vector<std::byte> tail;
        KeptCondition condition = {};
        condition.interval = {-5, 10};
        tail << std::vector<KeptCondition>(count, condition) << chunks;
        ScanKeptBody body{count, 2};
        Message message = decoded(type, &body, tail);
        ASSERT_EQ(message.header != nullptr, count <= kMaxKeptConditions) << count;
        if (!message.header) continue;
        ASSERT_EQ(message.conditions.size(), count);
        for (const KeptCondition& each : message.conditions) EXPECT_EQ(each.interval.low, -5);
        ASSERT_EQ(message.scanned.size(), 2u);
        EXPECT_EQ(message.scanned[0].handle, 4u);
        EXPECT_TRUE(message.scanned[1].map.has(kChunkBlocks - 1));
        for (uint32_t other : {count + 1, count - 1, UINT32_MAX}) {
            ScanKeptBody wrong{other, 2};
            EXPECT_FALSE(is_taken(type, &wrong, tail)) << other;
        }
        EXPECT_FALSE(is_taken(type, &body, std::span(tail).first(tail.size() - 8)));
    }
    for (uint32_t count : {0u, kMaxScannedChunks, kMaxScannedChunks + 1}) {
        std::vector<std::byte> tail;
        tail << std::vector<ScannedChunk>(count);
        ScanKeptBody body{0, count};
        EXPECT_EQ(is_taken(type, &body, tail), count <= kMaxScannedChunks) << count;
    }
}

TEST(Message, ScansOfKeptRowsCarryConditionsAndChunks) {
    check_scan_of_kept_rows(MessageType::ProbeKept);
    check_scan_of_kept_rows(MessageType::BuildKept);
}

TEST(Message, KeptRowsCarryTheirColumns) {
    std::vector<std::byte> tail;
    tail << std::vector<ColumnBuffers>(3, {1, 2, 3, 4});
    AppendKeptBody body{};
    body.columns = 3;
    Message message = decoded(MessageType::AppendKept, &body, tail);
    ASSERT_EQ(message.columns.size(), 3u);
    EXPECT_EQ(message.columns[2].data, 3u);
    for (uint32_t other : {0u, 2u, 4u, kMaxColumns + 1, 65535u}) {
        body.columns = static_cast<uint16_t>(other);
        EXPECT_FALSE(is_taken(MessageType::AppendKept, &body, tail)) << other;
    }
}

TEST(Message, KeptTablesAreCounted) {
    auto body = std::make_unique<KeptTablesBody>();
    body->count = kMaxKeptTables;
    EXPECT_TRUE(is_taken(MessageType::KeptTables, body.get(), {}));
    body->count++;
    EXPECT_FALSE(is_taken(MessageType::KeptTables, body.get(), {}));
}

TEST(Message, OpensCarryFragments) {
    std::vector<std::byte> some(100, std::byte{7});
    auto decodes = [&some](const OpenBody& body) {
        Message message;
        Packet packet(MessageType::Open, &body, some);
        return packet.decode(&message).ok() && std::ranges::equal(message.packed, some);
    };
    EXPECT_TRUE(decodes({1, 100, 0, 0, 0}));
    EXPECT_TRUE(decodes({kMaxStages, kMaxOpenBytes, 0, 0, 0}));
    EXPECT_TRUE(decodes({0, 100, 0, 0, 0}));
    EXPECT_FALSE(decodes({kMaxStages + 1, 100, 0, 0, 0}));
    EXPECT_FALSE(decodes({1, 99, 0, 0, 0}));
    EXPECT_FALSE(decodes({1, kMaxOpenBytes + 1, 0, 0, 0}));
    Message message;
    ASSERT_TRUE(Packet(MessageType::OpenPart, nullptr, some).decode(&message).ok());
    EXPECT_EQ(message.packed.size(), some.size());
}

TEST(Message, OtherBuildsSayWhatToDo) {
    HelloBody body{};
    Packet versioned(MessageType::Hello, &body);
    versioned.header().version++;
    Message message;
    EXPECT_STRNE(versioned.decode(&message).hint, "");
    Packet built(MessageType::Hello, &body);
    built.header().build++;
    EXPECT_STRNE(built.decode(&message).hint, "");
}

TEST(Message, TextsEnd) {
    Status status = failure(Fault::Error, "58000", "%s", "text");
    Message message;
    EXPECT_TRUE(Packet(MessageType::Failed, &status).decode(&message).ok());
    memset(status.hint, 'x', sizeof status.hint);
    EXPECT_FALSE(Packet(MessageType::Failed, &status).decode(&message).ok());

    OpenedBody opened{};
    memset(opened.device, 'x', sizeof opened.device);
    EXPECT_FALSE(Packet(MessageType::Opened, &opened).decode(&message).ok());

    StatsBody stats{};
    memset(stats.join.device, 'x', sizeof stats.join.device);
    EXPECT_FALSE(Packet(MessageType::Stats, &stats).decode(&message).ok());

    DevicesBody devices{};
    memset(devices.device[kMaxDevices - 1].state, 'x', sizeof devices.device[0].state);
    EXPECT_FALSE(Packet(MessageType::Devices, &devices).decode(&message).ok());
    devices = {};
    devices.count = kMaxDevices + 1;
    EXPECT_FALSE(Packet(MessageType::Devices, &devices).decode(&message).ok());
}

TEST(Status, LongTextsAreCut) {
    std::string text(10000, 'x');
    Status status = failure(Fault::Error, "580000", "%s", text.c_str());
    status.with_detail("%s", text.c_str()).with_hint("%s", text.c_str());
    EXPECT_STREQ(status.sqlstate, "58000");
    EXPECT_EQ(strlen(status.message), sizeof status.message - 1);
    EXPECT_EQ(strlen(status.detail), sizeof status.detail - 1);
    EXPECT_EQ(strlen(status.hint), sizeof status.hint - 1);
    EXPECT_FALSE(status.ok());
}

#ifdef GPUJOIN_FAULTS
TEST(Fault, TheNthCallFails) {
    // The countdowns are read once a process: in a process of its own.
    auto count = [] {
        setenv("GPUJOIN_FAULT", "grant:3,copy:1,nonsense:1,send,stale:2+", 1);
        bool right =
            !fault_due(FaultPoint::Grant) && !fault_due(FaultPoint::Grant) && fault_due(FaultPoint::Grant) &&
            !fault_due(FaultPoint::Grant) && fault_due(FaultPoint::Copy) && !fault_due(FaultPoint::Copy) &&
            !fault_due(FaultPoint::Send) && !fault_due(FaultPoint::Launch) && !fault_due(FaultPoint::Stale) &&
            fault_due(FaultPoint::Stale) && fault_due(FaultPoint::Stale);
        _exit(right ? 0 : 1);
    };
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(count(), testing::ExitedWithCode(0), "");
}
#endif

}  // namespace gpujoin::test
