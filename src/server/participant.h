// Participant: one connection, the blocks it holds, and the tasks it has queued. A block belongs to exactly
// one participant from grant to release, and at any time either to the client or to the server; that is what
// every range in a message is checked against.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "server/arena.h"
#include "server/connection.h"
#include "server/reserver.h"
#include "server/task.h"
#include "server/unfinished_open.h"

namespace gpujoin {

class Session;

class Participant {
  public:
    static constexpr size_t kMaxTasks = 256;
    static constexpr size_t kMaxInputBlocks = 64;
    static constexpr size_t kMinimumBlocks = 2;  // of each kind, held from the start

    Participant(UniqueFd socket, int epoll, uint64_t id, Arena* arena)
        : connection(std::move(socket), epoll, id), arena_(arena) {}
    ~Participant();

    // Takes the minimum of input and result blocks, or none. The reserve has memory for them where others
    // have used up the rest.
    Status hold_minimum();
    // Takes one more input block of at least `bytes` bytes; its offset.
    Status hold_input(uint64_t bytes, uint64_t* offset);
    // The input blocks of hold_minimum(), before the client has any other.
    void first_input(BlockRange (&input)[kMinimumBlocks]) const;
    const BlockRange& held(uint64_t offset) const { return held_.at(offset).range; }

    // Blocks that were taken are bare, and nobody's to touch, until pages were set aside for them. Each is to
    // be backed once.
    bool has_bare() const { return !bare_.empty(); }
    std::vector<Backing> take_bare() { return std::exchange(bare_, {}); }
    // What came of it. Those with too little are given back, which is a failure; others shrink to what they
    // have.
    Status settle(const std::vector<Backing>& backings);

    // The client hands over an input block with a message: it must be its to give.
    Status hand_over(const BlockRange& range);
    // The server has finished with an input block.
    void hand_back(const BlockRange& range);
    // The client gives back a result block or an input block.
    Status take_back(uint64_t offset);

    // Takes all result blocks that may be written now; none when the client has them all. For a row that is
    // larger than a block (bytes_needed > 0) a range of its own, unless the client already has two of those;
    // it comes bare, and is the next call's to take.
    Status take_result_blocks(uint64_t bytes_needed, std::vector<ResultBlock>* blocks);
    // The client has been sent this result block.
    void hand_out_result(const BlockRange& range);
    // All result blocks that were taken and not handed out are free again.
    void return_result_blocks();

    // Gives all blocks back to the arena. No task may be left.
    void drop_blocks();

    Connection connection;
    std::unique_ptr<UnfinishedOpen> unfinished_open;  // before it has a session
    Session* session = nullptr;
    std::deque<std::unique_ptr<Task>> tasks;  // the first may be under way
    bool greeted = false;                     // has said Hello
    bool welcome = false;                     // has been told its blocks
    bool running = false;                     // a worker has the first task
    std::atomic<bool> gone = false;           // the client has closed its end
    bool is_lent_memory = false;              // its blocks may be of the reserve
    int reserving = 0;                        // requests for pages that are under way

    bool holds_cursor() const { return !tasks.empty() && tasks.front()->holds_cursor(); }
    // The first task's rows have their numbers.
    bool is_appending() const { return !tasks.empty() && tasks.front()->has_numbered(); }

  private:
    enum class Use { ClientsInput, ServersInput, FreeResult, TakenResult, ClientsResult };
    struct Held {
        BlockRange range;
        Use use;
        bool large_result;  // for one row: released instead of reused
        bool bare;
    };

    Status hold(uint64_t bytes, Use use, bool is_sure, uint64_t* offset);
    Status hold_range(uint64_t bytes, Use use, Borrowing borrowing, uint64_t* offset);
    Status take_large_result_block(uint64_t bytes, std::vector<ResultBlock>* blocks);
    ResultBlock take(Held& held);
    void release(std::map<uint64_t, Held>::iterator held);

    Arena* const arena_;
    std::map<uint64_t, Held> held_;  // by offset
    std::vector<Backing> bare_;      // not asked for yet
};

}  // namespace gpujoin
