// PlanData as a list of integers: what copyObject and the out/read functions carry unharmed. The list begins
// with the version of its layout; its length is checked on the way back. Whatever has 64 bits is two of them:
// Floats would be printed and read, which takes longer than all the rest.
#include "pg/plan_data.h"

#include <initializer_list>

extern "C" {
#include "nodes/value.h"
}

namespace gpujoin {
namespace {

constexpr int kLayoutVersion = 6;

// What comes before the estimates, costs, conditions, terms, values, steps and constants.
enum Slot {
    kVersion,
    kKind,
    kProbeTargetEntries,
    kEqualities,
    kRanges,
    kFilters,
    kConditions,
    kIsBounded,
    kHasDearFilter,
    kProbeValues,
    kBuildValues,
    kSteps,
    kConstants,
    kFirstEstimate,
};
constexpr int kEstimates = 1 + kCostTermCount;
constexpr int kSlotsPerTerm = 4;
constexpr int kSlotsPerValue = 2;
constexpr int kSlotsPerWord = 2;  // an estimate, a step or constant of the filter program
constexpr int kFixedSlots = kFirstEstimate + kSlotsPerWord * kEstimates;
static_assert(sizeof(FilterStep) == sizeof(uint64_t));

int term_count(const PlanData* data) {
    return data->equalities + data->ranges + data->filters;
}

int slot_count(const PlanData* data) {
    return kFixedSlots + data->conditions + kSlotsPerTerm * term_count(data) +
           kSlotsPerValue * (data->probe_values.count + data->build_values.count) +
           kSlotsPerWord * (data->program.steps + data->program.constants);
}

int integer_at(const List* list, int slot) {
    return list_nth_int(list, slot);
}

List* append_word(List* list, const void* word) {
    int32 halves[kSlotsPerWord];
    memcpy(halves, word, sizeof(halves));
    return lappend_int(lappend_int(list, halves[0]), halves[1]);
}

void word_at(const List* list, int slot, void* word) {
    int32 halves[kSlotsPerWord] = {integer_at(list, slot), integer_at(list, slot + 1)};
    memcpy(word, halves, sizeof(halves));
}

// Row counts and costs.
void estimate_places(PlanData* data, double* (*places)[kEstimates]) {
    double** next = *places;
    *next++ = &data->estimated_probe_rows;
    for (double& cost : data->costs.cost) *next++ = &cost;
}

}  // namespace

List* plan_data_to_list(const PlanData* data) {
    List* list = NIL;
    for (int value : {kLayoutVersion, static_cast<int>(data->kind), data->probe_target_entries,
                      data->equalities, data->ranges, data->filters, data->conditions, int{data->is_bounded},
                      int{data->has_dear_filter}, data->probe_values.count, data->build_values.count,
                      static_cast<int>(data->program.steps), static_cast<int>(data->program.constants)})
        list = lappend_int(list, value);
    double* estimates[kEstimates];
    estimate_places(const_cast<PlanData*>(data), &estimates);
    for (const double* estimate : estimates) list = append_word(list, estimate);
    for (int i = 0; i < data->conditions; i++) list = lappend_int(list, data->residual_before[i]);
    for (int i = 0; i < term_count(data); i++) {
        const PlanTerm& term = data->terms[i];
        for (int value : {static_cast<int>(term.encoding), static_cast<int>(term.comparison),
                          static_cast<int>(term.probe_part), static_cast<int>(term.build_part)})
            list = lappend_int(list, value);
    }
    for (const PlanValues* values : {&data->probe_values, &data->build_values}) {
        for (int i = 0; i < values->count; i++) {
            list = lappend_int(list, static_cast<int>(values->value[i].encoding));
            list = lappend_int(list, static_cast<int>(values->value[i].type));
        }
    }
    for (int i = 0; i < data->program.steps; i++) list = append_word(list, &data->program.step[i]);
    for (int i = 0; i < data->program.constants; i++) list = append_word(list, &data->program.constant[i]);
    Assert(list_length(list) == slot_count(data));
    return list;
}

void plan_data_from_list(List* list, PlanData* data) {
    if (list_length(list) < kFixedSlots || integer_at(list, kVersion) != kLayoutVersion)
        elog(ERROR, "GPU Join plan of an unknown layout");
    data->kind = static_cast<JoinKind>(integer_at(list, kKind));
    data->probe_target_entries = integer_at(list, kProbeTargetEntries);
    data->equalities = integer_at(list, kEqualities);
    data->ranges = integer_at(list, kRanges);
    data->filters = integer_at(list, kFilters);
    data->conditions = integer_at(list, kConditions);
    data->is_bounded = integer_at(list, kIsBounded) != 0;
    data->has_dear_filter = integer_at(list, kHasDearFilter) != 0;
    data->probe_values.count = integer_at(list, kProbeValues);
    data->build_values.count = integer_at(list, kBuildValues);
    data->program.steps = static_cast<uint16_t>(integer_at(list, kSteps));
    data->program.constants = static_cast<uint16_t>(integer_at(list, kConstants));
    double* estimates[kEstimates];
    estimate_places(data, &estimates);
    for (int i = 0; i < kEstimates; i++) word_at(list, kFirstEstimate + kSlotsPerWord * i, estimates[i]);
    if (data->equalities > int{kMaxTerms} || data->ranges > int{kMaxTerms} ||
        data->filters > int{kMaxTerms} || data->conditions > int{kMaxFilterSteps} ||
        data->probe_values.count > kMaxPlanValues || data->build_values.count > kMaxPlanValues ||
        data->program.steps > kMaxFilterSteps || data->program.constants > kMaxFilterConstants ||
        list_length(list) != slot_count(data))
        elog(ERROR, "GPU Join plan of %d entries is malformed", list_length(list));
    int slot = kFixedSlots;
    for (int i = 0; i < data->conditions; i++) data->residual_before[i] = integer_at(list, slot++);
    for (int i = 0; i < term_count(data); i++, slot += kSlotsPerTerm) {
        data->terms[i] = {static_cast<KeyEncoding>(integer_at(list, slot)),
                          static_cast<Comparison>(integer_at(list, slot + 1)),
                          static_cast<KeyPart>(integer_at(list, slot + 2)),
                          static_cast<KeyPart>(integer_at(list, slot + 3))};
    }
    for (PlanValues* values : {&data->probe_values, &data->build_values})
        for (int i = 0; i < values->count; i++, slot += kSlotsPerValue)
            values->value[i] = {static_cast<KeyEncoding>(integer_at(list, slot)),
                                static_cast<Oid>(integer_at(list, slot + 1))};
    for (int i = 0; i < data->program.steps; i++, slot += kSlotsPerWord)
        word_at(list, slot, &data->program.step[i]);
    for (int i = 0; i < data->program.constants; i++, slot += kSlotsPerWord)
        word_at(list, slot, &data->program.constant[i]);
}

}  // namespace gpujoin
