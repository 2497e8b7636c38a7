// Reading of /proc/self/cgroup.
#include "server/control_groups.h"

#include <fstream>

namespace gpujoin {

namespace {

void add_up_to_root(const std::string& hierarchy, std::string group, bool is_version_2,
                    std::vector<ControlGroup>* groups) {
    for (;;) {
        groups->push_back({hierarchy + group, is_version_2});
        if (group.empty()) return;
        group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
    }
}

// A line is "number:controllers:path"; of version 2 "0::path".
void add_groups_of(const std::string& line, const std::string& controller, const std::string& root,
                   std::vector<ControlGroup>* groups) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) return;
    std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string group = line.substr(second + 1);
    if (controllers == ",,")
        add_up_to_root(root + "/sys/fs/cgroup", group, true, groups);
    else if (controllers.find("," + controller + ",") != std::string::npos)
        add_up_to_root(root + "/sys/fs/cgroup/" + controller, group, false, groups);
}

}  // namespace

std::vector<ControlGroup> control_groups(const std::string& controller, const std::string& root) {
    std::vector<ControlGroup> groups;
    std::ifstream lines(root + "/proc/self/cgroup");
    for (std::string line; std::getline(lines, line);) add_groups_of(line, controller, root, &groups);
    return groups;
}

}  // namespace gpujoin
