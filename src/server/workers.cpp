// The worker threads and the event thread's mailbox.
#include "server/workers.h"

#include <sys/eventfd.h>

#include <cstdint>
#include <exception>
#include <utility>

#include "server/log.h"

namespace gpujoin {

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

WorkerThreads::WorkerThreads(size_t threads) {
    threads_.reserve(threads);
    try {
        while (threads_.size() < threads) threads_.emplace_back([this] { serve(); });
    } catch (const std::exception& error) {  // no thread or no memory
        if (threads_.empty()) throw;
        log_line(LogLevel::Warning, "there are %zu worker threads instead of %zu: %s", threads_.size(),
                 threads, error.what());
    }
}

WorkerThreads::~WorkerThreads() {
    {
        std::lock_guard lock(mutex_);
        closing_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void WorkerThreads::run(std::function<void()> work) {
    {
        std::lock_guard lock(mutex_);
        queue_.push_back(std::move(work));
    }
    wake_.notify_one();
}

void WorkerThreads::serve() {
    for (;;) {
        std::function<void()> work;
        {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [this] { return closing_ || !queue_.empty(); });
            if (queue_.empty()) return;
            work = std::move(queue_.front());
            queue_.pop_front();
        }
        try {
            work();
        } catch (const std::exception& exception) {
            log_line(LogLevel::Warning, "unexpected failure in a worker thread: %s", exception.what());
        }
    }
}

}  // namespace gpujoin
