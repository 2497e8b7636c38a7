// Stable parallel partitioning: tuples go into buckets, those of one bucket stay in input order. A histogram
// for each chunk of the input, prefix sums bucket by bucket, then every chunk writes to places of its own.
// One pass of a radix sort, and the first step of building a table without locks.
//
// Large outputs with many buckets are written a cache line at a time, past the caches: each bucket's tuples
// are collected in a line of a small buffer first, as otherwise every write would fetch a line of memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "engine/cpu/columns/key_reader.h"
#include "engine/cpu/work/workers.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace gpujoin::cpu {

// Writes tuples to places that are given, one chunk's share of all buckets.
template <typename Tuple>
class CombiningWriter {
  public:
    static constexpr bool kPossible = sizeof(Tuple) <= 32 && 64 % sizeof(Tuple) == 0;

    // places[b]: where the chunk's first tuple of bucket b goes. out is aligned to lines, and ends at `end`.
    CombiningWriter(const std::vector<uint64_t>& places, Tuple* out, uint64_t end)
        : firsts_(places), next_(places), lines_(places.size()), out_(out), end_(end) {}

    void put(uint32_t bucket, const Tuple& tuple) {
        if (next_[bucket] >= end_) return;
        uint64_t place = next_[bucket]++;
        uint64_t in_line = place % kTuples;
        Line& line = lines_[bucket];
        line.tuples[in_line] = tuple;
        if (in_line == kTuples - 1) write_line(bucket, line, place + 1 - kTuples);
    }

    // Writes what the lines still hold.
    void finish() {
        for (uint32_t b = 0; b < next_.size(); b++)
            copy(lines_[b], std::max(next_[b] / kTuples * kTuples, firsts_[b]), next_[b]);
#ifdef __SSE2__
        _mm_sfence();
#endif
    }

  private:
    static constexpr uint64_t kTuples = kPossible ? 64 / sizeof(Tuple) : 1;
    struct alignas(64) Line {
        Tuple tuples[kTuples];
    };

    void write_line(uint32_t bucket, const Line& line, uint64_t start) {
        // The first line of a bucket may begin with another chunk's tuples.
        if (start < firsts_[bucket]) return copy(line, firsts_[bucket], start + kTuples);
#ifdef __SSE2__
        const auto* from = reinterpret_cast<const __m128i*>(&line);
        auto* to = reinterpret_cast<__m128i*>(out_ + start);
        for (uint32_t i = 0; i < 4; i++) _mm_stream_si128(to + i, _mm_load_si128(from + i));
#else
        copy(line, start, start + kTuples);
#endif
    }
    void copy(const Line& line, uint64_t start, uint64_t end) {
        for (uint64_t place = start; place < end; place++) out_[place] = line.tuples[place % kTuples];
    }

    const std::vector<uint64_t>& firsts_;
    std::vector<uint64_t> next_;
    std::vector<Line> lines_;
    Tuple* const out_;
    const uint64_t end_;
};

// source(first, rows, tuples) makes the tuples of input rows [first, first + rows), rows <= kBlockRows, and
// returns how many there are (it may leave rows out). bucket(tuple) < buckets. starts gets buckets + 1
// entries: bucket b is out[starts[b], starts[b + 1]). `out` has room for a tuple a row.
//
// The source is asked twice. Where it reads memory that a client can write to it may give other tuples the
// second time: then buckets may hold tuples of others, but nothing is written behind the last one.
template <typename Tuple, typename Source, typename Bucket>
Status partition(Workers& workers, const std::atomic<bool>* cancel, uint64_t rows, uint32_t buckets,
                 const Source& source, const Bucket& bucket, Tuple* out, std::vector<uint64_t>* starts) {
    constexpr uint64_t kCachedBytes = 1u << 20;
    constexpr uint32_t kFewBuckets = 64;
    const bool combines = rows * sizeof(Tuple) > kCachedBytes && buckets > kFewBuckets;
    uint32_t chunks =
        static_cast<uint32_t>(std::clamp<uint64_t>(rows / kParallelRows, 1, 2 * workers.threads()));
    uint64_t chunk_rows = (rows + chunks - 1) / chunks;
    auto scan_chunk = [&](uint32_t chunk, const auto& use) {
        Tuple tuples[kBlockRows];
        uint64_t end = std::min(rows, (chunk + 1) * chunk_rows);
        for (uint64_t first = chunk * chunk_rows; first < end; first += kBlockRows) {
            if (should_stop(cancel)) return;
            uint32_t count =
                source(first, static_cast<uint32_t>(std::min<uint64_t>(kBlockRows, end - first)), tuples);
            for (uint32_t i = 0; i < count; i++) use(tuples[i]);
        }
    };
    std::vector<std::vector<uint64_t>> places(chunks, std::vector<uint64_t>(buckets));
    GPUJOIN_RETURN_IF_FAILED(workers.run(cancel, chunks, [&](uint32_t chunk) {
        uint64_t* counts = places[chunk].data();
        scan_chunk(chunk, [&](const Tuple& tuple) { counts[bucket(tuple)]++; });
    }));
    starts->assign(buckets + 1, 0);
    uint64_t next = 0;
    for (uint32_t b = 0; b < buckets; b++) {
        (*starts)[b] = next;
        for (std::vector<uint64_t>& chunk : places) next += std::exchange(chunk[b], next);
    }
    (*starts)[buckets] = next;
    return workers.run(cancel, chunks, [&](uint32_t chunk) {
        if constexpr (CombiningWriter<Tuple>::kPossible) {
            if (combines) {
                CombiningWriter<Tuple> writer(places[chunk], out, next);
                scan_chunk(chunk, [&](const Tuple& tuple) { writer.put(bucket(tuple), tuple); });
                return writer.finish();
            }
        }
        uint64_t* place = places[chunk].data();
        scan_chunk(chunk, [&](const Tuple& tuple) {
            uint64_t& at = place[bucket(tuple)];
            if (at < next) out[at++] = tuple;
        });
    });
}

}  // namespace gpujoin::cpu
