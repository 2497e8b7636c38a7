// OwnedFragment: a fragment in memory of its own, of as many stages as it has.
#pragma once

#include <memory>
#include <vector>

#include "wire/fragment_spec.h"

namespace gpujoin {

struct OwnedFragment {
    // Not initialised: most of it is never used.
    std::unique_ptr<FragmentSpec> spec = std::make_unique_for_overwrite<FragmentSpec>();
    std::vector<StageSpec> stages;

    explicit OwnedFragment(uint32_t stage_count) : stages(stage_count) {}
    FragmentView view() const { return {spec.get(), stages}; }
};

}  // namespace gpujoin
