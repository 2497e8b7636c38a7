// A place: one kind of memory, where relations are generated, results are written and both are checked, by
// the processors next to it. Host memory, pinned host memory, or a device's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "fragment_oracle.h"
#include "primitives.h"
#include "wire/batch.h"

namespace gpujoin::bench {

// Memory that has been written once (so that no page fault is left), aligned to 64 bytes at least.
using Buffer = std::shared_ptr<std::byte>;

class Place {
  public:
    virtual ~Place() = default;
    virtual Memory memory() const = 0;
    // Throws std::bad_alloc when there is no room.
    virtual Buffer allocate(uint64_t bytes) = 0;
    virtual void fill_keys(const FillKey& fill, uint64_t rows) = 0;
    virtual void fill_texts(const FillText& fill, uint64_t rows) = 0;
    virtual void fill_row_numbers(const FillRowNumber& fill, uint64_t rows) = 0;
    virtual void fill_attributes(const FillAttribute& fill, uint64_t rows) = 0;
    // The equality join (or the band join) of probe_rows rows of probe with build_rows rows of build.
    virtual Check expect(const Keys& probe, uint64_t probe_rows, const Keys& build, uint64_t build_rows,
                         bool is_band, uint64_t band) = 0;
    virtual Check check(const ResultRow& result, uint64_t rows) = 0;
    // What comes out of a fragment of so many source rows, and what came out.
    virtual Check expect_fragment(const SinkShape& sink, uint64_t source_rows) = 0;
    virtual Check check_fragment(const SinkRow& result, uint64_t rows) = 0;
    // What a primitive left in its output, or should leave.
    virtual Check check_primitive(const PrimitiveCheck& check, bool expected) = 0;
};

// The ordinary memory of this machine.
std::unique_ptr<Place> make_host_place();

// Bytes per second, read and written, of copies in the memory of this machine by all processors.
double host_copy_bandwidth();

// Host memory that `allocate` pins.
std::unique_ptr<Place> make_pinned_place(std::function<Buffer(uint64_t)> allocate);

}  // namespace gpujoin::bench
