// Wall-clock time.
#pragma once

#include <chrono>

namespace gpujoin::cuda {

class Timer {
  public:
    double milliseconds() const {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
    }

  private:
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace gpujoin::cuda
