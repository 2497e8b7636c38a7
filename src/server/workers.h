// WorkerThreads and Mailbox: how work leaves the server's one event thread and how its outcome comes back.
// WorkerThreads run engine calls; what they have to say to the event thread they post into its mailbox. Only
// the event thread touches sessions, participants and the arena's books.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "server/unique_fd.h"

namespace gpujoin {

// Messages to the event thread: closures that it runs, in the order they were posted.
class Mailbox {
  public:
    // Letters that are written before there is anything to report take no memory when they are posted.
    using Letters = std::list<std::function<void()>>;

    Mailbox();
    // Readable while there is mail.
    int fd() const { return event_.get(); }
    void post(Letters letters) noexcept;      // any thread
    void post(std::function<void()> letter);  // any thread
    // The event thread. What a letter throws comes out; those behind it stay.
    void deliver();

  private:
    void put_back(Letters letters) noexcept;

    UniqueFd event_;
    std::mutex mutex_;
    Letters letters_;
};

class WorkerThreads {
  public:
    explicit WorkerThreads(size_t threads);
    ~WorkerThreads();  // after all work is done
    WorkerThreads(const WorkerThreads&) = delete;
    WorkerThreads& operator=(const WorkerThreads&) = delete;

    void run(std::function<void()> work);

  private:
    void serve();

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<std::function<void()>> queue_;
    bool closing_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace gpujoin
