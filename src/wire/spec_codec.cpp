// Packing and unpacking of join specs. Both go through the same parts of a spec, listed once.
#include "wire/spec_codec.h"

#include <cstring>
#include <iterator>
#include <type_traits>

namespace gpujoin {

namespace {

// What lies before the arrays: the counts of their elements, and all that has no count.
constexpr size_t kHeadBytes = offsetof(JoinSpec, equality);
constexpr size_t kProgramHeadBytes = offsetof(FilterProgram, step);

static_assert(std::has_unique_object_representations_v<JoinSpec>,
              "without padding, nothing grows by packing");

// Calls visit(array, elements in use) for each array of a spec.
template <typename Spec, typename Visit>
void visit_arrays(Spec& spec, const Visit& visit) {
    visit(spec.equality, spec.equalities);
    visit(spec.range, spec.ranges);
    visit(spec.filter, spec.filters);
    visit(spec.output, spec.outputs);
    visit(spec.carry, spec.carried);
    visit(spec.probe, spec.probe_columns);
    visit(spec.build, spec.build_columns);
    visit(spec.program.step, spec.program.steps);
    visit(spec.program.constant, spec.program.constants);
}

Status malformed(const char* what) {
    return failure(Fault::Protocol, "08P01", "malformed join specification").with_detail("%s", what);
}

// Takes bytes off the front of what was packed. False where there are fewer.
bool take(std::span<const std::byte>* packed, void* target, size_t bytes) {
    if (bytes > packed->size()) return false;
    memcpy(target, packed->data(), bytes);
    *packed = packed->subspan(bytes);
    return true;
}

// Takes one spec off the front.
Status take_spec(std::span<const std::byte>* packed, JoinSpec* spec) {
    memset(static_cast<void*>(spec), 0, sizeof *spec);
    bool is_whole = take(packed, spec, kHeadBytes) && take(packed, &spec->program, kProgramHeadBytes);
    bool is_within_limits = true;
    visit_arrays(*spec, [&](auto& array, uint16_t count) {
        is_within_limits = is_within_limits && count <= std::size(array);
        is_whole = is_whole && is_within_limits && take(packed, array, count * sizeof array[0]);
    });
    if (!is_within_limits) return malformed("A count exceeds its limit.");
    return is_whole ? Status{} : malformed("It ends too early.");
}

}  // namespace

uint32_t packed_bytes(const JoinSpec& spec) {
    size_t bytes = kHeadBytes + kProgramHeadBytes;
    visit_arrays(spec, [&](const auto& array, uint16_t count) { bytes += count * sizeof array[0]; });
    return static_cast<uint32_t>(bytes);
}

uint32_t pack(const JoinSpec& spec, std::byte* buffer) {
    std::byte* end = buffer;
    auto add = [&](const void* part, size_t bytes) {
        memcpy(end, part, bytes);
        end += bytes;
    };
    add(&spec, kHeadBytes);
    add(&spec.program, kProgramHeadBytes);
    visit_arrays(spec, [&](const auto& array, uint16_t count) { add(array, count * sizeof array[0]); });
    return static_cast<uint32_t>(end - buffer);
}

Status unpack(std::span<const std::byte> packed, std::span<JoinSpec> specs) {
    for (JoinSpec& spec : specs) GPUJOIN_RETURN_IF_FAILED(take_spec(&packed, &spec));
    return packed.empty() ? Status{} : malformed("It goes on after its end.");
}

}  // namespace gpujoin
