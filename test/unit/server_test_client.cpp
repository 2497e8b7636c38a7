// The test client's and test server's workings.
#include "server_test_client.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "wire/plain_fragment.h"

namespace gpujoin::test {

namespace {

// Lays buffers out in a block one after the other.
struct BlockWriter {
    std::byte* memory;
    uint64_t used = 0;

    uint64_t add(const void* bytes, uint64_t count) {
        uint64_t start = used;
        if (count > 0) memcpy(memory + start, bytes, count);
        used = align_buffer(used + count);
        return start;
    }
};

ColumnBuffers write_keys(BlockWriter* writer, const std::vector<std::optional<int64_t>>& keys) {
    std::vector<uint8_t> validity(validity_bytes(keys.size()));
    std::vector<int64_t> values(keys.size());
    for (size_t i = 0; i < keys.size(); i++) {
        if (keys[i]) validity[i / 8] |= static_cast<uint8_t>(1 << i % 8);
        values[i] = keys[i].value_or(0);
    }
    ColumnBuffers buffers;
    buffers.validity = writer->add(validity.data(), validity.size());
    buffers.values = writer->add(values.data(), values.size() * 8);
    return buffers;
}

ColumnBuffers write_payloads(BlockWriter* writer, const std::vector<BuildRow>& rows, ColumnType type) {
    std::string data;
    std::vector<uint32_t> offsets{0};
    for (const BuildRow& row : rows) {
        data += row.payload;
        offsets.push_back(static_cast<uint32_t>(data.size()));
    }
    ColumnBuffers buffers;
    if (type != ColumnType::Bytes) {
        buffers.values = writer->add(data.data(), data.size());
        return buffers;
    }
    buffers.values = writer->add(offsets.data(), offsets.size() * 4);
    buffers.data = writer->add(data.data(), data.size());
    buffers.data_bytes = data.size();
    return buffers;
}

}  // namespace

JoinSpec key_payload_spec(ColumnType payload) {
    JoinSpec spec{};
    spec.names_probe_rows = 1;
    spec.probe_columns = 1;
    spec.build_columns = 2;
    spec.equalities = 1;
    spec.outputs = 1;
    spec.equality[0] = Term{0, 0, Comparison::Equal, {}};
    spec.output[0] = 1;
    spec.probe[0] = spec.build[0] = ColumnSpec{ColumnType::Fixed8, ValueOrder::Signed, 1, 0};
    spec.build[1] = ColumnSpec{payload, ValueOrder::Bytes, 0, 0};
    return spec;
}

OwnedFragment plain_fragment(const JoinSpec& spec) {
    OwnedFragment fragment(1);
    make_plain_fragment(spec, fragment.spec.get(), fragment.stages.data());
    return fragment;
}

OwnedFragment chain_fragment(uint32_t stages, SinkKind sink) {
    OwnedFragment fragment = plain_fragment(key_payload_spec());
    fragment.stages.resize(stages, fragment.stages[0]);
    for (uint16_t i = 0; i < stages; i++) {
        fragment.stages[i].join.build[1].order = ValueOrder::Signed;
        if (i > 0) fragment.stages[i].probe[0] = {static_cast<uint16_t>(i - 1), 0};
    }
    FragmentSpec& spec = *fragment.spec;
    spec.sink = sink;
    spec.inputs = 1;
    spec.input[0] = {static_cast<uint16_t>(stages - 1), 0};
    if (sink == SinkKind::Rows) return fragment;
    spec.keys = spec.aggregates = 1;
    spec.key[0] = 0;
    spec.aggregate[0] = {AggregateFunction::Count, 0, kNoNumber, kNoNumber};
    return fragment;
}

std::string int_payload(int64_t value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

TestClient::TestClient(const std::string& socket_name)
    : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket_name.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(connect(fd(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0) << strerror(errno);
}

TestClient::TestClient(TestClient&& other) noexcept
    : session(other.session),
      opened(other.opened),
      arena(other.arena),
      socket_(std::move(other.socket_)),
      memory_(std::exchange(other.memory_, nullptr)),
      last_sequence_(other.last_sequence_) {}

TestClient::~TestClient() {
    if (memory_) munmap(memory_, arena.arena_bytes);
}

bool TestClient::send_packet(const void* packet, size_t bytes) {
    return ::send(fd(), packet, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(bytes);
}

bool TestClient::send(MessageType type, uint64_t sequence, const void* body, std::span<const std::byte> tail,
                      uint32_t stage) {
    std::vector<uint64_t> buffer(kMaxMessageBytes / 8);
    auto* bytes = reinterpret_cast<std::byte*>(buffer.data());
    uint32_t size = encode(type, session, sequence, body, body_bytes(type), tail, bytes, stage);
    return send_packet(bytes, size);
}

std::optional<Received> TestClient::receive(std::chrono::milliseconds timeout) {
    pollfd event{fd(), POLLIN, 0};
    if (poll(&event, 1, static_cast<int>(timeout.count())) != 1) return std::nullopt;
    Received received{std::vector<uint64_t>(kMaxMessageBytes / 8), {}};
    iovec part{received.packet.data(), kMaxMessageBytes};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    ssize_t bytes = recvmsg(fd(), &header, MSG_CMSG_CLOEXEC);
    if (bytes <= 0) return std::nullopt;
    Status status = decode({reinterpret_cast<std::byte*>(received.packet.data()), static_cast<size_t>(bytes)},
                           &received.message);
    EXPECT_TRUE(status.ok()) << status.detail;
    if (cmsghdr* attached = CMSG_FIRSTHDR(&header)) {
        UniqueFd shared(*reinterpret_cast<int*>(CMSG_DATA(attached)));
        uint64_t size = received.message.as<WelcomeBody>().arena_bytes;
        void* memory =
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, shared.get(), 0);
        EXPECT_NE(memory, MAP_FAILED);
        memory_ = static_cast<std::byte*>(memory);
    }
    return received;
}

bool TestClient::ends() {
    pollfd event{fd(), POLLIN, 0};
    std::byte any;
    return poll(&event, 1, static_cast<int>(kPatience.count())) == 1 && recv(fd(), &any, 1, 0) <= 0;
}

int TestClient::flood(MessageType type) {
    int sent = 0;
    EXPECT_TRUE(eventually([&] {
        for (int i = 0; i < 100 && send(type, 0, nullptr); i++) sent++;
        pollfd event{fd(), POLLRDHUP, 0};
        return poll(&event, 1, 0) == 1;
    }));
    return sent;
}

Received TestClient::expect(MessageType type) {
    auto received = receive();
    if (!received) {
        if (!may_fail) ADD_FAILURE() << "no message instead of one of type " << static_cast<int>(type);
        throw std::runtime_error("no message");
    }
    if (received->type() == MessageType::Failed && type != MessageType::Failed) {
        const auto& status = received->message.as<Status>();
        if (!may_fail) ADD_FAILURE() << status.message << ": " << status.detail;
        throw std::runtime_error("unexpected failure");
    }
    EXPECT_EQ(static_cast<int>(received->type()), static_cast<int>(type));
    return std::move(*received);
}

void TestClient::hello() {
    HelloBody body{getpid(), 0, 0};
    send(MessageType::Hello, 0, &body);
    arena = expect(MessageType::Welcome).message.as<WelcomeBody>();
    ASSERT_NE(memory_, nullptr);
}

void TestClient::send_open(const FragmentView& fragment, size_t at_once) {
    at_once = std::min(at_once, kMaxMessageBytes - sizeof(MessageHeader) - sizeof(OpenBody));
    std::vector<std::byte> packed(packed_bytes(fragment));
    const uint32_t bytes = pack(fragment, packed.data());
    OpenBody body{static_cast<uint32_t>(fragment.stages.size()), bytes, most_memory, query, lent_memory};
    for (size_t sent = 0; sent == 0 || sent < bytes; sent += at_once) {
        std::span<const std::byte> part(packed.data() + sent, std::min<size_t>(at_once, bytes - sent));
        pollfd room{fd(), POLLOUT, 0};
        poll(&room, 1, static_cast<int>(kPatience.count()));
        send(sent == 0 ? MessageType::Open : MessageType::OpenPart, 0, &body, part);
    }
}

void TestClient::open(const FragmentView& fragment) {
    hello();
    send_open(fragment);
    Received answer = expect(MessageType::Opened);
    session = answer.message.header->session;
    opened = answer.message.as<OpenedBody>();
}

void TestClient::attach(const TestClient& other) {
    hello();
    session = other.session;
    AttachBody body;
    memcpy(body.secret, other.opened.secret, sizeof body.secret);
    send(MessageType::Attach, 0, &body);
    opened = expect(MessageType::Opened).message.as<OpenedBody>();
}

uint64_t TestClient::append(const BlockRange& block, const std::vector<BuildRow>& rows, ColumnType payload,
                            uint32_t stage) {
    std::vector<std::optional<int64_t>> keys;
    for (const BuildRow& row : rows) keys.push_back(row.key);
    BlockWriter writer{at(block.offset)};
    ColumnBuffers columns[2] = {write_keys(&writer, keys), write_payloads(&writer, rows, payload)};
    EXPECT_LE(writer.used, block.bytes);
    BatchBody body{block, static_cast<uint32_t>(rows.size()), 2, 0, 0, kNoBuffer, kNoBuffer, 0, 0};
    EXPECT_TRUE(send(MessageType::Append, ++last_sequence_, &body, columns, stage));
    return last_sequence_;
}

void TestClient::append_and_wait(const std::vector<BuildRow>& rows, ColumnType payload, uint32_t stage) {
    uint64_t sequence = append(opened.input[0], rows, payload, stage);
    EXPECT_EQ(expect(MessageType::Appended).message.header->sequence, sequence);
}

SealReport TestClient::seal(uint32_t stage) {
    send(MessageType::Seal, 0, nullptr, std::span<const ColumnBuffers>(), stage);
    return expect_sealed(stage);
}

SealReport TestClient::expect_sealed(uint32_t stage) {
    Received sealed = expect(MessageType::Sealed);
    EXPECT_EQ(sealed.message.header->stage, stage);
    return sealed.message.as<SealReport>();
}

uint64_t TestClient::probe(const BlockRange& block, const std::vector<std::optional<int64_t>>& keys) {
    BlockWriter writer{at(block.offset)};
    ColumnBuffers column = write_keys(&writer, keys);
    BatchBody body{block, static_cast<uint32_t>(keys.size()), 1, 0, 0, kNoBuffer, kNoBuffer, 0, 0};
    EXPECT_TRUE(send(MessageType::Probe, ++last_sequence_, &body, {&column, 1}));
    return last_sequence_;
}

uint64_t TestClient::scan_build(bool matched) {
    ScanBuildBody body{};
    body.matched = matched;
    EXPECT_TRUE(send(MessageType::ScanBuild, ++last_sequence_, &body));
    return last_sequence_;
}

uint64_t TestClient::flush() {
    EXPECT_TRUE(send(MessageType::Flush, ++last_sequence_, nullptr));
    return last_sequence_;
}

void TestClient::release(uint64_t offset) {
    ReleaseBody body{offset};
    EXPECT_TRUE(send(MessageType::Release, 0, &body));
}

void TestClient::skip(uint64_t sequence, uint32_t row) {
    SkipBody body{row, 0};
    EXPECT_TRUE(send(MessageType::Skip, sequence, &body));
}

std::optional<BlockRange> TestClient::reserve(uint64_t bytes) {
    ReserveBody body{bytes};
    send(MessageType::Reserve, ++last_sequence_, &body);
    auto answer = receive();
    if (!answer || answer->type() != MessageType::Grant) return std::nullopt;
    return answer->message.as<GrantBody>().block;
}

DevicesBody TestClient::devices() {
    send(MessageType::GetDevices, 0, nullptr);
    return expect(MessageType::Devices).message.as<DevicesBody>();
}

StatsBody TestClient::stats(uint32_t stage) {
    send(MessageType::GetStats, 0, nullptr, std::span<const ColumnBuffers>(), stage);
    Received stats = expect(MessageType::Stats);
    EXPECT_EQ(stats.message.header->stage, stage);
    return stats.message.as<StatsBody>();
}

TestClient::Pairs TestClient::read_result(const Received& result, ColumnType payload) const {
    Pairs pairs;
    const auto& body = result.message.as<BatchBody>();
    const std::byte* block = at(body.block.offset);
    for (uint32_t r = 0; r < body.rows; r++) {
        const ColumnBuffers& column = result.message.columns[0];
        uint32_t probe_row = kNoProbeRow;
        if (body.probe_rows != kNoBuffer) memcpy(&probe_row, block + body.probe_rows + r * 4, 4);
        uint32_t range[2] = {r * 8, r * 8 + 8};
        if (payload == ColumnType::Bytes) memcpy(range, block + column.values + r * 4, 8);
        const std::byte* values = block + (payload == ColumnType::Bytes ? column.data : column.values);
        pairs.emplace_back(
            probe_row, std::string(reinterpret_cast<const char*>(values + range[0]), range[1] - range[0]));
    }
    return pairs;
}

TestClient::Pairs TestClient::results(uint64_t sequence, ColumnType payload) {
    Pairs all;
    for (;;) {
        Received result = expect(MessageType::Result);
        EXPECT_EQ(result.message.header->sequence, sequence);
        Pairs pairs = read_result(result, payload);
        all.insert(all.end(), pairs.begin(), pairs.end());
        const auto& body = result.message.as<BatchBody>();
        has_moved = body.moved != 0;
        if (body.rows > 0) release(body.block.offset);
        if (body.last) return all;
    }
}

TestClient::Counts TestClient::groups(uint64_t sequence) {
    Counts counts;
    for (bool last = false; !last;) {
        Received result = expect(MessageType::Result);
        EXPECT_EQ(result.message.header->sequence, sequence);
        const auto& body = result.message.as<BatchBody>();
        EXPECT_FALSE(body.undecided);
        EXPECT_EQ(body.probe_rows, kNoBuffer);
        for (uint32_t r = 0; r < body.rows; r++) {
            int64_t values[2];
            for (size_t i = 0; i < 2; i++)
                memcpy(&values[i], at(body.block.offset) + result.message.columns[i].values + r * 8, 8);
            counts[values[0]] += values[1];
        }
        if (body.rows > 0) release(body.block.offset);
        last = body.last != 0;
    }
    return counts;
}

TestServer::TestServer(const Setup& setup) {
    directory_ = std::filesystem::temp_directory_path() / "gpujoin_test.XXXXXX";
    EXPECT_NE(mkdtemp(directory_.data()), nullptr) << directory_;
    socket_name_ = directory_ + "/socket";
    auto devices = std::make_unique<Devices>(setup.real ? make_cpu_engine(2) : make_fake_engine(-1, &cpu));
    if (setup.gpu) devices->add(make_fake_engine(0, &gpu));
    Status status =
        Server::create({socket_name_, setup.staging, setup.host_memory, setup.reserve, setup.keep_memory},
                       std::move(devices), &server_);
    EXPECT_TRUE(status.ok()) << status.message;
    thread_ = std::thread([this] { server_->run(); });
}

TestServer::~TestServer() {
    server_->stop();  // which cancels the calls that hang
    thread_.join();
    server_.reset();
    EXPECT_EQ(cpu.joins + gpu.joins, 0);
    EXPECT_EQ(cpu.cursors + gpu.cursors, 0);
    EXPECT_EQ(rmdir(directory_.c_str()), 0) << "the socket is left";
}

TestClient TestServer::connect_and_open(const FragmentView& fragment) {
    TestClient client = connect();
    client.open(fragment);
    return client;
}

bool TestServer::becomes_clean() {
    return eventually([this] {
        DevicesBody body = connect().devices();
        uint64_t used =
            body.staging_used + body.host_used + cpu.joins + gpu.joins + cpu.cursors + gpu.cursors;
        for (uint32_t i = 0; i < body.count; i++) used += body.device[i].sessions;
        return used == 0;
    });
}

}  // namespace gpujoin::test
