// The control groups (version 1 and 2) that this process is in. A container may see its own as the root, or
// by its path from the host's: then folders that are named here are not there.
#pragma once

#include <string>
#include <vector>

namespace gpujoin {

struct ControlGroup {
    std::string folder;
    bool is_version_2;  // which decides how its files are called
};

// Those that have a say about what the controller ("memory", "cpu") gives: from this process's own up to the
// root of each hierarchy. root: where /proc and /sys are found, for tests.
std::vector<ControlGroup> control_groups(const std::string& controller, const std::string& root = "");

}  // namespace gpujoin
