// Turn: how long engine calls share processors and devices among joins. Whoever runs engine calls may give
// each a turn, a slice of time, after which another call waits for its place. Engines ask wherever they poll
// the cancel flag: a cursor then returns with what it has; calls that cannot return in the middle pass the
// turn on and wait where they are until the next one comes. Without a turn a call runs on to its end.
//
// A turn belongs to the thread that makes the call, and to those that help it (TurnScope). While they give
// way they keep what they hold: locks, and slots of an arena that other calls may want.
//
// Who runs a call has a *place*; a call that gives way has none.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

namespace gpujoin {

class Turn {
  public:
    using Duration = std::chrono::steady_clock::duration;

    virtual ~Turn() = default;
    // Whether another call should have its turn now. Cheap; any thread of the call.
    virtual bool is_over() const = 0;
    // Lets the others have theirs, if it is over. All threads of the call wait here that come meanwhile.
    virtual void pass() = 0;
    // Has no place while `wait`, which does not throw, waits for what another call holds. For the thread that
    // makes the call, while no other helps it.
    virtual void step_aside(const std::function<void()>& wait) = 0;
    // Whether the call is of those that have taken little lately: devices may do its work before others'.
    // For the thread that makes the call.
    virtual bool is_quick() const = 0;

    // How long the call has had no place since it began, which is not time of its work.
    Duration time_given_way() const { return given_way_.load(std::memory_order_relaxed); }

    static Turn* current() { return current_; }

  protected:
    // With whatever orders the changes of the call's places.
    void add_time_given_way(Duration time) {
        given_way_.store(time_given_way() + time, std::memory_order_relaxed);
    }

  private:
    friend class TurnScope;
    static inline constinit thread_local Turn* current_ = nullptr;
    std::atomic<Duration> given_way_{Duration{0}};
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

// For those that cannot. Not with anything held that others wait for but by lock_in_turn().
inline void give_way() {
    Turn* turn = Turn::current();
    if (turn && turn->is_over()) turn->pass();
}

// A stopwatch of a call's work, which stands still while the call gives way.
class WorkTimer {
  public:
    Turn::Duration elapsed() const { return now() - start_; }

  private:
    std::chrono::steady_clock::time_point now() const {
        auto now = std::chrono::steady_clock::now();
        return turn_ ? now - turn_->time_given_way() : now;
    }

    const Turn* const turn_ = Turn::current();
    const std::chrono::steady_clock::time_point start_ = now();
};

// Locks a mutex whose holder may be giving way, and needs a place to get on: who waits has none. Unlocked
// where the cancel flag, which may be null, is set first.
inline std::unique_lock<std::mutex> lock_in_turn(std::mutex& mutex, const std::atomic<bool>* cancel) {
    std::unique_lock lock(mutex, std::try_to_lock);
    if (lock.owns_lock()) return lock;
    auto wait = [&] {
        while (!(cancel && cancel->load(std::memory_order_relaxed)) && !lock.try_lock())
            std::this_thread::sleep_for(std::chrono::microseconds(100));
    };
    Turn* turn = Turn::current();
    turn ? turn->step_aside(wait) : wait();
    return lock;
}

}  // namespace gpujoin
