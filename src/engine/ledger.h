// Ledger: counts bytes of one kind of memory against a limit. Ledgers nest: a charge to a join's ledger is
// also a charge to its parent (the server's). One may have an allowance: so many bytes are charged to a
// reserve where the parent refuses them, and given back there first. Thread-safe, lock-free; never blocks: a
// charge either fits or is refused.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace gpujoin {

class Ledger {
  public:
    explicit Ledger(uint64_t limit, Ledger* parent = nullptr) : limit_(limit), parent_(parent) {}
    Ledger(uint64_t limit, Ledger* parent, Ledger* reserve, uint64_t allowance)
        : limit_(limit), parent_(parent), reserve_(reserve), allowance_(allowance) {}
    // Gives back to parent and reserve what was still charged.
    ~Ledger() { give_back(used_.load()); }
    Ledger(const Ledger&) = delete;
    Ledger& operator=(const Ledger&) = delete;

    // Charges `bytes` here and to every parent, or nowhere: false when any of them would exceed its limit.
    bool charge(uint64_t bytes) {
        uint64_t used = used_.load(std::memory_order_relaxed);
        do {
            const uint64_t limit = limit_.load(std::memory_order_relaxed);
            if (bytes > limit || used > limit - bytes) return false;
        } while (!used_.compare_exchange_weak(used, used + bytes));
        if (parent_ && !parent_->charge(bytes) && !borrow(bytes)) {
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
        give_back(bytes);
    }

    uint64_t used() const { return used_.load(); }
    uint64_t peak() const { return peak_.load(); }
    uint64_t limit() const { return limit_.load(); }
    // From now on it may be charged so much more.
    void extend(uint64_t bytes) { limit_.fetch_add(bytes); }

  private:
    // Within the allowance. borrowed_ never says more than the reserve is charged with.
    bool borrow(uint64_t bytes) {
        if (!reserve_ || !reserve_->charge(bytes)) return false;
        uint64_t borrowed = borrowed_.load();
        do {
            if (bytes > allowance_ || borrowed > allowance_ - bytes) {
                reserve_->release(bytes);
                return false;
            }
        } while (!borrowed_.compare_exchange_weak(borrowed, borrowed + bytes));
        return true;
    }

    void give_back(uint64_t bytes) {
        uint64_t borrowed = borrowed_.load();
        while (!borrowed_.compare_exchange_weak(borrowed, borrowed - std::min(borrowed, bytes))) continue;
        const uint64_t returned = std::min(borrowed, bytes);
        if (returned > 0) reserve_->release(returned);
        if (parent_) parent_->release(bytes - returned);
    }

    std::atomic<uint64_t> limit_;
    Ledger* const parent_;
    Ledger* const reserve_ = nullptr;
    const uint64_t allowance_ = 0;
    std::atomic<uint64_t> borrowed_{0};
    std::atomic<uint64_t> used_{0};
    std::atomic<uint64_t> peak_{0};
};

}  // namespace gpujoin
