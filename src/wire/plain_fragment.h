// The fragment of a single join: its source is the join's probe side, and its results are the join's.
#pragma once

#include "wire/fragment_spec.h"

namespace gpujoin {

// Of *fragment only what counts for such a fragment is written: no programs.
void make_plain_fragment(const JoinSpec& join, FragmentSpec* fragment, StageSpec* stage);

}  // namespace gpujoin
