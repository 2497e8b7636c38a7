// Wall-clock time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

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
    ~AddTime() { *microseconds_ += static_cast<uint64_t>(timer_.milliseconds() * 1000); }
    AddTime(const AddTime&) = delete;
    AddTime& operator=(const AddTime&) = delete;

  private:
    std::atomic<uint64_t>* const microseconds_;
    const Timer timer_;
};

}  // namespace gpujoin
