// Packed join specs: what pack() makes unpack() reads; whatever else there is in its place is refused.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "wire/spec_codec.h"

namespace gpujoin::test {

namespace {

using Bytes = std::vector<std::byte>;

// Of an exact size, so that a sanitizer sees what is read or written beyond it.
Bytes packed(const JoinSpec& spec) {
    Bytes bytes(packed_bytes(spec));
    EXPECT_EQ(pack(spec, bytes.data()), bytes.size());
    return bytes;
}

bool are_equal(const JoinSpec& one, const JoinSpec& other) {
    return memcmp(&one, &other, sizeof one) == 0;
}

void set_counts(JoinSpec* spec, const std::function<uint32_t(uint32_t)>& up_to) {
    for (uint16_t* count : {&spec->equalities, &spec->ranges, &spec->filters})
        *count = static_cast<uint16_t>(up_to(kMaxTerms));
    for (uint16_t* count : {&spec->probe_columns, &spec->build_columns, &spec->outputs, &spec->carried})
        *count = static_cast<uint16_t>(up_to(kMaxColumns));
    spec->program.steps = static_cast<uint16_t>(up_to(kMaxFilterSteps));
    spec->program.constants = static_cast<uint16_t>(up_to(kMaxFilterConstants));
}

// Random bytes wherever a spec with these counts means something, zeros elsewhere.
JoinSpec random_spec(std::mt19937* random, const std::function<uint32_t(uint32_t)>& up_to) {
    JoinSpec noise;
    auto* bytes = reinterpret_cast<uint8_t*>(&noise);
    for (size_t i = 0; i < sizeof noise; i++) bytes[i] = static_cast<uint8_t>((*random)());
    set_counts(&noise, up_to);
    JoinSpec spec{};
    memcpy(static_cast<void*>(&spec), &noise, offsetof(JoinSpec, equality));
    memcpy(&spec.program, &noise.program, offsetof(FilterProgram, step));
    std::copy_n(noise.equality, noise.equalities, spec.equality);
    std::copy_n(noise.range, noise.ranges, spec.range);
    std::copy_n(noise.filter, noise.filters, spec.filter);
    std::copy_n(noise.output, noise.outputs, spec.output);
    std::copy_n(noise.carry, noise.carried, spec.carry);
    std::copy_n(noise.probe, noise.probe_columns, spec.probe);
    std::copy_n(noise.build, noise.build_columns, spec.build);
    std::copy_n(noise.program.step, noise.program.steps, spec.program.step);
    std::copy_n(noise.program.constant, noise.program.constants, spec.program.constant);
    return spec;
}

// Three of everything.
JoinSpec small_spec() {
    std::mt19937 random(1);
    return random_spec(&random, [](uint32_t) { return 3; });
}

void expect_refusal(std::span<const std::byte> bytes, std::span<JoinSpec> specs) {
    EXPECT_STREQ(unpack(bytes, specs).sqlstate, "08P01") << bytes.size();
}

}  // namespace

TEST(SpecCodec, SpecsOfAllSizesSurvive) {
    std::mt19937 random(1);
    for (int i = 0; i < 100; i++) {
        JoinSpec spec = random_spec(&random, [&](uint32_t limit) { return random() % (limit + 1); });
        JoinSpec unpacked;
        memset(static_cast<void*>(&unpacked), 0xff, sizeof unpacked);  // what is not sent is zero
        ASSERT_TRUE(unpack(packed(spec), {&unpacked, 1}).ok());
        ASSERT_TRUE(are_equal(spec, unpacked)) << i;
    }
}

TEST(SpecCodec, OnlyWhatIsUsedIsSent) {
    JoinSpec spec = small_spec();
    JoinSpec dirty = spec;
    dirty.range[3].probe_column = dirty.output[1000] = 1;
    dirty.program.constant[3] = 1;
    EXPECT_EQ(packed(spec), packed(dirty));
    EXPECT_LT(packed_bytes(spec), 300u);
    EXPECT_LT(packed_bytes(JoinSpec{}), 100u);
    std::mt19937 random(1);
    JoinSpec full = random_spec(&random, [](uint32_t limit) { return limit; });
    EXPECT_EQ(packed_bytes(full), kMaxPackedSpecBytes);
}

TEST(SpecCodec, SeveralFollowEachOther) {
    const JoinSpec specs[] = {small_spec(), JoinSpec{}, small_spec()};
    Bytes bytes;
    for (const JoinSpec& spec : specs) {
        Bytes one = packed(spec);
        bytes.insert(bytes.end(), one.begin(), one.end());
    }
    std::vector<JoinSpec> unpacked(3);
    ASSERT_TRUE(unpack(bytes, unpacked).ok());
    for (size_t i = 0; i < 3; i++) EXPECT_TRUE(are_equal(specs[i], unpacked[i])) << i;
    expect_refusal(bytes, std::span(unpacked).first(2));
    unpacked.resize(4);
    expect_refusal(bytes, unpacked);
}

TEST(SpecCodec, EveryOtherLengthIsRefused) {
    const Bytes bytes = packed(small_spec());
    JoinSpec spec;
    for (size_t length = 0; length < bytes.size(); length++)
        expect_refusal(Bytes(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length)), {&spec, 1});
    for (size_t excess : {1, 8, 100000}) {
        Bytes longer = bytes;
        longer.resize(bytes.size() + excess);
        expect_refusal(longer, {&spec, 1});
    }
    EXPECT_TRUE(unpack(bytes, {&spec, 1}).ok());
}

TEST(SpecCodec, CountsBeyondTheirLimitsAreRefused) {
    uint16_t JoinSpec::*const counts[] = {
        &JoinSpec::equalities, &JoinSpec::ranges,        &JoinSpec::filters,      &JoinSpec::outputs,
        &JoinSpec::carried,    &JoinSpec::probe_columns, &JoinSpec::build_columns};
    const JoinSpec good = small_spec();
    auto expect_refusal_of = [&good](size_t offset, uint32_t limit) {
        for (uint32_t count : {limit + 1, 65535u}) {
            Bytes bytes = packed(good);
            bytes.resize(1u << 20);  // enough for all that it claims
            auto spoiled = static_cast<uint16_t>(count);
            memcpy(bytes.data() + offset, &spoiled, sizeof spoiled);
            JoinSpec spec;
            Status status = unpack(bytes, {&spec, 1});
            EXPECT_STREQ(status.detail, "A count exceeds its limit.") << offset;
        }
    };
    for (auto count : counts) {
        auto offset = static_cast<size_t>(reinterpret_cast<const std::byte*>(&(good.*count)) -
                                          reinterpret_cast<const std::byte*>(&good));
        expect_refusal_of(
            offset, count == counts[0] || count == counts[1] || count == counts[2] ? kMaxTerms : kMaxColumns);
    }
    constexpr size_t program = offsetof(JoinSpec, equality);
    expect_refusal_of(program + offsetof(FilterProgram, steps), kMaxFilterSteps);
    expect_refusal_of(program + offsetof(FilterProgram, constants), kMaxFilterConstants);
}

}  // namespace gpujoin::test
