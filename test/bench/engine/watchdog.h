// Watchdog: sets a flag when it has lived too long, so that a run is cancelled that would never end.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace gpujoin::bench {

class Watchdog {
  public:
    Watchdog(std::atomic<bool>* flag, double seconds)
        : thread_([=, this](std::stop_token stop) {
              std::unique_lock lock(mutex_);
              auto is_stopped = [&] { return stop.stop_requested(); };
              wake_.wait_for(lock, stop, std::chrono::duration<double>(seconds), is_stopped);
              if (!is_stopped()) *flag = true;
          }) {}

  private:
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::jthread thread_;
};

}  // namespace gpujoin::bench
