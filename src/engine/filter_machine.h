// FilterMachine: runs a filter program (wire/filter_program.h) for several pairs at once, a step at a time,
// so that looking at a step is shared by all of them. The same code runs on processors, where the loops over
// lanes become vector instructions, and in the threads of a GPU, where the lanes are registers. Truth values
// are bit masks with a bit a lane.
//
// What a program is run for may also be single rows, which are the probe side of pairs.
//
// Pairs, the pairs that the lanes stand for, has:
//   kLanes, Mask           how many, and an unsigned integer of that many bits at least
//   kOneProbeRow           whether all lanes have the same probe row; then
//     probe_value(column), probe_is_null(column)
//   fetch(source, column, values)   fills values[kLanes] from one side; returns the mask of NULLs
#pragma once

#include <cstdint>

#include "engine/filter_values.h"
#include "engine/host_device.h"
#include "wire/filter_program.h"

namespace gpujoin {

template <typename Pairs>
class FilterMachine {
  public:
    static constexpr uint32_t kLanes = Pairs::kLanes;
    using Mask = typename Pairs::Mask;

    // Bits of lanes that stand for no pair are arbitrary.
    struct Outcome {
        Mask passed;  // true or undecided
        Mask undecided;
    };

    // What programs end with that give numbers, or truth values. Lanes that are undecided may be NULL, too.
    struct Numbers {
        int64_t value[kLanes];
        Mask null;
        Mask undecided;
    };
    struct Truths {
        Mask truth;
        Mask null;
        Mask undecided;
    };

    GPUJOIN_HD GPUJOIN_INLINE Outcome run(const FilterProgram& program, const Pairs& pairs) {
        execute(program, pairs);
        return {truth_ | undecided_, undecided_};
    }

    GPUJOIN_HD GPUJOIN_INLINE Truths run_for_truth(const FilterProgram& program, const Pairs& pairs) {
        execute(program, pairs);
        return {truth_, null_, undecided_};
    }

    // To may be more than Numbers.
    template <typename To>
    GPUJOIN_HD GPUJOIN_INLINE void run_for_number(const FilterProgram& program, const Pairs& pairs,
                                                  To* numbers) {
        execute(program, pairs);
        save(*numbers);
    }

  private:
    // Apart from the accumulator: what lies in one object with arrays that are indexed by a variable is not
    // kept in registers.
    struct Stack {
        Numbers numbers[kMaxFilterNumbers];
        Truths truths[kMaxFilterTruths];
        uint32_t number_count = 0;
        uint32_t truth_count = 0;
    };

    // An operand that all lanes share.
    struct Shared {
        int64_t value;
        GPUJOIN_HD GPUJOIN_INLINE int64_t operator[](Mask) const { return value; }
    };

    GPUJOIN_HD GPUJOIN_INLINE void execute(const FilterProgram& program, const Pairs& pairs) {
        Stack stack;
        for (uint32_t i = 0; i < program.steps; i++) execute(program, program.step[i], pairs, stack);
    }

    GPUJOIN_HD GPUJOIN_INLINE void execute(const FilterProgram& program, const FilterStep& step,
                                           const Pairs& pairs, Stack& stack) {
        switch (step.opcode) {
            case FilterOpcode::Push:
                return push(stack);
            case FilterOpcode::Load:
                return load(program, step, pairs);
            case FilterOpcode::Check:
            case FilterOpcode::Negate:
            case FilterOpcode::Absolute:
            case FilterOpcode::ToFloat:
                return change(step);
            case FilterOpcode::IsNull:
                truth_ = null_ & ~undecided_;
                null_ = 0;
                is_truth_ = true;
                return;
            case FilterOpcode::IsTrue:
                null_ = 0;
                return;
            case FilterOpcode::Not:
                truth_ = ~(truth_ | null_ | undecided_);
                return;
            case FilterOpcode::Choose:
                return choose(stack);
            case FilterOpcode::And:
            case FilterOpcode::Or:
                return connect(step.opcode == FilterOpcode::And, stack);
            default:
                return combine(program, step, pairs, stack);
        }
    }

    GPUJOIN_HD GPUJOIN_INLINE void push(Stack& stack) {
        if (is_truth_) {
            stack.truths[stack.truth_count++] = {truth_, null_, undecided_};
            return;
        }
        save(stack.numbers[stack.number_count++]);
    }

    template <typename To>
    GPUJOIN_HD GPUJOIN_INLINE void save(To& numbers) const {
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kLanes; i++) numbers.value[i] = value_[i];
        numbers.null = null_;
        numbers.undecided = undecided_;
    }

    GPUJOIN_HD GPUJOIN_INLINE void load(const FilterProgram& program, const FilterStep& step,
                                        const Pairs& pairs) {
        is_truth_ = false;
        undecided_ = 0;
        if (is_shared(step.source)) {
            const Shared operand = shared(program, step, pairs, &null_);
            GPUJOIN_UNROLL
            for (uint32_t i = 0; i < kLanes; i++) value_[i] = operand.value;
        } else {
            null_ = pairs.fetch(step.source, step.operand, value_);
        }
    }

    // Kleene's logic, but that an undecided left operand counts before the right one, and a left one that
    // settles it before an undecided right one.
    GPUJOIN_HD GPUJOIN_INLINE void connect(bool is_and, Stack& stack) {
        const Truths left = stack.truths[--stack.truth_count];
        const Mask left_false = ~(left.truth | left.null | left.undecided);
        const Mask right_false = ~(truth_ | null_ | undecided_);
        if (is_and) {
            undecided_ = left.undecided | (undecided_ & ~left_false);
            truth_ = left.truth & truth_;
            null_ = ~(undecided_ | truth_ | left_false | right_false);
        } else {
            undecided_ = left.undecided | (undecided_ & ~left.truth);
            truth_ = (left.truth | truth_) & ~undecided_;
            null_ = ~(undecided_ | truth_ | (left_false & right_false));
        }
    }

    GPUJOIN_HD GPUJOIN_INLINE void choose(Stack& stack) {
        const Numbers& other = stack.numbers[--stack.number_count];
        const Truths condition = stack.truths[--stack.truth_count];
        GPUJOIN_UNROLL
        for (uint32_t i = 0; i < kLanes; i++)
            if (condition.truth >> i & 1) value_[i] = other.value[i];
        null_ = (condition.truth & other.null) | (~condition.truth & null_);
        undecided_ =
            condition.undecided | (condition.truth & other.undecided) | (~condition.truth & undecided_);
    }

    GPUJOIN_HD GPUJOIN_INLINE void change(const FilterStep& step) {
        if (is_float(step.type)) {
            change_sign_of_floats(step.opcode);
            return;
        }
        const IntegerBounds bounds = integer_bounds(step.type);
        switch (step.opcode) {
            case FilterOpcode::Negate:
                return assign([&](Mask i, bool* fails) { return negate_integer(value_[i], bounds, fails); });
            case FilterOpcode::Absolute:
                return assign(
                    [&](Mask i, bool* fails) { return absolute_integer(value_[i], bounds, fails); });
            default:
                return assign([&](Mask i, bool* fails) { return check_integer(value_[i], bounds, fails); });
        }
    }

    GPUJOIN_HD GPUJOIN_INLINE void change_sign_of_floats(FilterOpcode opcode) {
        constexpr int64_t kSign = std::numeric_limits<int64_t>::min();
        if (opcode == FilterOpcode::ToFloat) {
            GPUJOIN_UNROLL
            for (uint32_t i = 0; i < kLanes; i++) value_[i] = as_bits(static_cast<double>(value_[i]));
        } else if (opcode == FilterOpcode::Negate) {
            GPUJOIN_UNROLL
            for (uint32_t i = 0; i < kLanes; i++) value_[i] ^= kSign;
        } else {
            GPUJOIN_UNROLL
            for (uint32_t i = 0; i < kLanes; i++) value_[i] &= ~kSign;
        }
    }

    GPUJOIN_HD static GPUJOIN_INLINE bool is_shared(FilterSource source) {
        return source == FilterSource::Constant || (Pairs::kOneProbeRow && source == FilterSource::Probe);
    }

    GPUJOIN_HD static GPUJOIN_INLINE Shared shared(const FilterProgram& program, const FilterStep& step,
                                                   const Pairs& pairs, Mask* null) {
        *null = 0;
        if constexpr (Pairs::kOneProbeRow) {
            if (step.source == FilterSource::Probe) {
                if (pairs.probe_is_null(step.operand)) *null = ~Mask{0};
                return {pairs.probe_value(step.operand)};
            }
        }
        return {static_cast<int64_t>(program.constant[step.operand])};
    }

    GPUJOIN_HD GPUJOIN_INLINE void combine(const FilterProgram& program, const FilterStep& step,
                                           const Pairs& pairs, Stack& stack) {
        if (step.source == FilterSource::Stack) {
            const Numbers& left = stack.numbers[--stack.number_count];
            null_ |= left.null;
            undecided_ |= left.undecided;
            combine(step, left.value, value_);
        } else if (is_shared(step.source)) {
            Mask null;
            const Shared right = shared(program, step, pairs, &null);
            null_ |= null;
            combine(step, value_, right);
        } else {
            int64_t right[kLanes];
            null_ |= pairs.fetch(step.source, step.operand, right);
            combine(step, value_, right);
        }
    }

    // NULLs and undecided lanes of both operands are in the accumulator's masks by now.
    template <typename Left, typename Right>
    GPUJOIN_HD GPUJOIN_INLINE void combine(const FilterStep& step, const Left& left, const Right& right) {
        if (is_comparison(step.opcode)) {
            compare(step, left, right);
        } else if (step.type == FilterType::Float64) {
            calculate<double>(step.opcode, left, right);
        } else if (step.type == FilterType::Float32) {
            calculate<float>(step.opcode, left, right);
        } else {
            calculate_integers(step, left, right);
        }
    }

    template <typename Left, typename Right>
    GPUJOIN_HD GPUJOIN_INLINE void calculate_integers(const FilterStep& step, const Left& left,
                                                      const Right& right) {
        const IntegerBounds bounds = integer_bounds(step.type);
        switch (step.opcode) {
            case FilterOpcode::Add:
                return assign(
                    [&](Mask i, bool* fails) { return add_integers(left[i], right[i], bounds, fails); });
            case FilterOpcode::Subtract:
                return assign(
                    [&](Mask i, bool* fails) { return subtract_integers(left[i], right[i], bounds, fails); });
            case FilterOpcode::Multiply:
                return assign(
                    [&](Mask i, bool* fails) { return multiply_integers(left[i], right[i], bounds, fails); });
            case FilterOpcode::Divide:
                return assign(
                    [&](Mask i, bool* fails) { return divide_integers(left[i], right[i], bounds, fails); });
            default:
                return assign(
                    [&](Mask i, bool* fails) { return remainder_of_integers(left[i], right[i], fails); });
        }
    }

    template <typename Float, typename Left, typename Right>
    GPUJOIN_HD GPUJOIN_INLINE void calculate(FilterOpcode opcode, const Left& left, const Right& right) {
        auto number = [](int64_t bits) { return static_cast<Float>(as_double(bits)); };
        switch (opcode) {
            case FilterOpcode::Add:
                return assign([&](Mask i, bool* fails) {
                    return add_floats(number(left[i]), number(right[i]), fails);
                });
            case FilterOpcode::Subtract:
                return assign([&](Mask i, bool* fails) {
                    return add_floats(number(left[i]), -number(right[i]), fails);
                });
            case FilterOpcode::Multiply:
                return assign([&](Mask i, bool* fails) {
                    return multiply_floats(number(left[i]), number(right[i]), fails);
                });
            default:
                return assign([&](Mask i, bool* fails) {
                    return divide_floats(number(left[i]), number(right[i]), fails);
                });
        }
    }

    // Three comparisons make six: the others are their opposites.
    template <typename Left, typename Right>
    GPUJOIN_HD GPUJOIN_INLINE void compare(const FilterStep& step, const Left& left, const Right& right) {
        Mask holds;
        bool opposite = false;
        switch (step.opcode) {
            case FilterOpcode::NotEqual:
                opposite = true;
                [[fallthrough]];
            case FilterOpcode::Equal:
                holds =
                    is_float(step.type)
                        ? lanes([&](Mask i) { return floats_equal(as_double(left[i]), as_double(right[i])); })
                        : lanes([&](Mask i) { return left[i] == right[i]; });
                break;
            case FilterOpcode::GreaterEqual:
                opposite = true;
                [[fallthrough]];
            case FilterOpcode::Less:
                holds =
                    is_float(step.type)
                        ? lanes([&](Mask i) { return floats_less(as_double(left[i]), as_double(right[i])); })
                        : lanes([&](Mask i) { return left[i] < right[i]; });
                break;
            default:
                opposite = step.opcode == FilterOpcode::LessEqual;
                holds =
                    is_float(step.type)
                        ? lanes([&](Mask i) { return floats_less(as_double(right[i]), as_double(left[i])); })
                        : lanes([&](Mask i) { return right[i] < left[i]; });
        }
        truth_ = (opposite ? ~holds : holds) & ~null_ & ~undecided_;
        null_ &= ~undecided_;
        is_truth_ = true;
    }

    // The mask of the lanes that pass a test.
    template <typename Test>
    GPUJOIN_HD static GPUJOIN_INLINE Mask lanes(const Test& test) {
        Mask mask = 0;
        GPUJOIN_UNROLL
        for (Mask i = 0; i < kLanes; i++) mask |= static_cast<Mask>(test(i)) << i;
        return mask;
    }

    // Gives each lane a value; where that fails and no operand is NULL the lane is undecided.
    template <typename Compute>
    GPUJOIN_HD GPUJOIN_INLINE void assign(const Compute& compute) {
        Mask fails = 0;
        GPUJOIN_UNROLL
        for (Mask i = 0; i < kLanes; i++) {
            bool lane_fails = false;
            value_[i] = compute(i, &lane_fails);
            fails |= static_cast<Mask>(lane_fails) << i;
        }
        undecided_ |= fails & ~null_;
    }

    // The accumulator: numbers, or truth values.
    int64_t value_[kLanes] = {};
    Mask truth_ = 0;
    Mask null_ = 0;
    Mask undecided_ = 0;
    bool is_truth_ = false;
};

}  // namespace gpujoin
