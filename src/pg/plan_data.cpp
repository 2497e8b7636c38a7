// PlanData as a list of Integers and Floats: what copyObject and the out/read functions carry unharmed. The
// list begins with the version of its layout; its length is checked on the way back.
#include "pg/plan_data.h"

#include <initializer_list>

extern "C" {
#include "nodes/value.h"
}

namespace gpujoin {
namespace {

constexpr int kLayoutVersion = 2;

// What comes before the terms. Estimates and costs are Floats, the rest Integers.
enum Slot {
    kVersion,
    kKind,
    kProbeTargetEntries,
    kEqualities,
    kRanges,
    kFilters,
    kProbeRows,
    kBuildRows,
    kResultRows,
    kCosts,
    kFixedSlots = kCosts + kCostTermCount,
};
constexpr int kSlotsPerTerm = 4;

int term_count(const PlanData* data) {
    return data->equalities + data->ranges + data->filters;
}

int integer_at(const List* list, int slot) {
    return intVal(list_nth_node(Integer, list, slot));
}

double float_at(const List* list, int slot) {
    return floatVal(list_nth_node(Float, list, slot));
}

// With an exponent always: digits alone would be read back as an Integer.
Float* make_float(double value) {
    return makeFloat(psprintf("%.17e", value));
}

}  // namespace

List* plan_data_to_list(const PlanData* data) {
    List* list = NIL;
    for (int value : {kLayoutVersion, static_cast<int>(data->kind), data->probe_target_entries,
                      data->equalities, data->ranges, data->filters})
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
    Assert(list_length(list) == kFixedSlots + kSlotsPerTerm * term_count(data));
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
    data->estimated_probe_rows = float_at(list, kProbeRows);
    data->estimated_build_rows = float_at(list, kBuildRows);
    data->estimated_result_rows = float_at(list, kResultRows);
    for (int term = 0; term < kCostTermCount; term++) data->costs.cost[term] = float_at(list, kCosts + term);
    if (data->equalities > int{kMaxTerms} || data->ranges > int{kMaxTerms} ||
        data->filters > int{kMaxTerms} || list_length(list) != kFixedSlots + kSlotsPerTerm * term_count(data))
        elog(ERROR, "GpuJoin plan of %d entries is malformed", list_length(list));
    for (int i = 0; i < term_count(data); i++) {
        int slot = kFixedSlots + kSlotsPerTerm * i;
        data->terms[i] = {static_cast<KeyEncoding>(integer_at(list, slot)),
                          static_cast<Comparison>(integer_at(list, slot + 1)),
                          static_cast<KeyPart>(integer_at(list, slot + 2)),
                          static_cast<KeyPart>(integer_at(list, slot + 3))};
    }
}

}  // namespace gpujoin
