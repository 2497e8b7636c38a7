// What the sources that test candidates have in common: candidates are tested a window at a time, each as
// large as a few milliseconds allow, and the slots of one window are handed out before the next is tested.
// Nothing is written for a candidate that does not match.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "cuda/results/pair_source.h"
#include "cuda/results/slots.h"

namespace gpujoin::cuda {

class WindowSource : public PairSource {
  public:
    Status fill(const WorkContext& context, uint64_t want, PairBuffer* pairs, bool* done) final;
    bool undecided() const final { return undecided_ != 0; }

  protected:
    explicit WindowSource(ProbeWork work) : work_(std::move(work)) {}

    // Called first by fill() and skip_through(); may wait for what was queued.
    virtual Status begin(const WorkContext& context) = 0;
    virtual bool windows_left() const = 0;
    // Tests the next window: notes in found_ which rows have matches, marks build rows where that is wanted,
    // and if with_slots has the window's slots in slots_.
    virtual Status test_window(const WorkContext& context, bool with_slots) = 0;
    // Writes the slots [first, first + count) of the window.
    virtual Status expand(const WorkContext& context, uint64_t first, uint64_t count, uint32_t* probe,
                          uint32_t* build) = 0;

    // Makes found_ and the flag of undecided pairs, empty.
    Status make_flags(const WorkContext& context);
    // After a window was tested: whether it has left a pair undecided.
    Status note_undecided(const WorkContext& context);

    ProbeWork work_;
    DeviceArray<uint8_t> found_;  // by probe row: has a match
    SlotRun slots_;               // of the window

  private:
    Status fill_from_flags(const WorkContext& context, uint64_t want, PairBuffer* pairs, bool* done);

    std::unique_ptr<PairSource> flags_;
    DeviceArray<uint32_t> undecided_flag_;  // where there is a filter program
    uint32_t undecided_ = 0;
};

// The size of windows, adapted to how long they take.
class WindowSize {
  public:
    WindowSize(uint64_t first, uint64_t least, uint64_t most, double milliseconds)
        : size_(first), least_(least), most_(most), milliseconds_(milliseconds) {}
    uint64_t next() const { return size_; }
    void took(double milliseconds) {
        if (milliseconds < milliseconds_ / 2) size_ = std::min(2 * size_, most_);
        if (milliseconds > milliseconds_) size_ = std::max(size_ / 2, least_);
    }

  private:
    uint64_t size_;
    uint64_t least_;
    uint64_t most_;
    double milliseconds_;
};

}  // namespace gpujoin::cuda
