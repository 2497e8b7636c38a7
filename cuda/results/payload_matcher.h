// Matching two whole sides at once: pairs of payloads, in an order of the matcher's own.
#pragma once

#include "cuda/columns/payload.h"
#include "cuda/work/work.h"

namespace gpujoin::cuda {

// Where pairs of payloads go: two arrays with room for `capacity` pairs.
struct PayloadOutput {
    void* build;
    void* probe;
    uint64_t capacity;
};

// The least room that a matcher is given at a time.
inline constexpr uint64_t kLeastPairs = 8192;

class PayloadMatcher {
  public:
    virtual ~PayloadMatcher() = default;
    virtual const PayloadSource& build_payload() const = 0;
    virtual const PayloadSource& probe_payload() const = 0;
    // Writes further pairs, at most output.capacity >= kLeastPairs. done: there are none after these.
    // Complete on return.
    virtual Status run(const WorkContext& context, const PayloadOutput& output, uint64_t* rows,
                       bool* done) = 0;
};

// Calls function(build, probe) with values of the types that payloads of so many bytes have.
template <typename Function>
auto with_payload_types(uint32_t build_bytes, uint32_t probe_bytes, const Function& function) {
    auto with_build = [&](auto build) {
        return probe_bytes == sizeof(uint32_t) ? function(build, uint32_t{}) : function(build, uint64_t{});
    };
    return build_bytes == sizeof(uint32_t) ? with_build(uint32_t{}) : with_build(uint64_t{});
}

}  // namespace gpujoin::cuda
