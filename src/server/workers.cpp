// The worker threads and the event thread's mailbox.
#include "server/workers.h"

#include <sys/eventfd.h>

#include <cstdint>
#include <exception>
#include <new>
#include <utility>

#include "engine/turn.h"
#include "server/log.h"

namespace gpujoin {

using std::chrono::steady_clock;

Mailbox::Mailbox() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Mailbox::post(Letters letters) noexcept {
    std::lock_guard lock(mutex_);
    if (letters_.empty()) eventfd_write(event_.get(), 1);
    letters_.splice(letters_.end(), letters);
}

void Mailbox::post(std::function<void()> letter) {
    Letters letters;
    letters.push_back(std::move(letter));
    post(std::move(letters));
}

void Mailbox::deliver() {
    eventfd_t ignored;
    eventfd_read(event_.get(), &ignored);
    Letters letters;
    {
        std::lock_guard lock(mutex_);
        letters.swap(letters_);
    }
    while (!letters.empty()) {
        Letters letter;
        letter.splice(letter.end(), letters, letters.begin());
        try {
            letter.front()();
        } catch (...) {
            put_back(std::move(letters));
            throw;
        }
    }
}

void Mailbox::put_back(Letters letters) noexcept {
    std::lock_guard lock(mutex_);
    letters_.splice(letters_.begin(), letters);
    eventfd_write(event_.get(), 1);
}

// A call and its turn.
class WorkerThreads::Call final : public Turn, public Schedule::Call {
  public:
    Call(WorkerThreads* owner, const Share& of, bool is_opening, std::function<void()> work)
        : Schedule::Call{of, is_opening}, owner_(owner), work_(std::move(work)) {}

    bool is_over() const override {
        return owner_->others_wait() && steady_clock::now().time_since_epoch() - since_.load() >= kTurn;
    }

    void pass() override {
        std::unique_lock lock(owner_->mutex_);
        if (suspended_) return await_place(&lock);  // another thread of this call has passed it on
        if (!is_over()) return;
        suspend();
        enter();
        await_place(&lock);
        begin_turn();
    }

    void step_aside(const std::function<void()>& wait) override {
        std::unique_lock lock(owner_->mutex_);
        suspend();
        owner_->dispatch();
        lock.unlock();
        wait();
        lock.lock();
        enter();
        await_place(&lock);
        begin_turn();
    }

    bool is_quick() const override { return was_quick; }

    // It has a place. False: it is new, and wants a thread too.
    bool resume() {
        if (!suspended_) return false;
        add_time_given_way(steady_clock::now() - suspended_since_);
        begin_turn();
        suspended_ = false;
        has_place_.notify_all();
        return true;
    }

    void execute() {
        TurnScope turn(this);
        begin_turn();
        try {
            work_();
        } catch (const std::exception& exception) {
            log_line(LogLevel::Warning, "unexpected failure in a worker thread: %s", exception.what());
        }
        work_ = nullptr;
    }

  private:
    // When it has a place and its thread runs, which may come later.
    void begin_turn() { since_ = steady_clock::now().time_since_epoch(); }

    // With the owner's lock:
    void suspend() {
        suspended_ = true;
        suspended_since_ = steady_clock::now();
        owner_->schedule_.leave(this, suspended_since_);
    }
    void enter() {
        owner_->schedule_.enter(this, steady_clock::now());
        owner_->dispatch();
    }
    void await_place(std::unique_lock<std::mutex>* lock) {
        has_place_.wait(*lock, [this] { return !suspended_; });
    }

    WorkerThreads* const owner_;
    std::function<void()> work_;
    std::atomic<steady_clock::duration> since_{};
    bool suspended_ = false;
    steady_clock::time_point suspended_since_{};
    std::condition_variable has_place_;
};

WorkerThreads::WorkerThreads(size_t places, size_t most_threads)
    : places_(places), most_threads_(most_threads), schedule_(places) {
    std::lock_guard lock(mutex_);
    if (!add_thread()) throw std::bad_alloc();
}

WorkerThreads::~WorkerThreads() {
    {
        std::lock_guard lock(mutex_);
        closing_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void WorkerThreads::start(const Share& share, bool opens, std::function<void()> work) {
    auto call = std::make_unique<Call>(this, share, opens, std::move(work));
    std::lock_guard lock(mutex_);
    schedule_.enter(call.get(), steady_clock::now());
    static_cast<void>(call.release());  // serve() has it
    dispatch();
}

// Has calls run that can have a place. With the lock.
void WorkerThreads::dispatch() noexcept {
    auto has_thread = [this] { return has_thread_for_another(); };
    while (Schedule::Call* call = schedule_.next(steady_clock::now(), has_thread)) {
        if (static_cast<Call*>(call)->resume()) continue;
        granted_.splice(granted_.end(), call->entry);
        wake_.notify_one();
    }
    waiting_ = schedule_.waiting();
}

// One that is idle, or is started.
bool WorkerThreads::has_thread_for_another() {
    return idle_threads_ > granted_.size() || add_thread();
}

// False: no more are to be had.
bool WorkerThreads::add_thread() {
    if (threads_.size() >= most_threads_) return false;
    try {
        threads_.emplace_back([this] { serve(); });
        idle_threads_++;
        is_short_of_threads_ = false;
        return true;
    } catch (const std::exception& exception) {
        if (!is_short_of_threads_)
            log_line(LogLevel::Warning, "could not start more than %zu worker threads: %s", threads_.size(),
                     exception.what());
        is_short_of_threads_ = true;
        return false;
    }
}

void WorkerThreads::serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
        wake_.wait(lock, [this] { return closing_ || !granted_.empty(); });
        if (granted_.empty()) return;
        std::unique_ptr<Call> call(static_cast<Call*>(granted_.front()));
        call->entry.splice(call->entry.end(), granted_, granted_.begin());
        idle_threads_--;
        lock.unlock();
        call->execute();
        lock.lock();
        idle_threads_++;
        schedule_.leave(call.get(), steady_clock::now());
        dispatch();
    }
}

}  // namespace gpujoin
