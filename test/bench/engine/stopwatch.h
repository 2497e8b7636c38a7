// Stopwatch: wall-clock time since it was made.
#pragma once

#include <chrono>

namespace gpujoin::bench {

class Stopwatch {
  public:
    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace gpujoin::bench
