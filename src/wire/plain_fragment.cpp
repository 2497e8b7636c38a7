// Wrapping of a single join.
#include "wire/plain_fragment.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace gpujoin {

void make_plain_fragment(const JoinSpec& join, FragmentSpec* fragment, StageSpec* stage) {
    memset(static_cast<void*>(fragment), 0, offsetof(FragmentSpec, value));
    fragment->sink = SinkKind::Rows;
    fragment->source_columns = join.probe_columns;
    std::copy_n(join.probe, join.probe_columns, fragment->source);
    memset(static_cast<void*>(stage), 0, sizeof *stage);
    stage->join = join;
    for (uint16_t i = 0; i < join.probe_columns; i++) stage->probe[i] = {kFromSource, i};
}

}  // namespace gpujoin
