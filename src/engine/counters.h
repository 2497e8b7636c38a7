// JoinCounters: what a join counts of its work, from several threads at once, and gives as JoinStats.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "engine/turn.h"
#include "wire/batch.h"
#include "wire/join_spec.h"
#include "wire/stats.h"

namespace gpujoin {

struct JoinCounters {
    std::atomic<uint64_t> build_rows{0}, build_batches{0}, build_bytes{0};
    std::atomic<uint64_t> probe_rows{0}, probe_batches{0}, probe_bytes{0};
    std::atomic<uint64_t> append_ns{0}, seal_ns{0}, probe_ns{0};
    std::atomic<uint64_t> peak_seal_memory{0};
    std::atomic<Algorithm> algorithm{Algorithm::Auto};  // once sealed
    std::atomic<bool> is_fused{false};                  // probed in one pass with other stages

    void add_build(const JoinSpec& spec, const BatchView& batch) {
        build_rows += batch.rows;
        build_batches++;
        build_bytes += batch_bytes({spec.build, spec.build_columns}, batch);
    }
    void add_probe(const JoinSpec& spec, const BatchView& batch) {
        probe_rows += batch.rows;
        probe_batches++;
        probe_bytes += batch_bytes({spec.probe, spec.probe_columns}, batch);
    }

    // All but the memory that is used and the device.
    JoinStats stats() const {
        auto milliseconds = [](uint64_t ns) { return static_cast<double>(ns) / 1e6; };
        JoinStats stats{};
        stats.build_rows = build_rows;
        stats.build_batches = build_batches;
        stats.build_bytes = build_bytes;
        stats.probe_rows = probe_rows;
        stats.probe_batches = probe_batches;
        stats.probe_bytes = probe_bytes;
        stats.append_ms = milliseconds(append_ns);
        stats.seal_ms = milliseconds(seal_ns);
        stats.probe_ms = milliseconds(probe_ns);
        stats.peak_seal_memory = peak_seal_memory;
        stats.algorithm = algorithm;
        stats.fused = is_fused;
        return stats;
    }
};

// Adds the work of its scope to a counter of nanoseconds.
class AddTime {
  public:
    explicit AddTime(std::atomic<uint64_t>* ns) : ns_(ns) {}
    ~AddTime() {
        auto spent = std::chrono::duration_cast<std::chrono::nanoseconds>(timer_.elapsed());
        *ns_ += static_cast<uint64_t>(spent.count());
    }
    AddTime(const AddTime&) = delete;
    AddTime& operator=(const AddTime&) = delete;

  private:
    std::atomic<uint64_t>* const ns_;
    const WorkTimer timer_;
};

}  // namespace gpujoin
