// Fragment: the contract for what a node runs in an engine in one go: a chain of joins and a sink
// (wire/fragment_spec.h). Each stage is a Join, to which its build side is appended and which is sealed and
// exported like any other; rows of the source pass through all of them.
//
//   open → append, seal of each stage's join → run/cursor … → flush/cursor → (rewind → run …) → destroy
#pragma once

#include <memory>

#include "engine/engine.h"
#include "wire/fragment_spec.h"
#include "wire/stats.h"

namespace gpujoin {

class Fragment {
  public:
    virtual ~Fragment() = default;

    virtual Join& join(uint32_t stage) = 0;

    // Starts a batch of source rows. After every join is sealed; several threads may run batches at once. The
    // cursor gives the sink's rows; with groups only what the sink cannot keep: escaped rows, and groups
    // where their table is full. A batch is aggregated when its cursor is done, wholly; one whose cursor is
    // destroyed before that may have been aggregated in part, and the fragment is of no more use.
    virtual Status run(const BatchView& source, std::unique_ptr<Cursor>* cursor) = 0;

    // Starts giving out the groups that are left, and forgets them. After every run has finished.
    virtual Status flush(std::unique_ptr<Cursor>* cursor) = 0;

    // Forgets matches and groups; the build sides stay. No cursor may be left.
    virtual Status rewind() = 0;

    // Figures so far of the sink; those of a stage are its join's. Any thread at any time.
    virtual SinkStats sink_stats() const = 0;
};

// The fragment whose stages are joins that an engine opens, each of which sees whole batches: the rows
// between them lie in scratch memory that a FragmentPlace gives. What Engine::open_fragment() does where an
// engine has nothing better, and what better ones are compared with.
Status open_composed_fragment(Engine& engine, const FragmentView& fragment, const Limits& limits,
                              std::unique_ptr<Fragment>* opened);

}  // namespace gpujoin
