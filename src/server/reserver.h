// Reserver: a thread that has the kernel set pages aside for ranges of the arena before anybody touches them.
// The first touch of a page that the machine has no memory left for, as with vm.overcommit_memory = 2, ends
// whoever touches it with SIGBUS; here it is a refusal. It takes about a third of a millisecond a megabyte,
// which the event thread shall not wait for. Requests are served in turn, a piece of each.
#pragma once

#include <atomic>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "server/arena.h"
#include "server/workers.h"

namespace gpujoin {

// A granted range, and how much of it, from its start, has pages behind it.
struct Backing {
    BlockRange range;
    uint64_t least;  // bytes that are of use
    uint64_t bytes;
};

class Reserver {
  public:
    Reserver(Arena* arena, Mailbox* mailbox);
    ~Reserver();  // when nothing is asked for any more
    Reserver(const Reserver&) = delete;
    Reserver& operator=(const Reserver&) = delete;

    // Backs the ranges as far as the machine will, which shows in their `bytes`, and then posts the letter:
    // at once when nobody wants them any more, as *is_unwanted says, which lives until then.
    void reserve(std::shared_ptr<std::vector<Backing>> backings, const std::atomic<bool>* is_unwanted,
                 Mailbox::Letters letter);

  private:
    struct Request {
        std::shared_ptr<std::vector<Backing>> backings;
        const std::atomic<bool>* is_unwanted;
        Mailbox::Letters letter;
        bool is_refused;
    };

    void serve();
    bool reserve_piece(Request& request);

    Arena* const arena_;
    Mailbox* const mailbox_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::list<Request> requests_;
    bool closing_ = false;
    std::thread thread_;
};

}  // namespace gpujoin
