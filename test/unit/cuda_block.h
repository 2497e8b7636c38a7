// Memory of either kind for tests, freed at the end.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "wire/batch.h"

namespace gpujoin::test {

class Block {
  public:
    Block(uint64_t bytes, Memory kind) : kind_(kind) {
        if (kind == Memory::Device)
            EXPECT_EQ(cudaMalloc(&memory_, bytes), cudaSuccess);
        else
            memory_ = std::aligned_alloc(kBufferAlignment, align_buffer(bytes));
    }
    ~Block() { kind_ == Memory::Device ? static_cast<void>(cudaFree(memory_)) : std::free(memory_); }
    Block(const Block&) = delete;

    std::byte* get() const { return static_cast<std::byte*>(memory_); }

    void copy_from(const void* source, uint64_t bytes) {
        EXPECT_EQ(cudaMemcpy(memory_, source, bytes, cudaMemcpyDefault), cudaSuccess);
        // From pageable memory it may return before the bytes are there, and the engine's streams wait for no
        // other.
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    }

  private:
    const Memory kind_;
    void* memory_ = nullptr;
};

}  // namespace gpujoin::test
