// The cursor of a composed fragment: a pipeline of the cursors of its stages. That of a stage writes rows
// into scratch memory, as many as it holds; these go through all later stages before it writes the next ones.
#pragma once

#include <memory>
#include <vector>

#include "engine/fragment/pipeline.h"

namespace gpujoin {

// What cursors need of an open fragment, which outlives them.
struct OpenFragment {
    FragmentPlan plan;
    std::vector<std::unique_ptr<Join>> joins;
    const std::atomic<bool>* cancel;
    SinkCounters counters;
    std::unique_ptr<FragmentPlace> place;
    TopBound bound;
    Pipelines pipelines;
};

Status make_composed_cursor(OpenFragment& fragment, const BatchView& source, std::unique_ptr<Cursor>* cursor);

}  // namespace gpujoin
