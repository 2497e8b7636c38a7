// What a fragment's spec says of groups: keys, the programs that give values and filters, and aggregates.
#include "pg/executor/spec.h"

namespace gpujoin {

namespace {

// A sink's input that an expression over one child is.
uint16_t input_of(FragmentParts* parts, const Key& key) {
    int child = child_of(parts->state, reinterpret_cast<Node*>(key.expression));
    uint16_t column = key_column(&parts->children[child + 1], key, nullptr, true);
    return sink_input(parts, ref_to(parts, child, column));
}

uint16_t any_input(FragmentParts* parts, Expr* expression) {
    int child = child_of(parts->state, reinterpret_cast<Node*>(expression));
    uint16_t column = expression_column(&parts->children[child + 1], expression);
    return sink_input(parts, ref_to(parts, child, column));
}

// The program with numbers of inputs for those of values.
void add_program(const FilterProgram* plan, const uint16_t* inputs, FilterProgram* program) {
    *program = *plan;
    for (int i = 0; i < program->steps; i++) {
        FilterStep* step = &program->step[i];
        if (has_source(step->opcode) && step->source == FilterSource::Probe)
            step->operand = inputs[step->operand];
    }
}

}  // namespace

void add_group_keys(FragmentParts* parts) {
    const GroupsPlan* groups = parts->state->plan.groups;
    FragmentSpec* spec = parts->spec;
    List* keys = group_exprs_of(parts->state, kKeyExprs);
    for (int i = 0; i < groups->keys; i++)
        spec->key[i] = input_of(parts, {static_cast<Expr*>(list_nth(keys, i)), groups->key_encoding[i],
                                        groups->key_type[i], false, true, KeyPart::Value, 0});
    spec->keys = static_cast<uint16_t>(groups->keys);

    List* values = group_exprs_of(parts->state, kValueExprs);
    uint16_t* inputs = parts->state->escaped.input_of;
    for (int i = 0; i < groups->values.count; i++) {
        const PlanValue& value = groups->values.value[i];
        inputs[i] = input_of(parts, {static_cast<Expr*>(list_nth(values, i)), value.encoding, value.type,
                                     false, true, KeyPart::Value, value.scale});
    }
    for (int i = 0; i < groups->programs; i++) add_program(&groups->program[i], inputs, &spec->value[i]);
    spec->values = static_cast<uint16_t>(groups->programs);
}

void add_group_values(FragmentParts* parts) {
    const GroupsPlan* groups = parts->state->plan.groups;
    FragmentSpec* spec = parts->spec;
    List* any = group_exprs_of(parts->state, kAnyExprs);
    for (int i = 0; i < groups->aggregates; i++) {
        AggregateSpec* aggregate = &spec->aggregate[i];
        *aggregate = groups->aggregate[i];
        if (aggregate->function == AggregateFunction::Any)
            aggregate->value = any_input(parts, static_cast<Expr*>(list_nth(any, aggregate->value)));
    }
    spec->aggregates = static_cast<uint16_t>(groups->aggregates);
    spec->completes_groups = groups->completes;
    double estimate = groups->estimated_groups;
    spec->estimated_groups = estimate < 1e18 ? static_cast<uint64_t>(estimate) : uint64_t{1} << 60;
}

}  // namespace gpujoin
