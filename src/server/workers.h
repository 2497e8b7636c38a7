// WorkerThreads and Mailbox: how work leaves the server's one event thread and how its outcome comes back.
// WorkerThreads run engine calls; what they have to say to the event thread they post into its mailbox. Only
// the event thread touches sessions, participants and the arena's books.
//
// A schedule (schedule.h) says which call is next, and each has a turn (engine/turn.h): after 10 ms it is
// over as soon as another call waits. A call that passes its turn on stays on its thread, suspended, and
// another thread takes its place. Threads are started when calls want them, and stay; where no more are to be
// had, new calls wait until one is idle, and those that have begun take turns.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "server/schedule.h"
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
    using Share = std::shared_ptr<Schedule::Share>;
    static constexpr Schedule::Duration kTurn = std::chrono::milliseconds(10);

    // places: of the schedule, calls that long ones and quick ones may run at once. most_threads: no more are
    // started. Throws std::bad_alloc where there is not even one thread to be had.
    explicit WorkerThreads(size_t places, size_t most_threads = SIZE_MAX);
    ~WorkerThreads();  // after all work is done
    WorkerThreads(const WorkerThreads&) = delete;
    WorkerThreads& operator=(const WorkerThreads&) = delete;

    // How many calls of a session may run at once, as long as no others wait.
    size_t places() const { return places_; }

    static Share make_share() { return std::make_shared<Schedule::Share>(); }
    void run(const Share& share, std::function<void()> work) { start(share, false, std::move(work)); }
    // For what is short and shall wait for nobody's work: the opening of a session.
    void run_opening(const Share& share, std::function<void()> work) { start(share, true, std::move(work)); }

  private:
    class Call;
    void start(const Share& share, bool opens, std::function<void()> work);
    bool has_thread_for_another();
    bool add_thread();
    void serve();
    void dispatch() noexcept;
    bool others_wait() const { return waiting_.load(std::memory_order_relaxed) > 0; }

    const size_t places_;
    const size_t most_threads_;
    std::mutex mutex_;
    std::condition_variable wake_;
    Schedule schedule_;
    std::atomic<size_t> waiting_{0};          // as the schedule says
    Schedule::Line<Schedule::Call> granted_;  // new calls that have a place, for a thread to take
    bool closing_ = false;
    bool is_short_of_threads_ = false;
    size_t idle_threads_ = 0;  // those without a call; some may have been granted one
    std::vector<std::thread> threads_;
};

}  // namespace gpujoin
