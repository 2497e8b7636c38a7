// Copying bytes in one thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpujoin::cuda {

// Copies between places of the same alignment in words, others in bytes.
__device__ inline void copy_bytes(std::byte* to, const std::byte* from, uint64_t bytes) {
    uint64_t done = 0;
    if (((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) & 7) == 0) {
        for (; done + 8 <= bytes; done += 8)
            *reinterpret_cast<uint64_t*>(to + done) = *reinterpret_cast<const uint64_t*>(from + done);
    }
    for (; done < bytes; done++) to[done] = from[done];
}

}  // namespace gpujoin::cuda
