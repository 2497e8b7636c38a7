// The worker threads and the event thread's mailbox.
#include "server/workers.h"

#include <sys/eventfd.h>

#include <cstdint>
#include <utility>

namespace gpujoin {

Mailbox::Mailbox() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Mailbox::post(std::function<void()> letter) {
    std::lock_guard lock(mutex_);
    letters_.push_back(std::move(letter));
    if (letters_.size() == 1) eventfd_write(event_.get(), 1);
}

void Mailbox::deliver() {
    eventfd_t ignored;
    eventfd_read(event_.get(), &ignored);
    std::deque<std::function<void()>> letters;
    {
        std::lock_guard lock(mutex_);
        letters.swap(letters_);
    }
    for (auto& letter : letters) letter();
}

WorkerThreads::WorkerThreads(size_t threads) {
    for (size_t i = 0; i < threads; i++) threads_.emplace_back([this] { serve(); });
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
        work();
    }
}

}  // namespace gpujoin
