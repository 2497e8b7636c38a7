// What the parts of a join on this engine share: its spec, stored build side, limits and threads.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "engine/cpu/columns/build_store.h"
#include "engine/cpu/columns/key_reader.h"
#include "engine/cpu/work/workers.h"
#include "engine/engine.h"
#include "engine/key_layout.h"

namespace gpujoin::cpu {

struct JoinContext {
    JoinSpec spec;
    Limits limits;
    KeyLayout layout;
    BuildStore build;
    Workers* workers = nullptr;
    std::optional<uint16_t> range_column;  // build column whose range terms drive, once probe rows were seen

    bool should_stop() const { return cpu::should_stop(limits.cancel); }

    // Every term of the join, in order: equalities, ranges, filters.
    std::vector<Term> terms() const;

    KeyReader build_reader() const;
    KeyReader probe_reader(const BatchView& batch) const;
};

inline std::vector<Term> JoinContext::terms() const {
    std::vector<Term> all(spec.equality, spec.equality + spec.equalities);
    all.insert(all.end(), spec.range, spec.range + spec.ranges);
    all.insert(all.end(), spec.filter, spec.filter + spec.filters);
    return all;
}

inline KeyReader JoinContext::build_reader() const {
    std::vector<ColumnSource> keys, columns;
    for (uint32_t i = 0; i < layout.parts; i++) keys.push_back(build.source(layout.part[i].build_column));
    for (const Term& term : terms()) columns.push_back(build.source(term.build_column));
    return KeyReader(layout, std::move(keys), columns);
}

inline KeyReader JoinContext::probe_reader(const BatchView& batch) const {
    std::vector<ColumnSource> keys, columns;
    auto source = [&](uint16_t column) { return probe_source(spec.probe[column], batch.columns[column]); };
    for (uint32_t i = 0; i < layout.parts; i++) keys.push_back(source(layout.part[i].probe_column));
    for (const Term& term : terms()) columns.push_back(source(term.probe_column));
    return KeyReader(layout, std::move(keys), columns);
}

}  // namespace gpujoin::cpu
