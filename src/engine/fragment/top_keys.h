// TopKeys: which rows can be among the first ones, if all are sorted by a key. Each key has a word that is no
// less than those of the keys before it, but may be the same for different ones. Once there are as many rows
// as are wanted whose words are no greater than a bound, those with greater ones are not wanted. So each
// batch that runs remembers the least words of its own rows, and all of a fragment have the least of their
// bounds together.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/compare.h"

namespace gpujoin {

struct TopOrder {
    ColumnSpec column;  // the key
    bool is_descending;
    bool nulls_first;

    GPUJOIN_HD uint64_t word_of_null() const { return nulls_first ? 0 : ~uint64_t{0}; }
    GPUJOIN_HD uint64_t word(ValueRef value) const {
        const bool is_sum = column.type == ColumnType::Fixed16 && column.order == ValueOrder::Signed;
        const uint64_t key = is_sum ? word_of_sum(value) : order_key(column, value);
        return is_descending ? ~key : key;
    }

  private:
    // Sums have twice the bits of numbers, but few are so large: those are all the same.
    GPUJOIN_HD static uint64_t word_of_sum(ValueRef value) {
        const uint64_t low = load_unsigned(value.data, 8), high = load_unsigned(value.data + 8, 8);
        constexpr uint64_t kSign = uint64_t{1} << 63;
        const bool is_negative = high & kSign;
        const bool fits = high == (is_negative ? ~uint64_t{0} : 0) && is_negative == ((low & kSign) != 0);
        if (!fits) return is_negative ? 0 : ~uint64_t{0};
        return low ^ kSign;
    }
};

// Any thread, at any time.
class TopBound {
  public:
    uint64_t word() const { return word_.load(std::memory_order_relaxed); }
    void lower(uint64_t word) {
        uint64_t known = this->word();
        while (word < known && !word_.compare_exchange_weak(known, word, std::memory_order_relaxed)) continue;
    }
    // Other rows come. While no batch runs.
    void reset() {
        word_ = ~uint64_t{0};
        resets_++;
    }
    uint64_t resets() const { return resets_; }

  private:
    std::atomic<uint64_t> word_{~uint64_t{0}};
    std::atomic<uint64_t> resets_{0};
};

// Of one batch after the other.
class TopKeys {
  public:
    // count: rows that are wanted. The bound outlives it.
    TopKeys(uint32_t count, TopBound* bound) : count_(count), bound_(*bound) {}

    void begin() {
        if (resets_ != bound_.resets()) least_.clear();
        resets_ = bound_.resets();
    }
    // The rows of the current batch may come again.
    void give_up() { least_.clear(); }

    uint32_t count() const { return count_; }
    uint64_t bound() const { return bound_.word(); }

    // Of a row that goes on. The bound is not as low as it can be before settle().
    void add(uint64_t word) {
        least_.push_back(word);
        if (least_.size() >= 2 * size_t{count_}) settle();
    }
    void settle() {
        if (least_.size() < count_) return;
        std::ranges::nth_element(least_, least_.begin() + (count_ - 1));
        least_.resize(count_);
        bound_.lower(least_.back());
    }

  private:
    const uint32_t count_;
    TopBound& bound_;
    uint64_t resets_ = 0;
    std::vector<uint64_t> least_;  // the least of those that were added, and some more
};

}  // namespace gpujoin
