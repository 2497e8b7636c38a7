// Wall-clock time, and that of a thread's work.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "engine/turn.h"

namespace gpujoin {

class Timer {
  public:
    double milliseconds() const {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
    }

  private:
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Adds the microseconds of its scope to a counter.
class AddTime {
  public:
    explicit AddTime(std::atomic<uint64_t>* microseconds) : microseconds_(microseconds) {}
    ~AddTime() {
        auto spent = std::chrono::duration_cast<std::chrono::microseconds>(timer_.elapsed());
        *microseconds_ += static_cast<uint64_t>(spent.count());
    }
    AddTime(const AddTime&) = delete;
    AddTime& operator=(const AddTime&) = delete;

  private:
    std::atomic<uint64_t>* const microseconds_;
    const WorkTimer timer_;
};

}  // namespace gpujoin
