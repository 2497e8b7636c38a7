// Workers: the threads of a join, and how code runs on them: in blocks, with the cancel flag polled before
// each. oneTBB's threads are shared out evenly among joins, since each has an arena of its own, in which one
// call is at a time.
#pragma once

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "engine/cpu/work/handed_over.h"
#include "engine/guard.h"
#include "engine/turn.h"
#include "wire/status.h"

namespace gpujoin::cpu {

// The fewest rows that are worth handing to another thread.
inline constexpr uint64_t kParallelRows = 32u << 10;

inline bool is_set(const std::atomic<bool>* cancel) {
    return cancel && cancel->load(std::memory_order_relaxed);
}

// Polled by everything that takes long and cannot return in the middle: gives way where the turn is over, and
// says whether to go on.
inline bool should_stop(const std::atomic<bool>* cancel) {
    give_way();
    return is_set(cancel);
}

class Workers {
  public:
    explicit Workers(uint32_t threads) : threads_(threads), arena_(static_cast<int>(threads)) {}

    uint32_t threads() const { return threads_; }

    // Calls body(i) for each task in [0, tasks), on several threads; on this one alone while another call of
    // the join has the arena, which cannot be waited for: those in it keep their slots while they give way.
    // Tasks that have not begun when the flag is set are left out, and the result is Fault::Cancelled. A body
    // reports nothing and does not throw.
    template <typename Body>
    Status run(const std::atomic<bool>* cancel, uint32_t tasks, const Body& body) {
        Turn* const turn = Turn::current();
        auto task = [&](uint32_t i) {
            TurnScope scope(turn);
            if (!should_stop(cancel)) body(i);
        };
        if (tasks == 1) {
            task(0);
        } else if (const Entry entry(&is_taken_); !entry.is_granted()) {
            for (uint32_t i = 0; i < tasks; i++) task(i);
        } else {
            HandedOver each(task);
            // Isolated: while it waits for the last tasks, a thread takes up none of another call, whose turn
            // it would have to wait for.
            auto all = [&] {
                tbb::this_task_arena::isolate([&] { tbb::parallel_for(uint32_t{0}, tasks, each); });
            };
            arena_.execute(HandedOver(all));
        }
        return is_set(cancel) ? cancelled_status() : Status{};
    }

  private:
    // Whoever takes it first has it while the scope lasts.
    class Entry {
      public:
        explicit Entry(std::atomic<bool>* is_taken)
            : is_taken_(is_taken->exchange(true, std::memory_order_acquire) ? nullptr : is_taken) {}
        ~Entry() {
            if (is_taken_) is_taken_->store(false, std::memory_order_release);
        }
        Entry(const Entry&) = delete;
        Entry& operator=(const Entry&) = delete;
        bool is_granted() const { return is_taken_; }

      private:
        std::atomic<bool>* const is_taken_;
    };

    const uint32_t threads_;
    std::atomic<bool> is_taken_{false};
    tbb::task_arena arena_;
};

}  // namespace gpujoin::cpu
