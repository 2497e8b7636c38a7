// validate(JoinSpec): every field that could lead an engine astray is refused.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "wire/join_spec.h"

namespace gpujoin::test {

namespace {

JoinSpec good_spec() {
    JoinSpec spec{};
    spec.probe_columns = 2;
    spec.build_columns = 3;
    spec.equalities = spec.ranges = spec.filters = spec.outputs = 1;
    spec.probe[0] = spec.build[1] = ColumnSpec{ColumnType::Fixed8, ValueOrder::Signed, 1, 0};
    spec.probe[1] = spec.build[2] = ColumnSpec{ColumnType::Bytes, ValueOrder::Bytes, 0, 0};
    spec.equality[0] = Term{1, 2, Comparison::Equal, {}};
    spec.range[0] = Term{0, 1, Comparison::LessEqual, {}};
    spec.filter[0] = Term{0, 1, Comparison::NotEqual, {}};
    spec.output[0] = 2;
    return spec;
}

}  // namespace

TEST(JoinSpec, GoodOnesPass) {
    EXPECT_TRUE(validate(good_spec()).ok()) << validate(good_spec()).detail;
    JoinSpec empty{};  // a cross join of nothing
    EXPECT_TRUE(validate(empty).ok());
    JoinSpec carrying = good_spec();
    carrying.carried = 1;
    for (uint8_t named : {0, 1}) {
        carrying.names_probe_rows = named;
        for (ResultOrder order : {ResultOrder::Ascending, ResultOrder::Grouped, ResultOrder::Any}) {
            carrying.order = order;
            EXPECT_TRUE(validate(carrying).ok());
        }
    }
    JoinSpec deciding = good_spec();
    deciding.client_decides = deciding.names_probe_rows = 1;
    EXPECT_TRUE(validate(deciding).ok());
    deciding.order = ResultOrder::Grouped;
    EXPECT_TRUE(validate(deciding).ok());
}

TEST(JoinSpec, SpoiledOnesAreRefused) {
    const std::function<void(JoinSpec&)> spoilers[] = {
        [](JoinSpec& s) { s.kind = static_cast<JoinKind>(8); },
        [](JoinSpec& s) { s.algorithm = static_cast<Algorithm>(5); },
        [](JoinSpec& s) { s.order = static_cast<ResultOrder>(3); },
        [](JoinSpec& s) { s.names_probe_rows = 2; },
        [](JoinSpec& s) { s.client_decides = 1; },  // of rows without a name
        [](JoinSpec& s) { s.client_decides = s.names_probe_rows = 1, s.order = ResultOrder::Any; },
        [](JoinSpec& s) { s.names_probe_rows = 1, s.client_decides = 2; },
        [](JoinSpec& s) { s.probe_columns = kMaxColumns + 1; },
        [](JoinSpec& s) { s.build_columns = 65535; },
        [](JoinSpec& s) { s.equalities = kMaxTerms + 1; },
        [](JoinSpec& s) { s.ranges = kMaxTerms + 1; },
        [](JoinSpec& s) { s.filters = kMaxTerms + 1; },
        [](JoinSpec& s) { s.outputs = kMaxColumns + 1; },
        [](JoinSpec& s) { s.carried = kMaxColumns + 1; },
        [](JoinSpec& s) { s.carried = s.outputs = 1000; },
        [](JoinSpec& s) { s.carried = 1, s.carry[0] = 2; },
        [](JoinSpec& s) { s.output[0] = 3; },
        [](JoinSpec& s) { s.equality[0].comparison = Comparison::Less; },
        [](JoinSpec& s) { s.range[0].comparison = Comparison::NotEqual; },
        [](JoinSpec& s) { s.range[0].comparison = Comparison::Equal; },
        [](JoinSpec& s) { s.filter[0].comparison = Comparison::Equal; },
        [](JoinSpec& s) { s.filter[0].comparison = static_cast<Comparison>(6); },
        [](JoinSpec& s) { s.range[0].probe_column = 2; },
        [](JoinSpec& s) { s.range[0].build_column = 3; },
        [](JoinSpec& s) { s.range[0].build_column = 2; },  // of another type
        [](JoinSpec& s) { s.build[1].order = ValueOrder::Unsigned; },
        [](JoinSpec& s) { s.build[0].type = static_cast<ColumnType>(6); },
        [](JoinSpec& s) { s.build[0].order = static_cast<ValueOrder>(4); },
        [](JoinSpec& s) { s.build[0].nullable = 2; },
        [](JoinSpec& s) {
            s.build[0] = {ColumnType::Fixed2, ValueOrder::Float, 0, 0};
        },
        [](JoinSpec& s) {
            s.build[0] = {ColumnType::Bytes, ValueOrder::Float, 0, 0};
        },
        [](JoinSpec& s) {
            s.probe[0] = s.build[1] = {ColumnType::Bytes, ValueOrder::Signed, 0, 0};
        },
    };
    for (size_t i = 0; i < std::size(spoilers); i++) {
        JoinSpec spec = good_spec();
        spoilers[i](spec);
        Status status = validate(spec);
        EXPECT_EQ(status.fault, Fault::Protocol) << "spoiler " << i;
        EXPECT_STREQ(status.sqlstate, "08P01") << "spoiler " << i;
    }
}

// The steps are counted before any of them is looked at: a join that is not inner asks whether pairs may be
// undecided, which reads them all.
TEST(JoinSpec, FilterProgramsThatAreTooLongAreNotRead) {
    JoinSpec spec = good_spec();
    spec.kind = JoinKind::Left;
    spec.program.steps = 65535;
    Status status = validate(spec);
    EXPECT_EQ(status.fault, Fault::Protocol);
    EXPECT_TRUE(strstr(status.detail, "65535 steps")) << status.detail;
}

// Whatever lies anywhere in a spec, validate() answers and reads nothing outside it (sanitizers see that).
TEST(JoinSpec, AnyFieldMayHoldAnything) {
    JoinSpec spec = good_spec();
    auto* bytes = reinterpret_cast<std::byte*>(&spec);
    for (JoinKind kind : {JoinKind::Inner, JoinKind::Left, JoinKind::RightAnti}) {
        spec.kind = kind;
        for (size_t at = 0; at < sizeof(spec); at += 2)
            for (uint16_t value : {uint16_t{0xffff}, uint16_t{0x8000}, uint16_t{0x00ff}}) {
                uint16_t before;
                memcpy(&before, bytes + at, 2);
                memcpy(bytes + at, &value, 2);
                Status status = validate(spec);
                memcpy(bytes + at, &before, 2);
                ASSERT_TRUE(status.ok() || status.fault == Fault::Protocol) << "at byte " << at;
            }
    }
}

TEST(JoinSpec, NamesAreWhatExplainShows) {
    EXPECT_STREQ(name_of(Algorithm::SortMerge), "sort_merge");
    EXPECT_STREQ(name_of(Algorithm::NestedLoop), "nested_loop");
    EXPECT_STREQ(name_of(JoinKind::Left), "Left");
    EXPECT_STREQ(name_of(static_cast<Algorithm>(99)), "unknown");
}

}  // namespace gpujoin::test
