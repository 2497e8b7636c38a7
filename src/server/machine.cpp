// See machine.h. What cannot be read is left at what it says when there is none.
#include "server/machine.h"

#include <gnu/libc-version.h>
#include <link.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "server/control_groups.h"
#include "server/memory_limit.h"

namespace gpujoin {

namespace {

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

template <typename Number>
Number read_number(const std::string& path) {
    Number number = 0;
    std::ifstream(path) >> number;
    return number;
}

// Of a file with lines such as "CommitLimit:  12342044 kB".
uint64_t read_meminfo(const std::string& text, const std::string& name) {
    const size_t at = ("\n" + text).find("\n" + name + ":");
    if (at == std::string::npos) return 0;
    const char* value = text.c_str() + at + name.size() + 1;
    while (*value == ' ') value++;
    uint64_t number = 0;
    std::from_chars_result end = std::from_chars(value, text.c_str() + text.size(), number);
    return std::string_view(end.ptr).starts_with(" kB") ? number * 1024 : number;
}

// The one in brackets: "always [madvise] never".
std::string read_choice(const std::string& path) {
    const std::string text = read_file(path);
    const size_t begin = text.find('['), end = text.find(']');
    return begin < end && end != std::string::npos ? text.substr(begin + 1, end - begin - 1) : "";
}

uint64_t limit_named(rlim_t value) {
    return value == RLIM_INFINITY ? kNoLimit : value;
}

// Of version 2 "200000 100000", or "max 100000"; of version 1 a quota of -1 is no limit.
double quota_of(const ControlGroup& group) {
    double quota = 0, period = 0;
    if (group.is_version_2) {
        std::ifstream(group.folder + "/cpu.max") >> quota >> period;
    } else {
        std::ifstream(group.folder + "/cpu.cfs_quota_us") >> quota;
        std::ifstream(group.folder + "/cpu.cfs_period_us") >> period;
    }
    return quota > 0 && period > 0 ? quota / period : 0;
}

double processor_quota(const std::string& root) {
    double least = 0;
    for (const ControlGroup& group : control_groups("cpu", root))
        if (double quota = quota_of(group); quota > 0 && (least == 0 || quota < least)) least = quota;
    return least;
}

uint32_t count_allowed_processors() {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<uint32_t>(CPU_COUNT(&set)) : 0;
}

void look_at_memory(const std::string& root, MachineFacts* facts) {
    const std::string meminfo = read_file(root + "/proc/meminfo");
    facts->memory =
        static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    facts->memory_limit = memory_limit(root);
    rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0) facts->locked_memory = limit_named(limit.rlim_cur);
    facts->overcommit = read_number<int>(root + "/proc/sys/vm/overcommit_memory");
    facts->overcommit_ratio = read_number<int>(root + "/proc/sys/vm/overcommit_ratio");
    facts->commit_limit = read_meminfo(meminfo, "CommitLimit");
    facts->committed = read_meminfo(meminfo, "Committed_AS");
    facts->huge_page_bytes = read_meminfo(meminfo, "Hugepagesize");
    facts->huge_pages = read_meminfo(meminfo, "HugePages_Total");
    facts->free_huge_pages = read_meminfo(meminfo, "HugePages_Free");
    const std::string pages = root + "/sys/kernel/mm/transparent_hugepage/";
    facts->transparent_pages = read_choice(pages + "enabled");
    facts->shared_transparent_pages = read_choice(pages + "shmem_enabled");
    struct statvfs shared;
    if (statvfs((root + "/dev/shm").c_str(), &shared) != 0) return;
    facts->shared_memory = uint64_t{shared.f_blocks} * shared.f_frsize;
    facts->free_shared_memory = uint64_t{shared.f_bavail} * shared.f_frsize;
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug ..."; the open one says "NVIDIA UNIX
// Open Kernel Module for x86_64  580.65.06  Release ...": the first word that is a version.
std::string driver_in(const std::string& text) {
    std::istringstream words(text.substr(0, text.find('\n')));
    for (std::string word; words >> word;)
        if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos)
            return word;
    return "";
}

bool has_nvidia_device(const std::string& root) {
    std::error_code error;
    std::filesystem::directory_iterator devices(root + "/sys/bus/pci/devices", error), end;
    return std::any_of(devices, end, [](const auto& device) {
        const std::string folder = device.path().string();
        return read_file(folder + "/vendor").starts_with("0x10de") &&
               read_file(folder + "/class").starts_with("0x03");
    });
}

}  // namespace

MachineFacts look_at_machine(const std::string& root) {
    MachineFacts facts;
    utsname names;
    if (uname(&names) == 0)
        facts.kernel = std::string(names.sysname) + " " + names.release + " " + names.machine;
    look_at_memory(root, &facts);
    facts.processors = static_cast<uint32_t>(std::max(0L, sysconf(_SC_NPROCESSORS_ONLN)));
    facts.allowed_processors = count_allowed_processors();
    facts.processor_quota = processor_quota(root);
    rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) facts.open_files = limit_named(limit.rlim_max);
    facts.nvidia_driver = driver_in(read_file(root + "/proc/driver/nvidia/version"));
    facts.has_nvidia_device = has_nvidia_device(root);
    return facts;
}

std::vector<std::string> loaded_libraries() {
    std::vector<std::string> files;
    auto add = [](dl_phdr_info* library, size_t, void* list) {
        std::error_code error;
        const std::filesystem::path file = std::filesystem::canonical(library->dlpi_name, error);
        if (!error) static_cast<std::vector<std::string>*>(list)->push_back(file.filename());
        return 0;
    };
    dl_iterate_phdr(add, &files);
    files.push_back("glibc " + std::string(gnu_get_libc_version()));
    return files;
}

}  // namespace gpujoin
