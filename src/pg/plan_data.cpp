// PlanData as lists of integers, one for the node, one for each stage, and one for groups: what copyObject
// and the out/read functions carry unharmed. The node's begins with the version of the layout; lengths are
// checked on the way back. Whatever has 64 bits is two integers: Floats would be printed and read, which
// takes longer than all the rest.
#include "pg/plan_data.h"

#include <initializer_list>

#include "pg/allocate.h"

extern "C" {
#include "nodes/value.h"
}

namespace gpujoin {
namespace {

constexpr int kLayoutVersion = 11;

// What comes before the estimates and costs in the node's list.
enum NodeSlot {
    kVersion,
    kMayCarry,
    kIsBounded,
    kHasDearConditions,
    kStageCount,
    kSourceIsKept,
    kFirstEstimate,
};
constexpr int kRowEstimates = 2;
constexpr int kEstimates = kRowEstimates + kCostTermCount;
constexpr int kSlotsPerWord = 2;  // an estimate, a step or constant of the filter program
constexpr int kNodeSlots = kFirstEstimate + kSlotsPerWord * kEstimates;

// What comes before the conditions, terms, values, steps and constants in a stage's list.
enum StageSlot {
    kKind,
    kBuildsTogether,
    kFirstEntry,
    kEqualities,
    kRanges,
    kFilters,
    kConditions,
    kProbeValues,
    kBuildValues,
    kSteps,
    kConstants,
    kFixedSlots,
};
constexpr int kSlotsPerTerm = 4;
constexpr int kSlotsPerValue = 3;
static_assert(sizeof(FilterStep) == sizeof(uint64_t));

int term_count(const StagePlan* stage) {
    return stage->equalities + stage->ranges + stage->filters;
}

int slot_count(const StagePlan* stage) {
    return kFixedSlots + stage->conditions + kSlotsPerTerm * term_count(stage) +
           kSlotsPerValue * (stage->probe_values.count + stage->build_values.count) +
           kSlotsPerWord * (stage->program.steps + stage->program.constants);
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
    double* rows[kRowEstimates] = {&data->estimated_probe_rows, &data->estimated_source_rows};
    double** next = *places;
    for (double* estimate : rows) *next++ = estimate;
    for (double& cost : data->costs.cost) *next++ = &cost;
}

List* node_to_list(const PlanData* data) {
    List* list = list_make5_int(kLayoutVersion, int{data->may_carry}, int{data->is_bounded},
                                int{data->has_dear_conditions}, data->stage_count);
    list = lappend_int(list, int{data->source_is_kept});
    double* estimates[kEstimates];
    estimate_places(const_cast<PlanData*>(data), &estimates);
    for (const double* estimate : estimates) list = append_word(list, estimate);
    Assert(list_length(list) == kNodeSlots);
    return data->top.count > 0 ? append_top_rows(list, data->top) : list;
}

void node_from_list(const List* list, PlanData* data) {
    if (!top_rows_behind(list, kNodeSlots, &data->top) || integer_at(list, kVersion) != kLayoutVersion)
        elog(ERROR, "GPU Join plan of an unknown layout");
    data->may_carry = integer_at(list, kMayCarry) != 0;
    data->is_bounded = integer_at(list, kIsBounded) != 0;
    data->has_dear_conditions = integer_at(list, kHasDearConditions) != 0;
    data->stage_count = integer_at(list, kStageCount);
    data->source_is_kept = integer_at(list, kSourceIsKept) != 0;
    double* estimates[kEstimates];
    estimate_places(data, &estimates);
    for (int i = 0; i < kEstimates; i++) word_at(list, kFirstEstimate + kSlotsPerWord * i, estimates[i]);
}

List* stage_to_list(const StagePlan* stage) {
    List* list = NIL;
    for (int value : {static_cast<int>(stage->kind), int{stage->builds_together}, stage->first_entry,
                      stage->equalities, stage->ranges, stage->filters, stage->conditions,
                      stage->probe_values.count, stage->build_values.count,
                      static_cast<int>(stage->program.steps), static_cast<int>(stage->program.constants)})
        list = lappend_int(list, value);
    for (int i = 0; i < stage->conditions; i++) list = lappend_int(list, stage->residual_before[i]);
    for (int i = 0; i < term_count(stage); i++) {
        const PlanTerm& term = stage->terms[i];
        for (int value : {static_cast<int>(term.encoding), static_cast<int>(term.comparison),
                          static_cast<int>(term.probe_part), static_cast<int>(term.build_part)})
            list = lappend_int(list, value);
    }
    for (const PlanValues* values : {&stage->probe_values, &stage->build_values}) {
        for (int i = 0; i < values->count; i++) {
            list = lappend_int(list, static_cast<int>(values->value[i].encoding));
            list = lappend_int(list, static_cast<int>(values->value[i].type));
            list = lappend_int(list, values->value[i].scale);
        }
    }
    for (int i = 0; i < stage->program.steps; i++) list = append_word(list, &stage->program.step[i]);
    for (int i = 0; i < stage->program.constants; i++) list = append_word(list, &stage->program.constant[i]);
    Assert(list_length(list) == slot_count(stage));
    return list;
}

// The counts, which say how long the list must be.
void counts_from_list(const List* list, StagePlan* stage) {
    if (list_length(list) < kFixedSlots) elog(ERROR, "stage of a GPU Join plan is cut short");
    stage->equalities = integer_at(list, kEqualities);
    stage->ranges = integer_at(list, kRanges);
    stage->filters = integer_at(list, kFilters);
    stage->conditions = integer_at(list, kConditions);
    stage->probe_values.count = integer_at(list, kProbeValues);
    stage->build_values.count = integer_at(list, kBuildValues);
    stage->program.steps = static_cast<uint16_t>(integer_at(list, kSteps));
    stage->program.constants = static_cast<uint16_t>(integer_at(list, kConstants));
    if (stage->equalities > int{kMaxTerms} || stage->ranges > int{kMaxTerms} ||
        stage->filters > int{kMaxTerms} || stage->conditions > int{kMaxFilterSteps} ||
        stage->probe_values.count > kMaxPlanValues || stage->build_values.count > kMaxPlanValues ||
        stage->program.steps > kMaxFilterSteps || stage->program.constants > kMaxFilterConstants ||
        list_length(list) != slot_count(stage))
        elog(ERROR, "stage of a GPU Join plan, of %d entries, is malformed", list_length(list));
}

void stage_from_list(const List* list, StagePlan* stage) {
    counts_from_list(list, stage);
    stage->kind = static_cast<JoinKind>(integer_at(list, kKind));
    stage->builds_together = integer_at(list, kBuildsTogether) != 0;
    stage->first_entry = integer_at(list, kFirstEntry);
    int slot = kFixedSlots;
    for (int i = 0; i < stage->conditions; i++) stage->residual_before[i] = integer_at(list, slot++);
    for (int i = 0; i < term_count(stage); i++, slot += kSlotsPerTerm) {
        stage->terms[i] = {static_cast<KeyEncoding>(integer_at(list, slot)),
                           static_cast<Comparison>(integer_at(list, slot + 1)),
                           static_cast<KeyPart>(integer_at(list, slot + 2)),
                           static_cast<KeyPart>(integer_at(list, slot + 3))};
    }
    for (PlanValues* values : {&stage->probe_values, &stage->build_values})
        for (int i = 0; i < values->count; i++, slot += kSlotsPerValue)
            values->value[i] = {static_cast<KeyEncoding>(integer_at(list, slot)),
                                static_cast<Oid>(integer_at(list, slot + 1)), integer_at(list, slot + 2)};
    for (int i = 0; i < stage->program.steps; i++, slot += kSlotsPerWord)
        word_at(list, slot, &stage->program.step[i]);
    for (int i = 0; i < stage->program.constants; i++, slot += kSlotsPerWord)
        word_at(list, slot, &stage->program.constant[i]);
}

// Reads the integers of a list one after the other, as they were appended. A list that ends too early is
// malformed.
class IntegerReader {
  public:
    explicit IntegerReader(const List* list) : list_(list) {}

    int next() {
        if (slot_ == list_length(list_)) fail();
        return integer_at(list_, slot_++);
    }
    int next_count(int limit) {
        int count = next();
        if (count < 0 || count > limit) fail();
        return count;
    }
    void next_word(void* word) {
        int32 halves[kSlotsPerWord] = {next(), next()};
        memcpy(word, halves, sizeof(halves));
    }
    void finish() const {
        if (slot_ != list_length(list_)) fail();
    }

  private:
    [[noreturn]] void fail() const {
        elog(ERROR, "groups of a GPU Join plan, of %d entries, are malformed", list_length(list_));
    }

    const List* list_;
    int slot_ = 0;
};

List* append_integers(List* list, std::initializer_list<int> values) {
    for (int value : values) list = lappend_int(list, value);
    return list;
}

List* groups_to_list(const GroupsPlan* groups) {
    List* list =
        append_integers(NIL, {groups->keys, groups->any_count, groups->values.count, groups->programs,
                              groups->aggregates, groups->states, groups->completes});
    list = append_word(list, &groups->estimated_groups);
    for (int i = 0; i < groups->keys; i++)
        list = append_integers(
            list, {static_cast<int>(groups->key_encoding[i]), static_cast<int>(groups->key_type[i])});
    for (int i = 0; i < groups->values.count; i++)
        list = append_integers(
            list, {static_cast<int>(groups->values.value[i].encoding),
                   static_cast<int>(groups->values.value[i].type), groups->values.value[i].scale});
    for (int i = 0; i < groups->programs; i++) {
        const FilterProgram& program = groups->program[i];
        list = append_integers(list, {program.steps, program.constants});
        for (int step = 0; step < program.steps; step++) list = append_word(list, &program.step[step]);
        for (int n = 0; n < program.constants; n++) list = append_word(list, &program.constant[n]);
    }
    for (int i = 0; i < groups->aggregates; i++) {
        const AggregateSpec& aggregate = groups->aggregate[i];
        list =
            append_integers(list, {static_cast<int>(aggregate.function), aggregate.value, aggregate.filter});
    }
    for (int i = 0; i < groups->states; i++) {
        const EntryState& state = groups->state[i];
        list = append_integers(list, {state.entry, static_cast<int>(state.form), state.column,
                                      state.count_column, state.third_column, state.scale, state.lower_scale,
                                      static_cast<int>(state.aggregate), static_cast<int>(state.collation)});
    }
    return list;
}

void program_from_list(IntegerReader* reader, FilterProgram* program) {
    program->steps = static_cast<uint16_t>(reader->next_count(kMaxFilterSteps));
    program->constants = static_cast<uint16_t>(reader->next_count(kMaxFilterConstants));
    for (int i = 0; i < program->steps; i++) reader->next_word(&program->step[i]);
    for (int i = 0; i < program->constants; i++) reader->next_word(&program->constant[i]);
}

GroupsPlan* groups_from_list(const List* list) {
    IntegerReader reader(list);
    auto* groups = zeroed<GroupsPlan>();
    groups->keys = reader.next_count(kMaxGroupKeys);
    groups->any_count = reader.next_count(kMaxAggregates);
    groups->values.count = reader.next_count(kMaxPlanValues);
    groups->programs = reader.next_count(kMaxValues);
    groups->aggregates = reader.next_count(kMaxAggregates);
    groups->states = reader.next_count(kMaxGroupStates);
    groups->completes = reader.next() != 0;
    reader.next_word(&groups->estimated_groups);
    for (int i = 0; i < groups->keys; i++) {
        groups->key_encoding[i] = static_cast<KeyEncoding>(reader.next());
        groups->key_type[i] = static_cast<Oid>(reader.next());
    }
    for (int i = 0; i < groups->values.count; i++) {
        groups->values.value[i].encoding = static_cast<KeyEncoding>(reader.next());
        groups->values.value[i].type = static_cast<Oid>(reader.next());
        groups->values.value[i].scale = reader.next();
    }
    groups->program = zeroed<FilterProgram>(groups->programs);
    for (int i = 0; i < groups->programs; i++) program_from_list(&reader, &groups->program[i]);
    for (int i = 0; i < groups->aggregates; i++) {
        groups->aggregate[i].function = static_cast<AggregateFunction>(reader.next());
        groups->aggregate[i].value = static_cast<uint16_t>(reader.next());
        groups->aggregate[i].filter = static_cast<uint16_t>(reader.next());
    }
    for (int i = 0; i < groups->states; i++) {
        EntryState* state = &groups->state[i];
        state->entry = reader.next();
        state->form = static_cast<StateForm>(reader.next());
        state->column = reader.next_count(kMaxGroupKeys + kMaxAggregates);
        state->count_column = reader.next_count(kMaxGroupKeys + kMaxAggregates);
        state->third_column = reader.next_count(kMaxGroupKeys + kMaxAggregates);
        state->scale = reader.next();
        state->lower_scale = reader.next();
        state->aggregate = static_cast<Oid>(reader.next());
        state->collation = static_cast<Oid>(reader.next());
    }
    reader.finish();
    return groups;
}

}  // namespace

List* plan_data_to_list(const PlanData* data) {
    List* lists = list_make1(node_to_list(data));
    for (int i = 0; i < data->stage_count; i++) lists = lappend(lists, stage_to_list(&data->stages[i]));
    if (data->groups) lists = lappend(lists, groups_to_list(data->groups));
    return lists;
}

void plan_data_from_list(const List* list, PlanData* data) {
    if (!list || !IsA(list, List)) elog(ERROR, "GPU Join plan of an unknown layout");
    node_from_list(static_cast<const List*>(linitial(list)), data);
    int others = list_length(list) - 1;
    if (data->stage_count < 0 || data->stage_count > others || others > data->stage_count + 1)
        elog(ERROR, "GPU Join plan of %d stages has %d lists", data->stage_count, others);
    data->stages = zeroed<StagePlan>(data->stage_count);
    for (int i = 0; i < data->stage_count; i++)
        stage_from_list(static_cast<const List*>(list_nth(list, i + 1)), &data->stages[i]);
    data->groups =
        others > data->stage_count ? groups_from_list(static_cast<const List*>(llast(list))) : nullptr;
}

void plan_data_note_top_rows(List* list, const TopRowsPlan& top) {
    auto* node = static_cast<List*>(linitial(list));
    if (list_length(node) == kNodeSlots) linitial(list) = append_top_rows(node, top);
}

ChildColumn child_column(const PlanData* data, int entry) {
    int stage = data->stage_count - 1;
    while (stage >= 0 && entry < data->stages[stage].first_entry) stage--;
    int before = stage < 0 ? 0 : data->stages[stage].first_entry - 1;
    return {stage, static_cast<AttrNumber>(entry - before)};
}

}  // namespace gpujoin
