// See path_facts.h. The same paths are below those of each join relation that contains theirs, so that facts
// are kept: of a relation that is still being made they are not, since its paths come and go.
#include "pg/planner/path_facts.h"

#include <algorithm>

#include "pg/planner/join_path.h"
#include "pg/planner/path_inputs.h"
#include "pg/planner/undeclared_keys.h"

extern "C" {
#include "utils/memutils.h"
}

namespace gpujoin {
namespace {

bool is_of_one_relation(const Path* path) {
    return bms_membership(path->parent->relids) == BMS_SINGLETON;
}

PathFacts known_facts(const Path* path, const RelOptInfo* above);

// Estimates multiply the selectivities of several conditions: of a row in so many at least one is taken to
// find a partner nevertheless.
constexpr double kFewestFound = 1e-3;

void add_loop(PathFacts* facts, const JoinPath* loop) {
    const Path* outer = loop->outerjoinpath;
    facts->loops += outer->rows;
    const PathFacts driving = known_facts(outer, loop->path.parent);
    if (!driving.has_gpu_join) return;
    const double rows = std::max(outer->rows, 1.0);
    const double likely = std::max(underestimate_of(outer->parent) * rows, kFewestFound * driving.vague_rows);
    facts->looping += std::max<Cost>(loop->path.total_cost - outer->total_cost, 0) * likely / rows;
}

bool has_several_conditions(const JoinClauses* clauses) {
    return list_length(clauses->equalities) + list_length(clauses->ranges) + list_length(clauses->filters) +
               list_length(clauses->residual) >
           1;
}

double vague_rows_of(const Chain* chain) {
    double rows = 0;
    for (const Chain* stage = chain; stage && stage->build; stage = stage->before) {
        const double probing = stage->before ? stage->before->costs.rows : stage->probe->rows;
        if (has_several_conditions(stage->clauses)) rows = std::max({rows, probing, stage->build->rows});
    }
    return rows;
}

double vague_rows_of(const Path* path) {
    if (is_gpu_join(path)) return vague_rows_of(reinterpret_cast<const GpuJoinPath*>(path)->chain);
    if (!IsA(path, NestPath) && !IsA(path, HashPath) && !IsA(path, MergePath)) return 0;
    const auto* join = reinterpret_cast<const JoinPath*>(path);
    if (list_length(join->joinrestrictinfo) < 2) return 0;
    return std::max(join->outerjoinpath->rows, join->innerjoinpath->rows);
}

// Of a path, from those of its inputs.
PathFacts find_facts(const Path* path, void (*add)(PathFacts* facts, const PathFacts& more)) {
    PathFacts facts = {};
    facts.has_gpu_join = is_gpu_join(path);
    facts.gathers = IsA(path, GatherPath) || IsA(path, GatherMergePath);
    if (is_of_one_relation(path)) {
        if (!PATH_REQ_OUTER(path)) facts.read = path->parent->relids;
        return facts;
    }
    visit_inputs(path, [&](const Path* input) { add(&facts, known_facts(input, path->parent)); });
    facts.vague_rows = std::max(facts.vague_rows, vague_rows_of(path));
    if (IsA(path, NestPath)) add_loop(&facts, reinterpret_cast<const JoinPath*>(path));
    return facts;
}

void add_all_but_read(PathFacts* facts, const PathFacts& more) {
    facts->has_gpu_join |= more.has_gpu_join;
    facts->gathers |= more.gathers;
    facts->loops += more.loops;
    facts->looping += more.looping;
    facts->vague_rows = std::max(facts->vague_rows, more.vague_rows);
}

// Of an input of a path of `above`.
PathFacts known_facts(const Path* path, const RelOptInfo* above) {
    if (path->parent == above || is_of_one_relation(path)) return find_facts(path, add_facts);
    PathFacts* known = noted_facts(path);
    if (known->read) return *known;
    MemoryContext before = MemoryContextSwitchTo(GetMemoryChunkContext(const_cast<Path*>(path)));
    *known = find_facts(path, add_facts);
    MemoryContextSwitchTo(before);
    return *known;
}

}  // namespace

const Path* strip_projection(const Path* path) {
    while (IsA(path, ProjectionPath)) path = reinterpret_cast<const ProjectionPath*>(path)->subpath;
    return path;
}

const Path* input_of_groups(const Path* path) {
    switch (nodeTag(path)) {
        case T_AggPath:
            return reinterpret_cast<const AggPath*>(path)->subpath;
        case T_GroupPath:
            return reinterpret_cast<const GroupPath*>(path)->subpath;
        case T_GroupingSetsPath:
            return reinterpret_cast<const GroupingSetsPath*>(path)->subpath;
        case T_UpperUniquePath:
            return reinterpret_cast<const UpperUniquePath*>(path)->subpath;
        default:
            return nullptr;
    }
}

void add_facts(PathFacts* facts, const PathFacts& more) {
    facts->read = bms_union(facts->read, more.read);
    add_all_but_read(facts, more);
}

bool has_gpu_join(const Path* path) {
    bool has_any = is_gpu_join(path);
    if (has_any || is_of_one_relation(path)) return has_any;
    visit_inputs(path, [&](const Path* input) {
        if (has_any || is_of_one_relation(input))
            has_any |= is_gpu_join(input);
        else
            has_any = known_facts(input, path->parent).has_gpu_join;
    });
    return has_any;
}

Cost least_total_cost(const List* paths, Cost least) {
    ListCell* cell;
    foreach (cell, paths) least = std::min(least, static_cast<const Path*>(lfirst(cell))->total_cost);
    return least;
}

PathFacts facts_of(const Path* path) {
    return find_facts(path, add_facts);
}

PathFacts quick_facts_of(const Path* path) {
    return find_facts(path, add_all_but_read);
}

}  // namespace gpujoin
