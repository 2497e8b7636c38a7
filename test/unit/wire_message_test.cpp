// Messages: what encode() writes decode() reads; every other size, type or text is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
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
    OpenBody open{1, 0};
    return Packet(type, type == MessageType::Open ? static_cast<const void*>(&open) : zeros.data());
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
    EXPECT_EQ(naming, 7);
    alignas(8) std::byte seal[sizeof(MessageHeader)];
    encode(MessageType::Seal, 7, 0, nullptr, 0, {}, seal, 3);
    EXPECT_EQ(reinterpret_cast<MessageHeader*>(seal)->stage, 3u);
}

TEST(Message, BatchesCarryTheirColumns) {
    ColumnBuffers columns[2] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
    BatchBody body{{64, 128}, 10, 2, 1, 0, 0, kNoBuffer};
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

TEST(Message, OpensCarryFragments) {
    std::vector<std::byte> some(100, std::byte{7});
    auto decodes = [&some](const OpenBody& body) {
        Message message;
        Packet packet(MessageType::Open, &body, some);
        return packet.decode(&message).ok() && std::ranges::equal(message.packed, some);
    };
    EXPECT_TRUE(decodes({1, 100}));
    EXPECT_TRUE(decodes({kMaxStages, kMaxOpenBytes}));
    EXPECT_TRUE(decodes({0, 100}));
    EXPECT_FALSE(decodes({kMaxStages + 1, 100}));
    EXPECT_FALSE(decodes({1, 99}));
    EXPECT_FALSE(decodes({1, kMaxOpenBytes + 1}));
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
        setenv("GPUJOIN_FAULT", "grant:3,copy:1,nonsense:1,send", 1);
        bool right = !fault_due(FaultPoint::Grant) && !fault_due(FaultPoint::Grant) &&
                     fault_due(FaultPoint::Grant) && !fault_due(FaultPoint::Grant) &&
                     fault_due(FaultPoint::Copy) && !fault_due(FaultPoint::Copy) &&
                     !fault_due(FaultPoint::Send) && !fault_due(FaultPoint::Launch);
        _exit(right ? 0 : 1);
    };
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(count(), testing::ExitedWithCode(0), "");
}
#endif

}  // namespace gpujoin::test
