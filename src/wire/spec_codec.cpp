// Packing and unpacking of fragments. Both go through the same parts of a spec, listed once.
#include "wire/spec_codec.h"

#include <cstring>
#include <iterator>
#include <type_traits>

namespace gpujoin {

namespace {

// What lies before the arrays: the counts of their elements, and all that has no count.
constexpr size_t kHeadBytes = offsetof(FragmentSpec, source);
constexpr size_t kJoinHeadBytes = offsetof(JoinSpec, equality);
constexpr size_t kProgramHeadBytes = offsetof(FilterProgram, step);

static_assert(std::has_unique_object_representations_v<FragmentSpec> &&
                  std::has_unique_object_representations_v<StageSpec>,
              "without padding, nothing grows by packing");

// These call visit(array, elements in use) for each array of a part.
template <typename Program, typename Visit>
void visit_arrays_of_program(Program& program, const Visit& visit) {
    visit(program.step, program.steps);
    visit(program.constant, program.constants);
}

template <typename Stage, typename Visit>
void visit_arrays_of_stage(Stage& stage, const Visit& visit) {
    auto& join = stage.join;
    visit(join.equality, join.equalities);
    visit(join.range, join.ranges);
    visit(join.filter, join.filters);
    visit(join.output, join.outputs);
    visit(join.carry, join.carried);
    visit(join.probe, join.probe_columns);
    visit(join.build, join.build_columns);
    visit_arrays_of_program(join.program, visit);
    visit(stage.probe, join.probe_columns);
}

// All but the programs.
template <typename Spec, typename Visit>
void visit_arrays_of_fragment(Spec& spec, const Visit& visit) {
    visit(spec.source, spec.source_columns);
    visit(spec.input, spec.inputs);
    visit(spec.key, spec.keys);
    visit(spec.aggregate, spec.aggregates);
}

// Adds parts to what is packed; without a buffer it only counts.
class Packer {
  public:
    explicit Packer(std::byte* buffer) : buffer_(buffer) {}

    void add(const void* part, size_t bytes) {
        if (buffer_ && bytes > 0) memcpy(buffer_ + bytes_, part, bytes);
        bytes_ += bytes;
    }
    template <typename Element, size_t size>
    void operator()(const Element (&array)[size], uint16_t count) {
        add(array, count * sizeof array[0]);
    }
    uint32_t bytes() const { return static_cast<uint32_t>(bytes_); }

  private:
    std::byte* const buffer_;
    size_t bytes_ = 0;
};

uint32_t pack_or_count(const FragmentView& fragment, std::byte* buffer) {
    Packer packer(buffer);
    auto add = [&packer](const auto& array, uint16_t count) { packer(array, count); };
    packer.add(fragment.spec, kHeadBytes);
    visit_arrays_of_fragment(*fragment.spec, add);
    for (const FilterProgram& program : std::span(fragment.spec->value, fragment.spec->values)) {
        packer.add(&program, kProgramHeadBytes);
        visit_arrays_of_program(program, add);
    }
    for (const StageSpec& stage : fragment.stages) {
        packer.add(&stage.join, kJoinHeadBytes);
        packer.add(&stage.join.program, kProgramHeadBytes);
        visit_arrays_of_stage(stage, add);
    }
    return packer.bytes();
}

Status malformed_spec(const char* detail) {
    return malformed("join specification").with_detail("%s", detail);
}

// Takes parts off the front of what was packed, until it ends too early or claims too much.
class Unpacker {
  public:
    explicit Unpacker(std::span<const std::byte> packed) : packed_(packed) {}

    void take(void* target, size_t bytes) {
        if (!status_.ok()) return;
        if (bytes > packed_.size()) {
            status_ = malformed_spec("It ends too early.");
            return;
        }
        if (bytes > 0) memcpy(target, packed_.data(), bytes);
        packed_ = packed_.subspan(bytes);
    }
    // False, and nothing more is taken, where an array has no room for so many.
    bool check(uint16_t count, size_t room) {
        if (status_.ok() && count > room) status_ = malformed_spec("A count exceeds its limit.");
        return status_.ok();
    }
    template <typename Element, size_t size>
    void operator()(Element (&array)[size], uint16_t count) {
        if (check(count, size)) take(array, count * sizeof array[0]);
    }
    const Status& status() const { return status_; }
    bool is_at_end() const { return packed_.empty(); }

  private:
    std::span<const std::byte> packed_;
    Status status_;
};

void take_program(Unpacker* unpacker, FilterProgram* program) {
    memset(program, 0, sizeof *program);
    unpacker->take(program, kProgramHeadBytes);
    visit_arrays_of_program(*program, [=](auto& array, uint16_t count) { (*unpacker)(array, count); });
}

void take_fragment(Unpacker* unpacker, FragmentSpec* spec) {
    memset(static_cast<void*>(spec), 0, offsetof(FragmentSpec, value));
    memset(spec->aggregate, 0, sizeof spec->aggregate);
    unpacker->take(spec, kHeadBytes);
    visit_arrays_of_fragment(*spec, [=](auto& array, uint16_t count) { (*unpacker)(array, count); });
    if (!unpacker->check(spec->values, kMaxValues)) return;
    for (FilterProgram& program : std::span(spec->value, spec->values)) take_program(unpacker, &program);
}

void take_stage(Unpacker* unpacker, StageSpec* stage) {
    memset(static_cast<void*>(stage), 0, sizeof *stage);
    unpacker->take(&stage->join, kJoinHeadBytes);
    unpacker->take(&stage->join.program, kProgramHeadBytes);
    visit_arrays_of_stage(*stage, [=](auto& array, uint16_t count) { (*unpacker)(array, count); });
}

}  // namespace

uint32_t packed_bytes(const FragmentView& fragment) {
    return pack_or_count(fragment, nullptr);
}

uint32_t pack(const FragmentView& fragment, std::byte* buffer) {
    return pack_or_count(fragment, buffer);
}

Status unpack(std::span<const std::byte> packed, FragmentSpec* spec, std::span<StageSpec> stages) {
    Unpacker unpacker(packed);
    take_fragment(&unpacker, spec);
    for (StageSpec& stage : stages) take_stage(&unpacker, &stage);
    if (unpacker.status().ok() && !unpacker.is_at_end()) return malformed_spec("It goes on after its end.");
    return unpacker.status();
}

}  // namespace gpujoin
