// FilterMachine: every operation on values at their edges, NULLs and undecided values, for the numbers of
// lanes that the engines use, against arithmetic written in another way.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "engine/filter_machine.h"
#include "filter_programs.h"

namespace gpujoin::test {
namespace {

using Opcode = FilterOpcode;
using Type = FilterType;
using Word = std::optional<int64_t>;

// What became of a pair.
enum class Verdict { Failed, Passed, Undecided };

std::ostream& operator<<(std::ostream& out, Verdict verdict) {
    return out << (verdict == Verdict::Failed   ? "failed"
                   : verdict == Verdict::Passed ? "passed"
                                                : "undecided");
}

struct Pair {
    Word probe;
    Word build;
};

template <uint32_t kLanesOf, typename MaskOf, bool kOneRow>
struct TestPairs {
    static constexpr uint32_t kLanes = kLanesOf;
    static constexpr bool kOneProbeRow = kOneRow;
    using Mask = MaskOf;

    const Pair* pairs;

    int64_t probe_value(uint16_t) const { return pairs[0].probe.value_or(0); }
    bool probe_is_null(uint16_t) const { return !pairs[0].probe; }
    Mask fetch(FilterSource source, uint16_t, int64_t* values) const {
        Mask nulls = 0;
        for (uint32_t i = 0; i < kLanes; i++) {
            const Word& word = source == FilterSource::Probe ? pairs[i].probe : pairs[i].build;
            values[i] = word.value_or(0);
            nulls |= static_cast<Mask>(!word) << i;
        }
        return nulls;
    }
};

// Runs a program on pairs with so many lanes; with one probe row, on pairs that differ on the build side
// only.
template <typename Pairs>
std::vector<Verdict> run_lanes(const FilterProgram& program, std::vector<Pair> pairs) {
    size_t count = pairs.size();
    pairs.resize((count + Pairs::kLanes - 1) / Pairs::kLanes * Pairs::kLanes, pairs.back());
    std::vector<Verdict> verdicts;
    for (size_t i = 0; i < pairs.size(); i += Pairs::kLanes) {
        FilterMachine<Pairs> machine;
        auto outcome = machine.run(program, Pairs{&pairs[i]});
        for (uint32_t lane = 0; lane < Pairs::kLanes; lane++) {
            bool undecided = outcome.undecided >> lane & 1;
            bool passed = outcome.passed >> lane & 1;
            verdicts.push_back(undecided ? Verdict::Undecided : passed ? Verdict::Passed : Verdict::Failed);
        }
    }
    verdicts.resize(count);
    return verdicts;
}

// Every pair of probe and build words; the same outcome whatever the lanes.
std::vector<Verdict> run_all(const FilterProgram& program, const std::vector<Word>& words,
                             std::vector<Pair>* pairs) {
    std::vector<Verdict> verdicts, one_row;
    pairs->clear();
    for (const Word& probe : words) {
        std::vector<Pair> of_row;
        for (const Word& build : words) of_row.push_back({probe, build});
        auto row = run_lanes<TestPairs<16, uint32_t, true>>(program, of_row);
        one_row.insert(one_row.end(), row.begin(), row.end());
        pairs->insert(pairs->end(), of_row.begin(), of_row.end());
    }
    verdicts = run_lanes<TestPairs<64, uint64_t, false>>(program, *pairs);
    EXPECT_EQ(verdicts, one_row);
    EXPECT_EQ(verdicts, (run_lanes<TestPairs<1, uint32_t, false>>(program, *pairs)));
    return verdicts;
}

void check(const JoinSpec& spec) {
    Status status = validate(spec);
    ASSERT_TRUE(status.ok()) << status.detail;
}

JoinSpec spec_of(const ColumnSpec& column) {
    JoinSpec spec{};
    spec.probe_columns = spec.build_columns = 1;
    spec.probe[0] = spec.build[0] = column;
    return spec;
}

struct IntegerType {
    Type type;
    int64_t low, high;
};
constexpr IntegerType kIntegerTypes[] = {
    {Type::Int16, INT16_MIN, INT16_MAX},
    {Type::Int32, INT32_MIN, INT32_MAX},
    {Type::Int64, INT64_MIN, INT64_MAX},
    {Type::Date, -2451545, 2145031948},
    {Type::Timestamp, -211813488000000000, 9223371331199999999},
};

// Values of a type that tests start from, and NULL.
std::vector<Word> integer_words(const IntegerType& type) {
    std::vector<Word> words{
        std::nullopt, type.low,      type.low + 1,  type.low / 2, -46341, -3, -1, 0, 1, 2, 7,
        46341,        type.high / 2, type.high - 1, type.high};
    std::erase_if(words, [&](const Word& word) { return word && (*word < type.low || *word > type.high); });
    return words;
}

// nullopt: an error.
std::optional<__int128> integer_result(Opcode opcode, __int128 a, __int128 b) {
    switch (opcode) {
        case Opcode::Add:
            return a + b;
        case Opcode::Subtract:
            return a - b;
        case Opcode::Multiply:
            return a * b;
        case Opcode::Divide:
            return b == 0 ? std::nullopt : std::optional(a / b);
        default:
            return b == 0 ? std::nullopt : std::optional(a % b);
    }
}

// (probe <opcode> build) = the expected value, by way of the stack and without.
TEST(FilterMachine, IntegerArithmetic) {
    for (const IntegerType& type : kIntegerTypes) {
        for (Opcode opcode :
             {Opcode::Add, Opcode::Subtract, Opcode::Multiply, Opcode::Divide, Opcode::Modulo}) {
            for (bool on_stack : {false, true}) {
                JoinSpec spec = spec_of({ColumnType::Fixed8, ValueOrder::Signed, 1, 0});
                ProgramWriter writer(spec.program);
                writer.probe(Opcode::Load, 0);
                if (on_stack) {
                    writer.step(Opcode::Push).build(Opcode::Load, 0).step(opcode, type.type);
                } else {
                    writer.build(opcode, 0, type.type);
                }
                writer.constant(Opcode::LessEqual, int64_t{5});
                check(spec);
                std::vector<Pair> pairs;
                auto verdicts = run_all(spec.program, integer_words(type), &pairs);
                for (size_t i = 0; i < pairs.size(); i++) {
                    Verdict expected = Verdict::Failed;
                    if (pairs[i].probe && pairs[i].build) {
                        auto result = integer_result(opcode, *pairs[i].probe, *pairs[i].build);
                        bool fails = !result || *result < type.low || *result > type.high;
                        expected = fails          ? Verdict::Undecided
                                   : *result <= 5 ? Verdict::Passed
                                                  : Verdict::Failed;
                    }
                    EXPECT_EQ(expected, verdicts[i])
                        << "opcode " << int(opcode) << ", type " << int(type.type) << ", "
                        << pairs[i].probe.value_or(-99) << ", " << pairs[i].build.value_or(-99);
                }
            }
        }
    }
}

// The exact value, and not only its order.
TEST(FilterMachine, IntegerResultsAreExact) {
    for (Opcode opcode : {Opcode::Add, Opcode::Subtract, Opcode::Multiply, Opcode::Divide, Opcode::Modulo}) {
        for (int64_t a : {-100, -7, 0, 7, 123}) {
            for (int64_t b : {-9, -1, 2, 50}) {
                JoinSpec spec = spec_of({ColumnType::Fixed8, ValueOrder::Signed, 1, 0});
                auto expected = static_cast<int64_t>(*integer_result(opcode, a, b));
                ProgramWriter(spec.program)
                    .probe(Opcode::Load, 0)
                    .build(opcode, 0, Type::Int32)
                    .constant(Opcode::Equal, expected);
                EXPECT_EQ(Verdict::Passed,
                          (run_lanes<TestPairs<16, uint32_t, true>>(spec.program, {{a, b}})[0]));
            }
        }
    }
}

TEST(FilterMachine, SignsAndChecksOfIntegers) {
    for (const IntegerType& type : kIntegerTypes) {
        for (Opcode opcode : {Opcode::Negate, Opcode::Absolute, Opcode::Check}) {
            JoinSpec spec = spec_of({ColumnType::Fixed8, ValueOrder::Signed, 1, 0});
            ProgramWriter(spec.program)
                .probe(Opcode::Load, 0)
                .step(opcode, type.type)
                .constant(Opcode::GreaterEqual, int64_t{1});
            check(spec);
            std::vector<Word> words = integer_words(type);
            for (const Word& beyond : {Word(INT64_MIN), Word(INT64_MAX), Word(int64_t{INT32_MAX})})
                words.push_back(beyond);
            std::vector<Pair> pairs;
            auto verdicts = run_all(spec.program, words, &pairs);
            for (size_t i = 0; i < pairs.size(); i++) {
                Verdict expected = Verdict::Failed;
                if (pairs[i].probe) {
                    __int128 result = *pairs[i].probe;
                    if (opcode == Opcode::Negate || (opcode == Opcode::Absolute && result < 0))
                        result = -result;
                    bool fails = result < type.low || result > type.high;
                    expected = fails ? Verdict::Undecided : result >= 1 ? Verdict::Passed : Verdict::Failed;
                }
                EXPECT_EQ(expected, verdicts[i]) << "opcode " << int(opcode) << ", type " << int(type.type)
                                                 << ", " << pairs[i].probe.value_or(-99);
            }
        }
    }
}

template <typename Float>
std::vector<Word> float_words() {
    using Limits = std::numeric_limits<Float>;
    std::vector<Word> words{std::nullopt};
    for (Float number : {Limits::lowest(), Float(-2), Float(-0.5), Float(-0.0), Float(0),
                         Limits::denorm_min(), Limits::min(), Float(1), Float(3), Limits::max() / 2,
                         Limits::max(), Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()})
        words.emplace_back(std::bit_cast<int64_t>(static_cast<double>(number)));
    return words;
}

double number_of(const Word& word) {
    return std::bit_cast<double>(word.value_or(0));
}

// The sums of PostgreSQL's float.h.
template <typename Float>
Verdict expected_float(Opcode opcode, Float a, Float b, double limit) {
    Float result = opcode == Opcode::Add        ? a + b
                   : opcode == Opcode::Subtract ? a - b
                   : opcode == Opcode::Multiply ? a * b
                                                : a / b;
    bool fails;
    if (opcode == Opcode::Divide) {
        fails = (b == 0 && !std::isnan(a)) || (std::isinf(result) && !std::isinf(a)) ||
                (result == 0 && a != 0 && !std::isinf(b));
    } else {
        fails = std::isinf(result) && !std::isinf(a) && !std::isinf(b);
        if (opcode == Opcode::Multiply) fails |= result == 0 && a != 0 && b != 0;
    }
    if (fails) return Verdict::Undecided;
    return !std::isnan(result) && result <= limit ? Verdict::Passed : Verdict::Failed;
}

template <typename Float>
void test_float_arithmetic(Type type) {
    for (Opcode opcode : {Opcode::Add, Opcode::Subtract, Opcode::Multiply, Opcode::Divide}) {
        JoinSpec spec =
            spec_of({sizeof(Float) == 4 ? ColumnType::Fixed4 : ColumnType::Fixed8, ValueOrder::Float, 1, 0});
        ProgramWriter(spec.program)
            .probe(Opcode::Load, 0, Type::Float64)
            .build(opcode, 0, type)
            .constant(Opcode::LessEqual, 2.5);
        check(spec);
        std::vector<Pair> pairs;
        auto verdicts = run_all(spec.program, float_words<Float>(), &pairs);
        for (size_t i = 0; i < pairs.size(); i++) {
            auto [a, b] = pairs[i];
            Verdict expected = a && b ? expected_float(opcode, static_cast<Float>(number_of(a)),
                                                       static_cast<Float>(number_of(b)), 2.5)
                                      : Verdict::Failed;
            EXPECT_EQ(expected, verdicts[i])
                << "opcode " << int(opcode) << ": " << number_of(a) << ", " << number_of(b);
        }
    }
}

TEST(FilterMachine, FloatArithmetic) {
    test_float_arithmetic<float>(Type::Float32);
    test_float_arithmetic<double>(Type::Float64);
}

TEST(FilterMachine, SinglePrecisionIsRounded) {
    JoinSpec spec = spec_of({ColumnType::Fixed4, ValueOrder::Float, 1, 0});
    double third = static_cast<double>(1.0f / 3.0f);
    ProgramWriter(spec.program)
        .probe(Opcode::Load, 0, Type::Float64)
        .build(Opcode::Divide, 0, Type::Float32)
        .constant(Opcode::Equal, third);
    Pair pair{std::bit_cast<int64_t>(1.0), std::bit_cast<int64_t>(3.0)};
    EXPECT_EQ(Verdict::Passed, (run_lanes<TestPairs<1, uint32_t, false>>(spec.program, {pair})[0]));
}

int order_of(double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return int(std::isnan(a)) - int(std::isnan(b));
    return a < b ? -1 : a > b;
}

bool holds(Opcode opcode, int order) {
    switch (opcode) {
        case Opcode::Equal:
            return order == 0;
        case Opcode::NotEqual:
            return order != 0;
        case Opcode::Less:
            return order < 0;
        case Opcode::LessEqual:
            return order <= 0;
        case Opcode::Greater:
            return order > 0;
        default:
            return order >= 0;
    }
}

TEST(FilterMachine, Comparisons) {
    for (bool floats : {false, true}) {
        Type type = floats ? Type::Float64 : Type::Int64;
        std::vector<Word> words = floats ? float_words<double>() : integer_words(kIntegerTypes[2]);
        for (Opcode opcode : {Opcode::Equal, Opcode::NotEqual, Opcode::Less, Opcode::LessEqual,
                              Opcode::Greater, Opcode::GreaterEqual}) {
            JoinSpec spec =
                spec_of({ColumnType::Fixed8, floats ? ValueOrder::Float : ValueOrder::Signed, 1, 0});
            ProgramWriter(spec.program).probe(Opcode::Load, 0, type).build(opcode, 0, type);
            check(spec);
            std::vector<Pair> pairs;
            auto verdicts = run_all(spec.program, words, &pairs);
            for (size_t i = 0; i < pairs.size(); i++) {
                auto [a, b] = pairs[i];
                int order = floats ? order_of(number_of(a), number_of(b)) : (a > b) - (a < b);
                bool passes = a && b && holds(opcode, order);
                EXPECT_EQ(passes ? Verdict::Passed : Verdict::Failed, verdicts[i])
                    << "opcode " << int(opcode) << ": " << a.value_or(-99) << ", " << b.value_or(-99);
            }
        }
    }
}

TEST(FilterMachine, IntegersBecomeFloats) {
    JoinSpec spec = spec_of({ColumnType::Fixed8, ValueOrder::Signed, 1, 0});
    ProgramWriter(spec.program)
        .probe(Opcode::Load, 0)
        .step(Opcode::ToFloat, Type::Float64)
        .constant(Opcode::Equal, 0x1p53);
    check(spec);
    std::vector<Pair> pairs{
        {int64_t{1} << 53, 0}, {(int64_t{1} << 53) + 1, 0}, {(int64_t{1} << 53) - 1, 0}, {std::nullopt, 0}};
    std::vector<Verdict> expected{Verdict::Passed, Verdict::Passed, Verdict::Failed, Verdict::Failed};
    EXPECT_EQ(expected, (run_lanes<TestPairs<64, uint64_t, false>>(spec.program, pairs)));
}

// A truth value of each sort: 1 / (2 - x) = 1 is false for 0, true for 1, undecided for 2, unknown for NULL.
void add_truth(ProgramWriter& writer, FilterSource source) {
    writer.constant(Opcode::Load, int64_t{1})
        .step(Opcode::Push)
        .constant(Opcode::Load, int64_t{2})
        .step(Opcode::Subtract, Type::Int64, source, 0)
        .step(Opcode::Divide, Type::Int64)
        .constant(Opcode::Equal, int64_t{1});
}

// PostgreSQL's: operands from left to right until the outcome is certain. -1: unknown, 2: an error.
int truth_of(const Word& word) {
    return word ? static_cast<int>(*word) : -1;
}
int and_of(int a, int b) {
    if (a == 0 || a == 2) return a;
    if (b == 0 || b == 2) return b;
    return a == 1 && b == 1 ? 1 : -1;
}
int negated(int a) {
    return a == 0 || a == 1 ? 1 - a : a;
}

Verdict verdict_of(int truth) {
    return truth == 2 ? Verdict::Undecided : truth == 1 ? Verdict::Passed : Verdict::Failed;
}

TEST(FilterMachine, ThreeValuedLogic) {
    const std::vector<Word> words{std::nullopt, 0, 1, 2};
    for (Opcode opcode : {Opcode::And, Opcode::Or}) {
        for (Opcode after : {Opcode::Push, Opcode::Not, Opcode::IsNull, Opcode::IsTrue}) {
            JoinSpec spec = spec_of({ColumnType::Fixed8, ValueOrder::Signed, 1, 0});
            ProgramWriter writer(spec.program);
            add_truth(writer, FilterSource::Probe);
            writer.step(Opcode::Push);
            add_truth(writer, FilterSource::Build);
            writer.step(opcode);
            if (after != Opcode::Push) writer.step(after);
            if (after == Opcode::IsTrue) writer.step(Opcode::Not);  // else it would change nothing to be seen
            check(spec);
            std::vector<Pair> pairs;
            auto verdicts = run_all(spec.program, words, &pairs);
            for (size_t i = 0; i < pairs.size(); i++) {
                int a = truth_of(pairs[i].probe), b = truth_of(pairs[i].build);
                int truth = opcode == Opcode::And ? and_of(a, b) : negated(and_of(negated(a), negated(b)));
                if (truth != 2 && after == Opcode::Not) truth = negated(truth);
                if (truth != 2 && after == Opcode::IsNull) truth = truth == -1;
                if (truth != 2 && after == Opcode::IsTrue) truth = truth != 1;
                EXPECT_EQ(verdict_of(truth), verdicts[i])
                    << (opcode == Opcode::And ? "and" : "or") << ", then " << int(after) << ": " << a << ", "
                    << b;
            }
        }
    }
}

// (a + 1) * (a - b) > b - a OR a IS NULL: numbers and truth values on the stack at once.
TEST(FilterMachine, Stack) {
    JoinSpec spec = spec_of({ColumnType::Fixed8, ValueOrder::Signed, 1, 0});
    ProgramWriter(spec.program)
        .probe(Opcode::Load, 0)
        .step(Opcode::IsNull)
        .step(Opcode::Push)
        .probe(Opcode::Load, 0)
        .constant(Opcode::Add, int64_t{1})
        .step(Opcode::Push)
        .probe(Opcode::Load, 0)
        .build(Opcode::Subtract, 0)
        .step(Opcode::Multiply)
        .step(Opcode::Push)
        .build(Opcode::Load, 0)
        .probe(Opcode::Subtract, 0)
        .step(Opcode::Greater)
        .step(Opcode::Or);
    check(spec);
    std::vector<Word> words{std::nullopt, -5, -1, 0, 1, 9};
    std::vector<Pair> pairs;
    auto verdicts = run_all(spec.program, words, &pairs);
    for (size_t i = 0; i < pairs.size(); i++) {
        auto [a, b] = pairs[i];
        bool passes = !a || (b && (*a + 1) * (*a - *b) > *b - *a);
        EXPECT_EQ(passes ? Verdict::Passed : Verdict::Failed, verdicts[i]);
    }
}

TEST(FilterProgram, MalformedOnesAreRefused) {
    auto good = [] {
        JoinSpec spec = spec_of({ColumnType::Fixed8, ValueOrder::Signed, 1, 0});
        ProgramWriter(spec.program)
            .probe(Opcode::Load, 0)
            .build(Opcode::Add, 0)
            .constant(Opcode::Less, int64_t{7});
        return spec;
    };
    EXPECT_TRUE(validate(good()).ok());
    const std::function<void(JoinSpec&)> spoilers[] = {
        [](JoinSpec& s) { s.program.steps = kMaxFilterSteps + 1; },
        [](JoinSpec& s) { s.program.constants = kMaxFilterConstants + 1; },
        [](JoinSpec& s) { s.program.constants = 0; },
        [](JoinSpec& s) { s.program.steps = 2; },  // ends with a number
        [](JoinSpec& s) { s.program.step[3] = s.program.step[2], s.program.steps = 4; },
        [](JoinSpec& s) { s.program.step[3].opcode = Opcode::Push, s.program.steps = 4; },
        [](JoinSpec& s) { s.program.step[0].opcode = static_cast<Opcode>(99); },
        [](JoinSpec& s) { s.program.step[1].type = static_cast<Type>(99); },
        [](JoinSpec& s) { s.program.step[1].source = static_cast<FilterSource>(99); },
        [](JoinSpec& s) { s.program.step[0].operand = 1; },
        [](JoinSpec& s) { s.program.step[1].operand = 1; },
        [](JoinSpec& s) { s.program.step[0].source = FilterSource::Stack; },
        [](JoinSpec& s) { s.program.step[1].source = FilterSource::Stack; },
        [](JoinSpec& s) { s.program.step[1].type = Type::Float64; },
        [](JoinSpec& s) { s.program.step[1].opcode = Opcode::Load; },
        [](JoinSpec& s) { s.program.step[1].opcode = Opcode::Push; },
        [](JoinSpec& s) { s.program.step[1].opcode = Opcode::Not; },
        [](JoinSpec& s) { s.program.step[1].opcode = Opcode::And; },
        [](JoinSpec& s) { s.program.step[1] = {Opcode::ToFloat, Type::Int64, {}, 0, 0, 0}; },
        [](JoinSpec& s) { s.build[0].order = ValueOrder::Float; },
        [](JoinSpec& s) { s.build[0].order = ValueOrder::Unsigned; },  // 8 bytes are too wide
        [](JoinSpec& s) { s.build[0].order = ValueOrder::Bytes; },
        [](JoinSpec& s) { s.build[0].type = ColumnType::Fixed16; },
        [](JoinSpec& s) { s.kind = JoinKind::Left; },  // pairs may be undecided
        [](JoinSpec& s) {
            for (uint16_t i = 0; i < 12; i++) s.program.step[i].opcode = i % 2 ? Opcode::Push : Opcode::Load;
            s.program.steps = 12;
        },
    };
    for (size_t i = 0; i < std::size(spoilers); i++) {
        JoinSpec spec = good();
        spoilers[i](spec);
        EXPECT_EQ(validate(spec).fault, Fault::Protocol) << "spoiler " << i;
    }
    JoinSpec decided = good();
    decided.kind = JoinKind::Left;
    decided.client_decides = decided.names_probe_rows = 1;
    EXPECT_TRUE(validate(decided).ok());
}

}  // namespace
}  // namespace gpujoin::test
