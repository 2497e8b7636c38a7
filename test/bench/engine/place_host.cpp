// Host memory: generated and checked with oneTBB.
#include "place_host.h"

#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <new>

namespace gpujoin::bench {

namespace {

Buffer allocate_pages(uint64_t bytes) {
    bytes = std::max<uint64_t>(bytes, 1);
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    madvise(memory, bytes, MADV_HUGEPAGE);
    std::byte* first = static_cast<std::byte*>(memory);
    constexpr uint64_t kPage = 4096;
    HostExecutor::for_rows((bytes + kPage - 1) / kPage, [=](uint64_t page) { first[page * kPage] = {}; });
    return Buffer(first, [bytes](std::byte* address) { munmap(address, bytes); });
}

class HostPlace final : public PlaceOf<HostExecutor> {
  public:
    HostPlace(Memory memory, std::function<Buffer(uint64_t)> allocate)
        : memory_(memory), allocate_(std::move(allocate)) {}
    Memory memory() const override { return memory_; }
    Buffer allocate(uint64_t bytes) override { return allocate_(bytes); }

  private:
    // Never pinned, which takes a second for every few GB.
    Buffer allocate_scratch(uint64_t bytes) override { return allocate_pages(bytes); }

    Memory memory_;
    std::function<Buffer(uint64_t)> allocate_;
};

}  // namespace

std::unique_ptr<Place> make_host_place() {
    return std::make_unique<HostPlace>(Memory::Host, allocate_pages);
}

double host_copy_bandwidth() {
    constexpr uint64_t kBytes = uint64_t{256} << 20, kPart = 1 << 20;
    Buffer from = allocate_pages(kBytes), to = allocate_pages(kBytes);
    double best = 0;
    for (int i = 0; i < 8; i++) {
        auto start = std::chrono::steady_clock::now();
        tbb::parallel_for(uint64_t{0}, kBytes / kPart, [&](uint64_t part) {
            memcpy(to.get() + part * kPart, from.get() + part * kPart, kPart);
        });
        std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        best = std::max(best, 2.0 * kBytes / seconds.count());
    }
    return best;
}

std::unique_ptr<Place> make_pinned_place(std::function<Buffer(uint64_t)> allocate) {
    return std::make_unique<HostPlace>(Memory::PinnedHost, std::move(allocate));
}

}  // namespace gpujoin::bench
