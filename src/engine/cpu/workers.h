// Workers: the engine's threads, and how code runs on them: in blocks, with the cancel flag polled before
// each. Nothing thrown inside leaves a function of the engine: guarded() turns exceptions into a Status.
#pragma once

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <new>
#include <utility>

#include "engine/cpu/handed_over.h"
#include "wire/status.h"

namespace gpujoin::cpu {

// The fewest rows that are worth handing to another thread.
inline constexpr uint64_t kParallelRows = 32u << 10;

inline Status cancelled_status() {
    return failure(Fault::Cancelled, "57014", "join cancelled");
}

class Workers {
  public:
    explicit Workers(uint32_t threads)
        : arena_(threads ? static_cast<int>(threads) : tbb::task_arena::automatic) {}

    uint32_t threads() { return static_cast<uint32_t>(arena_.max_concurrency()); }

    // Calls body(i) for each task in [0, tasks), on several threads. Tasks that have not begun when the flag
    // is set are left out, and the result is Fault::Cancelled. A body reports nothing and does not throw.
    template <typename Body>
    Status run(const std::atomic<bool>* cancel, uint32_t tasks, const Body& body) {
        auto task = [&](uint32_t i) {
            if (!is_set(cancel)) body(i);
        };
        if (tasks == 1) {
            task(0);
        } else {
            HandedOver each(task);
            auto all = [&] { tbb::parallel_for(uint32_t{0}, tasks, each); };
            arena_.execute(HandedOver(all));
        }
        return is_set(cancel) ? cancelled_status() : Status{};
    }

    static bool is_set(const std::atomic<bool>* cancel) {
        return cancel && cancel->load(std::memory_order_relaxed);
    }

  private:
    tbb::task_arena arena_;
};

// Runs a function that returns a Status and may throw.
template <typename Function>
Status guarded(Function&& function) noexcept {
    try {
        return std::forward<Function>(function)();
    } catch (const std::bad_alloc&) {
        return failure(Fault::HostMemory, "53200", "out of memory");
    } catch (const std::exception& error) {
        return failure(Fault::Error, "XX000", "unexpected failure in the CPU join engine")
            .with_detail("The exception was: %s.", error.what());
    }
}

}  // namespace gpujoin::cpu
