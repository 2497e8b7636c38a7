// The loops of every run: over the batches of an input, by several threads, and over the results of a batch.
#pragma once

#include <atomic>
#include <functional>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/engine.h"

namespace gpujoin::bench {

// Calls task(thread, batch number) for every batch from `threads` threads; stops at the first failure. With
// `begin`, calls that when the threads are there, and they wait for it; without, each begins as it starts.
template <typename Task>
Status for_batches(uint32_t threads, uint64_t batches, const Task& task,
                   const std::function<void()>& begin = nullptr) {
    if (threads == 1) {
        if (begin) begin();
        for (uint64_t batch = 0; batch < batches; batch++) GPUJOIN_RETURN_IF_FAILED(task(0, batch));
        return {};
    }
    std::atomic<uint64_t> next{0};
    std::mutex mutex;
    Status first_failure;
    std::latch has_begun{1};
    auto work = [&](uint32_t thread) {
        if (begin) has_begun.wait();
        for (uint64_t batch; (batch = next.fetch_add(1)) < batches;) {
            Status status = task(thread, batch);
            if (status.ok()) continue;
            std::lock_guard lock(mutex);
            first_failure = status;
            next = batches;
        }
    };
    std::vector<std::thread> workers;
    for (uint32_t thread = 0; thread < threads; thread++) workers.emplace_back(work, thread);
    if (begin) begin();
    has_begun.count_down();
    for (std::thread& worker : workers) worker.join();
    return first_failure;
}

// Calls take(result) for every result of a cursor, which it finds in the sink.
template <typename Take>
Status for_results(Cursor& cursor, const Sink& sink, const Take& take) {
    for (ResultBatch result; !result.done;) {
        result = {};
        GPUJOIN_RETURN_IF_FAILED(cursor.next(sink, &result));
        if (result.bytes_needed > sink.bytes)
            return failure(Fault::Error, "XX000", "a sink of %llu bytes is too small",
                           static_cast<unsigned long long>(sink.bytes));
        GPUJOIN_RETURN_IF_FAILED(take(result));
    }
    return {};
}

}  // namespace gpujoin::bench
