// Packed fragments: what pack() makes unpack() reads; whatever else there is in its place is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "wire/owned_fragment.h"
#include "wire/plain_fragment.h"
#include "wire/spec_codec.h"

namespace gpujoin::test {

namespace {

using Bytes = std::vector<std::byte>;
using UpTo = std::function<uint32_t(uint32_t)>;

// Of an exact size, so that a sanitizer sees what is read or written beyond it.
Bytes packed(const FragmentView& fragment) {
    Bytes bytes(packed_bytes(fragment));
    EXPECT_EQ(pack(fragment, bytes.data()), bytes.size());
    return bytes;
}

// All of what travels, and nothing else: programs beyond those in use do not.
bool are_equal(const OwnedFragment& one, const OwnedFragment& other) {
    constexpr size_t before = offsetof(FragmentSpec, value);
    return memcmp(one.spec.get(), other.spec.get(), before) == 0 &&
           memcmp(one.spec->value, other.spec->value, one.spec->values * sizeof(FilterProgram)) == 0 &&
           memcmp(one.spec->aggregate, other.spec->aggregate, sizeof one.spec->aggregate) == 0 &&
           std::equal(one.stages.begin(), one.stages.end(), other.stages.begin(), other.stages.end(),
                      [](const StageSpec& a, const StageSpec& b) { return memcmp(&a, &b, sizeof a) == 0; });
}

template <typename Spec>
void fill_with_noise(std::mt19937* random, Spec* spec) {
    auto* bytes = reinterpret_cast<uint8_t*>(spec);
    for (size_t i = 0; i < sizeof *spec; i++) bytes[i] = static_cast<uint8_t>((*random)());
}

template <typename Element, size_t size>
void clear_rest(Element (&array)[size], uint16_t used) {
    memset(static_cast<void*>(array + used), 0, (size - used) * sizeof array[0]);
}

void cut_program(FilterProgram* program, const UpTo& up_to) {
    program->steps = static_cast<uint16_t>(up_to(kMaxFilterSteps));
    program->constants = static_cast<uint16_t>(up_to(kMaxFilterConstants));
    clear_rest(program->step, program->steps);
    clear_rest(program->constant, program->constants);
}

void cut_stage(StageSpec* stage, const UpTo& up_to) {
    JoinSpec& join = stage->join;
    for (uint16_t* count : {&join.equalities, &join.ranges, &join.filters})
        *count = static_cast<uint16_t>(up_to(kMaxTerms));
    for (uint16_t* count : {&join.probe_columns, &join.build_columns, &join.outputs, &join.carried})
        *count = static_cast<uint16_t>(up_to(kMaxColumns));
    clear_rest(join.equality, join.equalities);
    clear_rest(join.range, join.ranges);
    clear_rest(join.filter, join.filters);
    clear_rest(join.output, join.outputs);
    clear_rest(join.carry, join.carried);
    clear_rest(join.probe, join.probe_columns);
    clear_rest(join.build, join.build_columns);
    clear_rest(stage->probe, join.probe_columns);
    cut_program(&join.program, up_to);
}

// Random bytes wherever a fragment with these counts means something, zeros elsewhere.
OwnedFragment random_fragment(uint32_t stages, std::mt19937* random, const UpTo& up_to) {
    OwnedFragment fragment(stages);
    FragmentSpec& spec = *fragment.spec;
    fill_with_noise(random, &spec);
    spec.source_columns = static_cast<uint16_t>(up_to(kMaxColumns));
    spec.inputs = static_cast<uint16_t>(up_to(kMaxColumns));
    spec.keys = static_cast<uint16_t>(up_to(kMaxGroupKeys));
    spec.values = static_cast<uint16_t>(up_to(kMaxValues));
    spec.aggregates = static_cast<uint16_t>(up_to(kMaxAggregates));
    clear_rest(spec.source, spec.source_columns);
    clear_rest(spec.input, spec.inputs);
    clear_rest(spec.key, spec.keys);
    clear_rest(spec.aggregate, spec.aggregates);
    for (FilterProgram& program : spec.value) cut_program(&program, up_to);
    for (StageSpec& stage : fragment.stages) {
        fill_with_noise(random, &stage);
        cut_stage(&stage, up_to);
    }
    return fragment;
}

// Three of everything.
OwnedFragment small_fragment(uint32_t stages = 2) {
    std::mt19937 random(1);
    return random_fragment(stages, &random, [](uint32_t) { return 3; });
}

Status unpack_stages(std::span<const std::byte> bytes, uint32_t stages) {
    OwnedFragment fragment(stages);
    return unpack(bytes, fragment.spec.get(), fragment.stages);
}

void expect_refusal(std::span<const std::byte> bytes, uint32_t stages) {
    EXPECT_STREQ(unpack_stages(bytes, stages).sqlstate, "08P01") << bytes.size();
}

}  // namespace

TEST(SpecCodec, FragmentsOfAllSizesSurvive) {
    std::mt19937 random(1);
    for (uint32_t i = 0; i < 100; i++) {
        const UpTo up_to = [&](uint32_t limit) { return random() % (limit + 1); };
        const OwnedFragment fragment = random_fragment(i % (kMaxStages + 1), &random, up_to);
        OwnedFragment unpacked(i % (kMaxStages + 1));
        fill_with_noise(&random, unpacked.spec.get());  // what is not sent is zero
        for (StageSpec& stage : unpacked.stages) fill_with_noise(&random, &stage);
        ASSERT_TRUE(unpack(packed(fragment.view()), unpacked.spec.get(), unpacked.stages).ok());
        ASSERT_TRUE(are_equal(fragment, unpacked)) << i;
    }
}

TEST(SpecCodec, OnlyWhatIsUsedIsSent) {
    const OwnedFragment fragment = small_fragment(1);
    OwnedFragment dirty = small_fragment(1);
    dirty.stages[0].join.range[3].probe_column = dirty.stages[0].join.output[1000] = 1;
    dirty.stages[0].join.program.constant[3] = 1;
    dirty.stages[0].probe[3].column = dirty.spec->input[3].column = dirty.spec->key[3] = 1;
    dirty.spec->value[0].constant[3] = 1;
    dirty.spec->value[3].steps = kMaxFilterSteps;
    EXPECT_EQ(packed(fragment.view()), packed(dirty.view()));
    EXPECT_LT(packed_bytes(fragment.view()), 600u);
    std::mt19937 random(1);
    const OwnedFragment full = random_fragment(kMaxStages, &random, [](uint32_t limit) { return limit; });
    EXPECT_EQ(packed_bytes(full.view()), kMaxPackedFragmentBytes);
}

// As a FragmentSpec is, with nothing but what counts in it.
TEST(SpecCodec, PlainJoinsAreSmall) {
    JoinSpec join{};
    join.names_probe_rows = 1;
    join.probe_columns = join.build_columns = 2;
    join.probe[1] = {ColumnType::Fixed8, ValueOrder::Signed, 1, 0};
    OwnedFragment fragment(1);
    make_plain_fragment(join, fragment.spec.get(), fragment.stages.data());
    EXPECT_TRUE(validate(fragment.view()).ok());
    EXPECT_TRUE(fragment.view().is_plain_join());
    EXPECT_LT(packed_bytes(fragment.view()), 150u);
    OwnedFragment unpacked(1);
    ASSERT_TRUE(unpack(packed(fragment.view()), unpacked.spec.get(), unpacked.stages).ok());
    EXPECT_TRUE(validate(unpacked.view()).ok());
    EXPECT_EQ(memcmp(&unpacked.stages[0].join, &join, sizeof join), 0);
}

TEST(SpecCodec, StagesAreCounted) {
    const Bytes bytes = packed(small_fragment(3).view());
    EXPECT_TRUE(unpack_stages(bytes, 3).ok());
    expect_refusal(bytes, 2);
    expect_refusal(bytes, 4);
    expect_refusal(bytes, 0);
}

TEST(SpecCodec, EveryOtherLengthIsRefused) {
    const Bytes bytes = packed(small_fragment().view());
    for (size_t length = 0; length < bytes.size(); length++)
        expect_refusal(Bytes(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length)), 2);
    for (size_t excess : {1, 8, 100000}) {
        Bytes longer = bytes;
        longer.resize(bytes.size() + excess);
        expect_refusal(longer, 2);
    }
    EXPECT_TRUE(unpack_stages(bytes, 2).ok());
}

TEST(SpecCodec, CountsBeyondTheirLimitsAreRefused) {
    const OwnedFragment good = small_fragment();
    auto expect_refusal_of = [&good](size_t offset, uint32_t limit) {
        for (uint32_t count : {limit + 1, 65535u}) {
            Bytes bytes = packed(good.view());
            bytes.resize(1u << 20);  // enough for all that it claims
            auto spoiled = static_cast<uint16_t>(count);
            memcpy(bytes.data() + offset, &spoiled, sizeof spoiled);
            EXPECT_STREQ(unpack_stages(bytes, 2).detail, "A count exceeds its limit.") << offset;
        }
    };
    expect_refusal_of(offsetof(FragmentSpec, source_columns), kMaxColumns);
    expect_refusal_of(offsetof(FragmentSpec, inputs), kMaxColumns);
    expect_refusal_of(offsetof(FragmentSpec, keys), kMaxGroupKeys);
    expect_refusal_of(offsetof(FragmentSpec, values), kMaxValues);
    expect_refusal_of(offsetof(FragmentSpec, aggregates), kMaxAggregates);

    const OwnedFragment none(0);
    memcpy(static_cast<void*>(none.spec.get()), good.spec.get(), sizeof *good.spec);
    const size_t stages = packed_bytes(none.view());
    auto expect_refusal_of_program = [&](size_t offset) {
        expect_refusal_of(offset + offsetof(FilterProgram, steps), kMaxFilterSteps);
        expect_refusal_of(offset + offsetof(FilterProgram, constants), kMaxFilterConstants);
    };
    const size_t program = offsetof(FilterProgram, step) + 3 * (sizeof(FilterStep) + sizeof(uint64_t));
    expect_refusal_of_program(stages - program);  // the sink's last one
    for (size_t stage : {stages, stages + (packed_bytes(good.view()) - stages) / 2}) {
        for (size_t count :
             {offsetof(JoinSpec, equalities), offsetof(JoinSpec, ranges), offsetof(JoinSpec, filters)})
            expect_refusal_of(stage + count, kMaxTerms);
        for (size_t count : {offsetof(JoinSpec, outputs), offsetof(JoinSpec, carried),
                             offsetof(JoinSpec, probe_columns), offsetof(JoinSpec, build_columns)})
            expect_refusal_of(stage + count, kMaxColumns);
        expect_refusal_of_program(stage + offsetof(JoinSpec, equality));
    }
}

}  // namespace gpujoin::test
