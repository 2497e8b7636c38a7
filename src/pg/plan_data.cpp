// PlanData as a list of Integers and Floats: what copyObject and the out/read functions carry unharmed. The
// list begins with the version of its layout; its length is checked on the way back.
#include "pg/plan_data.h"

#include <initializer_list>

extern "C" {
#include "nodes/value.h"
}

namespace gpujoin {
namespace {

constexpr int kLayoutVersion = 3;

// What comes before the terms, values, steps and constants. Estimates and costs are Floats, the rest
// Integers.
enum Slot {
    kVersion,
    kKind,
    kProbeTargetEntries,
    kEqualities,
    kRanges,
    kFilters,
    kProbeValues,
    kBuildValues,
    kSteps,
    kConstants,
    kProbeRows,
    kBuildRows,
    kResultRows,
    kCosts,
    kFixedSlots = kCosts + kCostTermCount,
};
constexpr int kSlotsPerTerm = 4;
constexpr int kSlotsPerValue = 2;
constexpr int kSlotsPerWord = 2;  // a step or constant of the filter program
static_assert(sizeof(FilterStep) == sizeof(uint64_t));

int term_count(const PlanData* data) {
    return data->equalities + data->ranges + data->filters;
}

int slot_count(const PlanData* data) {
    return kFixedSlots + kSlotsPerTerm * term_count(data) +
           kSlotsPerValue * (data->probe_values.count + data->build_values.count) +
           kSlotsPerWord * (data->program.steps + data->program.constants);
}

int integer_at(const List* list, int slot) {
    return intVal(list_nth(list, slot));
}

double float_at(const List* list, int slot) {
    return floatVal(list_nth(list, slot));
}

List* append_word(List* list, const void* word) {
    int32 halves[kSlotsPerWord];
    memcpy(halves, word, sizeof(halves));
    return lappend(lappend(list, makeInteger(halves[0])), makeInteger(halves[1]));
}

void word_at(const List* list, int slot, void* word) {
    int32 halves[kSlotsPerWord] = {integer_at(list, slot), integer_at(list, slot + 1)};
    memcpy(word, halves, sizeof(halves));
}

// With an exponent always: digits alone would be read back as an Integer.
auto make_float(double value) {
    return makeFloat(psprintf("%.17e", value));
}

}  // namespace

List* plan_data_to_list(const PlanData* data) {
    List* list = NIL;
    for (int value :
         {kLayoutVersion, static_cast<int>(data->kind), data->probe_target_entries, data->equalities,
          data->ranges, data->filters, data->probe_values.count, data->build_values.count,
          static_cast<int>(data->program.steps), static_cast<int>(data->program.constants)})
        list = lappend(list, makeInteger(value));
    for (double rows : {data->estimated_probe_rows, data->estimated_build_rows, data->estimated_result_rows})
        list = lappend(list, make_float(rows));
    for (double cost : data->costs.cost) list = lappend(list, make_float(cost));
    for (int i = 0; i < term_count(data); i++) {
        const PlanTerm& term = data->terms[i];
        for (int value : {static_cast<int>(term.encoding), static_cast<int>(term.comparison),
                          static_cast<int>(term.probe_part), static_cast<int>(term.build_part)})
            list = lappend(list, makeInteger(value));
    }
    for (const PlanValues* values : {&data->probe_values, &data->build_values}) {
        for (int i = 0; i < values->count; i++) {
            list = lappend(list, makeInteger(static_cast<int>(values->value[i].encoding)));
            list = lappend(list, makeInteger(static_cast<int>(values->value[i].type)));
        }
    }
    for (int i = 0; i < data->program.steps; i++) list = append_word(list, &data->program.step[i]);
    for (int i = 0; i < data->program.constants; i++) list = append_word(list, &data->program.constant[i]);
    Assert(list_length(list) == slot_count(data));
    return list;
}

void plan_data_from_list(List* list, PlanData* data) {
    if (list_length(list) < kFixedSlots || integer_at(list, kVersion) != kLayoutVersion)
        elog(ERROR, "GpuJoin plan of an unknown layout");
    data->kind = static_cast<JoinKind>(integer_at(list, kKind));
    data->probe_target_entries = integer_at(list, kProbeTargetEntries);
    data->equalities = integer_at(list, kEqualities);
    data->ranges = integer_at(list, kRanges);
    data->filters = integer_at(list, kFilters);
    data->probe_values.count = integer_at(list, kProbeValues);
    data->build_values.count = integer_at(list, kBuildValues);
    data->program.steps = static_cast<uint16_t>(integer_at(list, kSteps));
    data->program.constants = static_cast<uint16_t>(integer_at(list, kConstants));
    data->estimated_probe_rows = float_at(list, kProbeRows);
    data->estimated_build_rows = float_at(list, kBuildRows);
    data->estimated_result_rows = float_at(list, kResultRows);
    for (int term = 0; term < kCostTermCount; term++) data->costs.cost[term] = float_at(list, kCosts + term);
    if (data->equalities > int{kMaxTerms} || data->ranges > int{kMaxTerms} ||
        data->filters > int{kMaxTerms} || data->probe_values.count > kMaxPlanValues ||
        data->build_values.count > kMaxPlanValues || data->program.steps > kMaxFilterSteps ||
        data->program.constants > kMaxFilterConstants || list_length(list) != slot_count(data))
        elog(ERROR, "GpuJoin plan of %d entries is malformed", list_length(list));
    for (int i = 0; i < term_count(data); i++) {
        int slot = kFixedSlots + kSlotsPerTerm * i;
        data->terms[i] = {static_cast<KeyEncoding>(integer_at(list, slot)),
                          static_cast<Comparison>(integer_at(list, slot + 1)),
                          static_cast<KeyPart>(integer_at(list, slot + 2)),
                          static_cast<KeyPart>(integer_at(list, slot + 3))};
    }
    int slot = kFixedSlots + kSlotsPerTerm * term_count(data);
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
