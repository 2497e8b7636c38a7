// validate(FragmentView): what would lead a fragment astray is refused, and what its columns are.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "filter_programs.h"
#include "wire/fragment_spec.h"

namespace gpujoin::test {

namespace {

constexpr ColumnSpec kInteger{ColumnType::Fixed4, ValueOrder::Signed, 0, 0};
constexpr ColumnSpec kNumber{ColumnType::Fixed8, ValueOrder::Float, 1, 0};
constexpr ColumnSpec kText{ColumnType::Bytes, ValueOrder::Bytes, 0, 0};

struct OwnedFragment {
    std::unique_ptr<FragmentSpec> spec = std::make_unique<FragmentSpec>();
    std::vector<StageSpec> stages;

    FragmentView view() const { return {spec.get(), stages}; }
};

// A stage whose probe columns are those that `refs` name, and whose build side is an integer and a text that
// it puts out.
StageSpec stage_of(JoinKind kind, std::vector<std::pair<ColumnRef, ColumnSpec>> refs) {
    StageSpec stage{};
    stage.join.kind = kind;
    stage.join.names_probe_rows = 1;
    for (const auto& [ref, column] : refs) {
        stage.probe[stage.join.probe_columns] = ref;
        stage.join.probe[stage.join.probe_columns++] = column;
    }
    stage.join.build_columns = stage.join.outputs = 2;
    stage.join.build[0] = kInteger;
    stage.join.build[1] = kText;
    stage.join.output[0] = 0;
    stage.join.output[1] = 1;
    stage.join.equalities = 1;
    stage.join.equality[0] = {0, 0, Comparison::Equal, {}};
    return stage;
}

// Two stages, the second of which looks up what the first, an outer join, gave.
OwnedFragment good_chain() {
    OwnedFragment fragment;
    fragment.spec->source_columns = 2;
    fragment.spec->source[0] = kInteger;
    fragment.spec->source[1] = kNumber;
    ColumnSpec extended = kInteger;
    extended.nullable = 1;
    fragment.stages = {stage_of(JoinKind::Left, {{{kFromSource, 0}, kInteger}}),
                       stage_of(JoinKind::Inner, {{{0, 0}, extended}, {{kFromSource, 1}, kNumber}})};
    fragment.spec->inputs = 3;
    fragment.spec->input[0] = {kFromSource, 1};
    fragment.spec->input[1] = {0, 1};
    fragment.spec->input[2] = {1, 0};
    return fragment;
}

// The same, grouped by the text of the first stage.
OwnedFragment good_groups() {
    OwnedFragment fragment = good_chain();
    FragmentSpec& spec = *fragment.spec;
    spec.sink = SinkKind::Groups;
    spec.keys = 1;
    spec.key[0] = 1;
    spec.values = 3;
    ProgramWriter(spec.value[0]).probe(FilterOpcode::Load, 2).constant(FilterOpcode::Add, int64_t{1});
    ProgramWriter(spec.value[1])
        .probe(FilterOpcode::Load, 0, FilterType::Float64)
        .constant(FilterOpcode::Less, 0.5);
    ProgramWriter(spec.value[2])
        .probe(FilterOpcode::Load, 2)
        .step(FilterOpcode::ToFloat, FilterType::Float64);
    spec.aggregates = 6;
    spec.aggregate[0] = {AggregateFunction::Count, 0, kNoNumber, 1};
    spec.aggregate[1] = {AggregateFunction::Sum, 0, 0, kNoNumber};
    spec.aggregate[2] = {AggregateFunction::Sum, 0, 2, kNoNumber};
    spec.aggregate[3] = {AggregateFunction::Minimum, 0, 0, 1};
    spec.aggregate[4] = {AggregateFunction::Any, 0, 1, kNoNumber};
    spec.aggregate[5] = {AggregateFunction::Count, 0, 1, kNoNumber};
    return fragment;
}

OwnedFragment good_plain_join(JoinKind kind) {
    OwnedFragment fragment;
    fragment.spec->source_columns = 1;
    fragment.spec->source[0] = kInteger;
    fragment.stages = {stage_of(kind, {{{kFromSource, 0}, kInteger}})};
    return fragment;
}

using Spoiler = std::function<void(FragmentSpec&, std::vector<StageSpec>&)>;

void expect_refused(const std::function<OwnedFragment()>& good, const std::vector<Spoiler>& spoilers) {
    ASSERT_TRUE(validate(good().view()).ok()) << validate(good().view()).detail;
    for (size_t i = 0; i < spoilers.size(); i++) {
        OwnedFragment fragment = good();
        spoilers[i](*fragment.spec, fragment.stages);
        Status status = validate(fragment.view());
        EXPECT_EQ(status.fault, Fault::Protocol) << "spoiler " << i;
        EXPECT_STREQ(status.sqlstate, "08P01") << "spoiler " << i;
    }
}

bool are_equal(const ColumnSpec& one, const ColumnSpec& other) {
    return memcmp(&one, &other, sizeof one) == 0;
}

void undecided(FilterProgram& program) {
    ProgramWriter(program)
        .probe(FilterOpcode::Load, 0)
        .constant(FilterOpcode::Add, int64_t{1})
        .constant(FilterOpcode::Less, int64_t{7});
}

}  // namespace

TEST(FragmentSpec, GoodOnesPass) {
    EXPECT_TRUE(validate(good_chain().view()).ok()) << validate(good_chain().view()).detail;
    EXPECT_TRUE(validate(good_groups().view()).ok()) << validate(good_groups().view()).detail;
    for (JoinKind kind : {JoinKind::Inner, JoinKind::Full, JoinKind::RightAnti})
        EXPECT_TRUE(validate(good_plain_join(kind).view()).ok());
    OwnedFragment deciding = good_plain_join(JoinKind::Inner);
    deciding.stages[0].join.client_decides = 1;
    undecided(deciding.stages[0].join.program);
    EXPECT_TRUE(validate(deciding.view()).ok());
    OwnedFragment longest = good_chain();
    longest.stages.resize(kMaxStages, longest.stages[0]);
    EXPECT_TRUE(validate(longest.view()).ok());
    OwnedFragment total = good_groups();
    total.spec->keys = total.spec->aggregates = 0;
    EXPECT_TRUE(validate(total.view()).ok());
    total.spec->inputs = total.spec->values = 0;
    total.stages.clear();
    EXPECT_TRUE(validate(total.view()).ok()) << validate(total.view()).detail;
    total.spec->sink = SinkKind::Rows;
    EXPECT_STREQ(validate(total.view()).sqlstate, "08P01") << "rows that no stage gives are named";
    total.spec->source_is_unnamed = 1;
    EXPECT_TRUE(validate(total.view()).ok()) << validate(total.view()).detail;
}

TEST(FragmentSpec, SpoiledChainsAreRefused) {
    using Stages = std::vector<StageSpec>;
    expect_refused(good_chain,
                   {[](FragmentSpec&, Stages& t) { t.clear(); },
                    [](FragmentSpec&, Stages& t) { t.resize(kMaxStages + 1, t[0]); },
                    [](FragmentSpec& s, Stages&) { s.sink = static_cast<SinkKind>(2); },
                    [](FragmentSpec& s, Stages&) { s.source_columns = kMaxColumns + 1; },
                    [](FragmentSpec& s, Stages&) { s.source_columns = 1; },
                    [](FragmentSpec& s, Stages&) { s.source[1].type = static_cast<ColumnType>(6); },
                    [](FragmentSpec& s, Stages&) { s.inputs = kMaxColumns + 1; },
                    [](FragmentSpec& s, Stages&) { s.keys = 1; },
                    [](FragmentSpec& s, Stages&) { s.values = 1; },
                    [](FragmentSpec& s, Stages&) { s.aggregates = 1; },
                    [](FragmentSpec& s, Stages&) { s.input[0].column = 2; },
                    [](FragmentSpec& s, Stages&) { s.input[0].origin = 2; },
                    [](FragmentSpec& s, Stages&) { s.input[2].column = 2; },
                    [](FragmentSpec&, Stages& t) { t[0].probe[0].column = 2; },
                    [](FragmentSpec&, Stages& t) {
                        t[0].probe[0] = {0, 0};
                    },
                    [](FragmentSpec&, Stages& t) {
                        t[1].probe[0] = {1, 0};
                    },
                    [](FragmentSpec&, Stages& t) {
                        t[1].probe[0] = {0, 2};
                    },
                    [](FragmentSpec&, Stages& t) {
                        t[1].probe[0] = {0, 1};
                    },                                                                  // of another type
                    [](FragmentSpec&, Stages& t) { t[1].join.probe[0].nullable = 0; },  // of an outer join
                    [](FragmentSpec&, Stages& t) { t[1].join.probe[1].order = ValueOrder::Signed; },
                    [](FragmentSpec&, Stages& t) { t[0].join.kind = JoinKind::Right; },
                    [](FragmentSpec&, Stages& t) { t[0].join.kind = JoinKind::RightSemi; },
                    [](FragmentSpec&, Stages& t) { t[0].join.order = ResultOrder::Grouped; },
                    [](FragmentSpec&, Stages& t) { t[0].join.names_probe_rows = 0; },
                    [](FragmentSpec&, Stages& t) { t[0].join.carried = 1; },
                    [](FragmentSpec&, Stages& t) { t[0].join.client_decides = 1; },
                    [](FragmentSpec&, Stages& t) { undecided(t[1].join.program); },
                    [](FragmentSpec&, Stages& t) { t[1].join.outputs = kMaxColumns + 1; }});
}

TEST(FragmentSpec, SpoiledGroupsAreRefused) {
    using Stages = std::vector<StageSpec>;
    expect_refused(
        good_groups,
        {[](FragmentSpec& s, Stages&) { s.keys = kMaxGroupKeys + 1; },
         [](FragmentSpec& s, Stages&) { s.values = kMaxValues + 1; },
         [](FragmentSpec& s, Stages&) { s.aggregates = kMaxAggregates + 1; },
         [](FragmentSpec& s, Stages&) { s.key[0] = 3; },
         [](FragmentSpec& s, Stages&) { s.value[0].steps = 0; },
         [](FragmentSpec& s, Stages&) { s.value[0].steps = kMaxFilterSteps + 1; },
         [](FragmentSpec& s, Stages&) { s.value[0].constants = 0; },
         [](FragmentSpec& s, Stages&) { s.value[0].step[0].operand = 3; },
         [](FragmentSpec& s, Stages&) { s.value[0].step[0].operand = 1; },  // a text
         [](FragmentSpec& s, Stages&) { s.value[0].step[0].source = FilterSource::Build; },
         [](FragmentSpec& s, Stages&) { s.value[0].step[1] = {FilterOpcode::Push, {}, {}, 0, 0, 0}; },
         [](FragmentSpec& s, Stages&) { s.aggregate[0].function = static_cast<AggregateFunction>(5); },
         [](FragmentSpec& s, Stages&) { s.aggregate[0].filter = 0; },  // gives a number
         [](FragmentSpec& s, Stages&) { s.aggregate[0].filter = 3; },
         [](FragmentSpec& s, Stages&) { s.aggregate[0].value = 3; },
         [](FragmentSpec& s, Stages&) { s.aggregate[1].value = 1; },  // gives a truth value
         [](FragmentSpec& s, Stages&) { s.aggregate[1].value = 3; },
         [](FragmentSpec& s, Stages&) { s.aggregate[1].value = kNoNumber; },
         [](FragmentSpec& s, Stages&) { s.aggregate[3].value = 1; },
         [](FragmentSpec& s, Stages&) { s.aggregate[4].value = 3; },
         [](FragmentSpec& s, Stages&) { s.aggregate[4].filter = 1; }});
}

TEST(FragmentSpec, SpoiledPlainJoinsAreRefused) {
    using Stages = std::vector<StageSpec>;
    expect_refused([] { return good_plain_join(JoinKind::Right); },
                   {[](FragmentSpec& s, Stages&) {
                        s.inputs = 1, s.input[0] = {kFromSource, 0};
                    },
                    [](FragmentSpec& s, Stages&) { s.source_columns = 2; },
                    [](FragmentSpec&, Stages& t) { t[0].probe[0].origin = 0; },
                    [](FragmentSpec& s, Stages& t) {
                        s.source_columns = t[0].join.probe_columns = 2;
                        s.source[1] = t[0].join.probe[1] = kInteger;
                        t[0].probe[1] = {kFromSource, 0};
                    },
                    [](FragmentSpec& s, Stages&) { s.source[0].nullable = 1; }});
    // The same join with groups is no plain one.
    OwnedFragment fragment = good_plain_join(JoinKind::Right);
    fragment.spec->sink = SinkKind::Groups;
    EXPECT_FALSE(validate(fragment.view()).ok());
    fragment.stages[0].join.kind = JoinKind::Anti;
    EXPECT_TRUE(validate(fragment.view()).ok());
}

TEST(FragmentSpec, SpoiledFirstRowsAreRefused) {
    using Stages = std::vector<StageSpec>;
    auto good_rows = [] {
        OwnedFragment fragment = good_chain();
        fragment.spec->top = {kMaxTopCount, {1, 0}, ValueOrder::Signed, 1, 1, {}};
        return fragment;
    };
    const std::vector<Spoiler> of_both = {
        [](FragmentSpec& s, Stages&) { s.top.count = kMaxTopCount + 1; },
        [](FragmentSpec& s, Stages&) { s.top.is_descending = 2; },
        [](FragmentSpec& s, Stages&) { s.top.nulls_first = 2; },
        [](FragmentSpec& s, Stages&) { s.top.order = static_cast<ValueOrder>(4); },
        [](FragmentSpec& s, Stages&) { s.top.key.column = 50; }};
    expect_refused(good_rows, of_both);
    expect_refused(good_rows, {[](FragmentSpec& s, Stages&) { s.top.key.origin = 2; },
                               [](FragmentSpec& s, Stages&) {
                                   s.top.key = {0, 1}, s.top.order = ValueOrder::Float;  // of a text
                               }});
    auto good_first_groups = [] {
        OwnedFragment fragment = good_groups();
        fragment.spec->completes_groups = 1;
        fragment.spec->top = {1, {50, 2}, ValueOrder::Signed, 0, 0, {}};
        return fragment;
    };
    expect_refused(good_first_groups, of_both);
    expect_refused(good_first_groups, {[](FragmentSpec& s, Stages&) { s.completes_groups = 0; }});
    // Of the first rows of a plain join's others do not come: it is none.
    OwnedFragment fragment = good_plain_join(JoinKind::Right);
    fragment.spec->top = {1, {kFromSource, 0}, ValueOrder::Signed, 0, 0, {}};
    EXPECT_FALSE(validate(fragment.view()).ok());
    fragment.stages[0].join.kind = JoinKind::Anti;
    EXPECT_TRUE(validate(fragment.view()).ok());
    EXPECT_FALSE(fragment.view().is_plain_join());
}

TEST(FragmentSpec, Columns) {
    OwnedFragment fragment = good_groups();
    ColumnSpec text = kText;
    EXPECT_TRUE(are_equal(column_of(fragment.view(), {kFromSource, 1}), kNumber));
    EXPECT_TRUE(are_equal(column_of(fragment.view(), {1, 1}), text));
    text.nullable = 1;
    EXPECT_TRUE(are_equal(column_of(fragment.view(), {0, 1}), text)) << "an outer join's";

    const ColumnSpec expected[] = {text,
                                   {ColumnType::Fixed8, ValueOrder::Signed, 0, 0},
                                   {ColumnType::Fixed16, ValueOrder::Signed, 1, 0},
                                   {ColumnType::Fixed8, ValueOrder::Float, 1, 0},
                                   {ColumnType::Fixed8, ValueOrder::Signed, 1, 0},
                                   text,
                                   {ColumnType::Fixed8, ValueOrder::Signed, 0, 0}};
    ASSERT_EQ(group_columns(*fragment.spec), std::size(expected));
    for (uint32_t i = 0; i < std::size(expected); i++)
        EXPECT_TRUE(are_equal(group_column(fragment.view(), i), expected[i])) << i;
}

TEST(FragmentSpec, KindsOfPrograms) {
    FilterProgram program;
    ProgramWriter(program).probe(FilterOpcode::Load, 0);
    EXPECT_EQ(kind_of(program), ValueKind::Integer);
    ProgramWriter(program).probe(FilterOpcode::Load, 0, FilterType::Float32);
    EXPECT_EQ(kind_of(program), ValueKind::Float);
    ProgramWriter(program).probe(FilterOpcode::Load, 0).step(FilterOpcode::ToFloat);
    EXPECT_EQ(kind_of(program), ValueKind::Float);
    ProgramWriter(program).probe(FilterOpcode::Load, 0).step(FilterOpcode::IsNull);
    EXPECT_EQ(kind_of(program), ValueKind::Truth);
    ProgramWriter(program)
        .probe(FilterOpcode::Load, 0, FilterType::Float64)
        .constant(FilterOpcode::Less, 1.0);
    EXPECT_EQ(kind_of(program), ValueKind::Truth);
}

// Whatever lies anywhere in a spec, validate() answers and reads nothing outside it (sanitizers see that).
TEST(FragmentSpec, AnyFieldMayHoldAnything) {
    OwnedFragment fragment = good_groups();
    auto spoil = [&](std::byte* bytes, size_t size) {
        for (size_t at = 0; at < size; at += 2)
            for (uint16_t value : {uint16_t{0xffff}, uint16_t{0x8000}, uint16_t{0x00ff}}) {
                uint16_t before;
                memcpy(&before, bytes + at, 2);
                memcpy(bytes + at, &value, 2);
                Status status = validate(fragment.view());
                memcpy(bytes + at, &before, 2);
                ASSERT_TRUE(status.ok() || status.fault == Fault::Protocol) << "at byte " << at;
            }
    };
    // Beyond the arrays' first elements nothing is in use.
    spoil(reinterpret_cast<std::byte*>(fragment.spec.get()), offsetof(FragmentSpec, source[16]));
    spoil(reinterpret_cast<std::byte*>(fragment.spec->input), 64);
    spoil(reinterpret_cast<std::byte*>(fragment.spec->key), 64);
    spoil(reinterpret_cast<std::byte*>(fragment.spec->value), 3 * sizeof(FilterProgram));
    spoil(reinterpret_cast<std::byte*>(fragment.spec->aggregate), 8 * sizeof(AggregateSpec));
    for (StageSpec& stage : fragment.stages) spoil(reinterpret_cast<std::byte*>(&stage), sizeof stage);
}

}  // namespace gpujoin::test
