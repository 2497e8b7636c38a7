// TestClient: speaks the protocol over a real socket, blocking, with receive timeouts so that a server that
// does not answer fails a test instead of hanging it. And TestServer: a server in a thread of this process.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/server.h"
#include "server/unique_fd.h"
#include "server_fake_engine.h"
#include "wire/message.h"
#include "wire/owned_fragment.h"

namespace gpujoin::test {

// For what must come: a server that is late, on a busy machine and under a sanitizer, has done nothing wrong.
inline constexpr std::chrono::milliseconds kPatience = std::chrono::minutes(3);

// A join of an int64 key with an int64 key, giving the build side's payload: an int64, or a string of bytes.
JoinSpec key_payload_spec(ColumnType payload = ColumnType::Fixed8);
OwnedFragment plain_fragment(const JoinSpec& spec);
// Such joins one after the other, each looking up the payload of the one before it; the sink takes the last
// one's payload, and where it has groups, counts how often each comes.
OwnedFragment chain_fragment(uint32_t stages, SinkKind sink);

struct BuildRow {
    std::optional<int64_t> key;
    std::string payload;  // 8 bytes for Fixed8
};
std::string int_payload(int64_t value);

// A message and the packet it lies in.
struct Received {
    std::vector<uint64_t> packet;
    Message message;
    MessageType type() const { return message.header->type; }
};

class TestClient {
  public:
    explicit TestClient(const std::string& socket_name);
    ~TestClient();
    TestClient(TestClient&& other) noexcept;
    TestClient& operator=(TestClient&&) = delete;

    // Raw packets. send_packet is false when the server has ended the connection or does not read.
    bool send_packet(const void* packet, size_t bytes);
    bool send(MessageType type, uint64_t sequence, const void* body, std::span<const std::byte> tail,
              uint32_t stage = 0);
    bool send(MessageType type, uint64_t sequence, const void* body,
              std::span<const ColumnBuffers> columns = {}, uint32_t stage = 0) {
        return send(type, sequence, body, std::as_bytes(columns), stage);
    }
    // The next message; nothing at the end of the connection or after the timeout.
    std::optional<Received> receive(std::chrono::milliseconds timeout = kPatience);
    // Fails the test, and throws, when the next message is of another type.
    Received expect(MessageType type);
    // Nothing arrives for a while.
    bool is_silent() { return !receive(std::chrono::milliseconds(50)); }
    // What comes next is the end of the connection.
    bool ends();
    // Sends that message again and again, without reading, until the server ends the connection; how often.
    int flood(MessageType type);

    // The steps of a conversation.
    void hello();
    // What does not fit the Open, or is beyond `at_once` bytes, follows in parts of as many at most.
    void send_open(const FragmentView& fragment, size_t at_once = kMaxMessageBytes);
    void send_open(const JoinSpec& spec) { send_open(plain_fragment(spec).view()); }
    void open(const FragmentView& fragment);
    void open(const JoinSpec& spec) { open(plain_fragment(spec).view()); }
    void attach(const TestClient& other);
    uint64_t append(const BlockRange& block, const std::vector<BuildRow>& rows, ColumnType payload,
                    uint32_t stage = 0);
    void append_and_wait(const std::vector<BuildRow>& rows, ColumnType payload = ColumnType::Fixed8,
                         uint32_t stage = 0);
    SealReport seal(uint32_t stage = 0);
    SealReport expect_sealed(uint32_t stage);
    uint64_t probe(const BlockRange& block, const std::vector<std::optional<int64_t>>& keys);
    uint64_t scan_build(bool matched);
    uint64_t flush();
    uint64_t next_sequence() { return ++last_sequence_; }
    void release(uint64_t offset);
    void skip(uint64_t sequence, uint32_t row);
    std::optional<BlockRange> reserve(uint64_t bytes);
    DevicesBody devices();
    StatsBody stats(uint32_t stage = 0);
    void close() { socket_.reset(); }

    // (probe row, payload) of every result until the last one, in order; of groups their keys. Releases the
    // blocks.
    using Pairs = std::vector<std::pair<uint32_t, std::string>>;
    Pairs results(uint64_t sequence, ColumnType payload = ColumnType::Fixed8);
    Pairs read_result(const Received& result, ColumnType payload = ColumnType::Fixed8) const;
    // What counts of groups add up to, by their keys.
    using Counts = std::map<int64_t, int64_t>;
    Counts groups(uint64_t sequence);

    std::byte* at(uint64_t offset) const { return memory_ + offset; }
    int fd() const { return socket_.get(); }

    uint64_t session = 0;
    OpenedBody opened{};
    WelcomeBody arena{};
    uint64_t most_memory = 0;  // that its sessions may take, as it says when they are opened
    uint64_t lent_memory = 0;  // and beyond that
    int64_t query = 0;         // that they are for, as it says then, too
    bool has_moved = false;    // as the last of results() says
    bool may_fail = false;     // what does not come as expected is an exception only

  private:
    UniqueFd socket_;
    std::byte* memory_ = nullptr;
    uint64_t last_sequence_ = 0;
};

class TestServer {
  public:
    struct Setup {
        uint64_t staging = 64u << 20;
        uint64_t host_memory = 64u << 20;
        uint64_t reserve = 0;
        uint64_t keep_memory = 0;
        bool gpu = false;
        bool real = false;  // the CPU engine in the place of the one that plays it
    };
    explicit TestServer(const Setup& setup);
    TestServer() : TestServer(Setup{}) {}
    ~TestServer();  // checks that the server can stop

    TestClient connect() { return TestClient(socket_name_); }
    TestClient connect_and_open(const FragmentView& fragment);
    TestClient connect_and_open(const JoinSpec& spec) {
        return connect_and_open(plain_fragment(spec).view());
    }
    // Waits until nothing is held: no session, block, ledger charge, join or cursor. False if something
    // stays.
    bool becomes_clean();

    FakeControls cpu;
    FakeControls gpu;
    const std::string& socket_name() const { return socket_name_; }

  private:
    std::string directory_;
    std::string socket_name_;
    std::unique_ptr<Server> server_;
    std::thread thread_;
};

// Waits until a condition holds; false if it never does.
template <typename Condition>
bool eventually(const Condition& condition) {
    const auto begin = std::chrono::steady_clock::now();
    while (!condition()) {
        if (std::chrono::steady_clock::now() - begin > kPatience) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

}  // namespace gpujoin::test
