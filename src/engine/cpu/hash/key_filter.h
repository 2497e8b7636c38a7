// KeyFilter: a Bloom filter before a hash table, in words of 64 bits. To find out that a key is not in a
// table costs a cache miss at least; the filter, an eighth of the table's size or less, tells it of most such
// keys. It is asked while few keys are found; otherwise it would only come on top.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/cpu/memory/host_array.h"
#include "engine/cpu/columns/key_reader.h"

namespace gpujoin::cpu {

class KeyFilter {
  public:
    Status allocate(Ledger* ledger, uint64_t words) {
        return words_.allocate(ledger, words * sizeof(uint64_t));
    }

    // A word is added to by one thread.
    void add(uint64_t word, uint64_t hash) { words_.as<uint64_t>()[word] |= bits(hash); }

    // Whether less than so many percent of the keys were found.
    bool is_worth_asking(uint64_t percent) const {
        return found_.load(std::memory_order_relaxed) * 100 <
               asked_.load(std::memory_order_relaxed) * percent;
    }
    void note(uint64_t asked, uint64_t found) const {
        asked_.fetch_add(asked, std::memory_order_relaxed);
        found_.fetch_add(found, std::memory_order_relaxed);
    }

    // Lists the keys that may be in the table; returns how many. word_of(hash): a key's word.
    template <typename Key, typename WordOf>
    uint32_t list_keys(const Key* keys, uint32_t rows, const WordOf& word_of, uint32_t* list) const {
        uint64_t word[kBlockRows], wanted[kBlockRows];
        for (uint32_t i = 0; i < rows; i++) {
            const uint64_t hash = hash_key(keys[i]);
            word[i] = word_of(hash);
            wanted[i] = bits(hash);
        }
        const uint64_t* words = words_.as<uint64_t>();
        uint32_t listed = 0;
        for (uint32_t i = 0; i < rows; i++) {
            list[listed] = i;
            listed += (words[word[i]] & wanted[i]) == wanted[i];
        }
        return listed;
    }

  private:
    static uint64_t bits(uint64_t hash) {
        auto bit = [hash](uint32_t shift) { return uint64_t{1} << (hash >> shift & 63); };
        return bit(0) | bit(6) | bit(12);
    }

    HostArray words_;
    mutable std::atomic<uint64_t> asked_{0}, found_{0};  // keys, of all probes so far
};

}  // namespace gpujoin::cpu
