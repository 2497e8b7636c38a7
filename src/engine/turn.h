// Turn: how long engine calls share processors and devices among joins. Whoever runs engine calls may give
// each a turn, a slice of time, after which another call waits for its place. Engines ask wherever they poll
// the cancel flag: a cursor then returns with what it has; calls that cannot return in the middle pass the
// turn on and wait where they are until the next one comes. Without a turn a call runs on to its end.
//
// A turn belongs to the thread that makes the call, and to those that help it (TurnScope). While they give
// way they keep what they hold: locks, and slots of an arena that other calls may want.
#pragma once

#include <chrono>
#include <mutex>
#include <thread>

namespace gpujoin {

class Turn {
  public:
    virtual ~Turn() = default;
    // Whether another call should have its turn now. Cheap; any thread of the call.
    virtual bool is_over() const = 0;
    // Lets the others have theirs, if it is over. All threads of the call wait here that come meanwhile.
    virtual void pass() = 0;
    // Whether the call is of those that have taken little lately: devices may do its work before others'.
    // For the thread that makes the call.
    virtual bool is_quick() const = 0;

    static Turn* current() { return current_; }

  private:
    friend class TurnScope;
    static inline constinit thread_local Turn* current_ = nullptr;
};

// Makes a turn that of this thread, as long as the scope lasts.
class TurnScope {
  public:
    explicit TurnScope(Turn* turn) : outer_(Turn::current_) { Turn::current_ = turn; }
    ~TurnScope() { Turn::current_ = outer_; }
    TurnScope(const TurnScope&) = delete;
    TurnScope& operator=(const TurnScope&) = delete;

  private:
    Turn* const outer_;
};

// For calls that can return in the middle.
inline bool turn_is_over() {
    const Turn* turn = Turn::current();
    return turn && turn->is_over();
}

// The time that this thread has spent giving way so far, which is not that of its work.
inline std::chrono::steady_clock::duration& time_given_way() {
    static constinit thread_local std::chrono::steady_clock::duration time{0};
    return time;
}

// For those that cannot. Not with anything held that others wait for but by lock_in_turn().
inline void give_way() {
    Turn* turn = Turn::current();
    if (!turn || !turn->is_over()) return;
    auto began = std::chrono::steady_clock::now();
    turn->pass();
    time_given_way() += std::chrono::steady_clock::now() - began;
}

// A stopwatch of this thread's work, which stands still while it gives way.
class WorkTimer {
  public:
    std::chrono::steady_clock::duration elapsed() const { return now() - start_; }

  private:
    static std::chrono::steady_clock::time_point now() {
        return std::chrono::steady_clock::now() - time_given_way();
    }
    const std::chrono::steady_clock::time_point start_ = now();
};

// Locks a mutex whose holder may be giving way: it only gets on if those who wait for it give way too.
inline std::unique_lock<std::mutex> lock_in_turn(std::mutex& mutex) {
    std::unique_lock lock(mutex, std::defer_lock);
    while (!lock.try_lock()) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        give_way();
    }
    return lock;
}

}  // namespace gpujoin
