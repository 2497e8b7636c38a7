// What translates an expression into the steps of a filter program: numbers (filter_numbers.cpp) and
// conditions (filter_truth.cpp), each of which may be a part of the other.
#pragma once

#include <utility>

#include "pg/planner/filter_operations.h"
#include "pg/planner/join_filter.h"
#include "pg/planner/join_sides.h"

namespace gpujoin {

class FilterTranslator {
  public:
    FilterTranslator(JoinFilter* filter, const JoinSides& sides, bool is_of_row = false)
        : filter_(filter), sides_(sides), is_of_row_(is_of_row) {}

    // Leaves a condition's truth in the accumulator. False where that cannot be done; the program is then
    // spoilt.
    bool put_truth(Node* node);
    // The same for a number that the expression is, read as the type.
    bool put_exact_number(Node* node, Oid type) {
        return exactly([&] { return put_number(node, type); });
    }
    bool put_number_of_truth(Node* condition);
    bool put_exact_decimal(Node* node, int scale) {
        return exactly([&] { return put_decimal(node, scale); });
    }
    bool find_scale(Node* node, int* scale);
    bool find_unit(Node* node, int* scale);
    void put(FilterOpcode opcode, FilterType type = FilterType::Int64,
             FilterSource source = FilterSource::Stack, int operand = 0);
    bool fits() const { return fits_; }

  private:
    bool put_connection(const BoolExpr* expression);
    bool put_test(const BooleanTest* test);
    bool put_null_test(const NullTest* test);
    bool put_comparison(const OpExpr* clause);
    bool put_distinction(const DistinctExpr* clause);
    bool put_array_comparison(const ScalarArrayOpExpr* clause);
    bool put_case(const CaseExpr* choice, int first = 0);
    bool put_compared_case(const OpExpr* clause);
    bool put_intervals(const OpExpr* clause);
    bool put_flag(Node* node);
    bool put_number(Node* node, Oid type);
    bool put_call(const FunctionCall& call, const FilterOperation& operation);
    bool put_with_interval(const FunctionCall& call, const FilterOperation& operation);
    bool put_right(FilterOpcode opcode, FilterType type, Node* right, Oid right_type, bool is_finite);
    bool put_checked(Node* node, Oid type, bool is_finite);
    bool put_timestamp(Node* node, Oid type);
    bool put_is_null(Node* node, Oid type);
    void put_constant(FilterOpcode opcode, FilterType type, int64 value);
    bool find_operand(Node* node, Oid type, FilterSource* source, int* operand);
    bool find_value(Node* node, Oid type, FilterSource* source, int* operand);
    bool find_encoded(Node* node, const PlanValue& as, FilterSource* source, int* operand);
    bool put_decimal(Node* node, int scale);
    bool put_decimal_call(const FunctionCall& call, int scale);
    bool put_scaled(Node* node, int from, int to);
    bool put_decimal_comparison(Node* left, FilterOpcode opcode, Node* right);
    template <typename PutArm>
    bool put_chosen_number(const CaseExpr* choice, FilterType type, const PutArm& put_arm, int first = 0);
    int constant(int64 bits);

    // Runs a part of the translation in which a condition may be true because a value is NULL: where that
    // stood for an overflow there would be a row in place of core's error, so no such value is taken.
    template <typename Put>
    bool exactly(const Put& put_part) {
        bool before = std::exchange(is_exact_, true);
        bool done = put_part();
        is_exact_ = before;
        return done;
    }

    JoinFilter* filter_;
    const JoinSides& sides_;
    const bool is_of_row_;
    bool is_exact_ = false;
    bool fits_ = true;
};

// Takes back what was added to a filter since.
void restore(JoinFilter* filter, const JoinFilter& before);

}  // namespace gpujoin
