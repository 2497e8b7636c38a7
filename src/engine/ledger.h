// Ledger: counts bytes of one kind of memory against a limit. Ledgers nest: a charge to a join's ledger is
// also a charge to its parent (the server's). Thread-safe, lock-free; never blocks: a charge either fits or
// is refused.
#pragma once

#include <atomic>
#include <cstdint>

namespace gpujoin {

class Ledger {
  public:
    explicit Ledger(uint64_t limit, Ledger* parent = nullptr) : limit_(limit), parent_(parent) {}
    // Gives back to the parent what was still charged.
    ~Ledger() {
        if (parent_) parent_->release(used_.load());
    }
    Ledger(const Ledger&) = delete;
    Ledger& operator=(const Ledger&) = delete;

    // Charges `bytes` here and to every parent, or nowhere: false when any of them would exceed its limit.
    bool charge(uint64_t bytes) {
        uint64_t used = used_.load(std::memory_order_relaxed);
        do {
            if (bytes > limit_ || used > limit_ - bytes) return false;
        } while (!used_.compare_exchange_weak(used, used + bytes));
        if (parent_ && !parent_->charge(bytes)) {
            used_.fetch_sub(bytes);
            return false;
        }
        for (uint64_t peak = peak_.load();
             peak < used + bytes && !peak_.compare_exchange_weak(peak, used + bytes);) {
        }
        return true;
    }

    void release(uint64_t bytes) {
        used_.fetch_sub(bytes);
        if (parent_) parent_->release(bytes);
    }

    uint64_t used() const { return used_.load(); }
    uint64_t peak() const { return peak_.load(); }
    uint64_t limit() const { return limit_; }

  private:
    const uint64_t limit_;
    Ledger* const parent_;
    std::atomic<uint64_t> used_{0};
    std::atomic<uint64_t> peak_{0};
};

}  // namespace gpujoin
