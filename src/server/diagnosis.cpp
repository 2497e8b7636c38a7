// See diagnosis.h.
#include "server/diagnosis.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace gpujoin {

namespace {

constexpr uint64_t kMiB = 1u << 20;
constexpr uint64_t kGiB = 1u << 30;
constexpr uint64_t kLittleSharedMemory = 256 * kMiB;
constexpr uint64_t kFewOpenFiles = 1024;
// Beside the staging memory, the least that a server is of use with.
constexpr uint64_t kLeastMemory = 64 * kMiB;

std::string size(uint64_t bytes) {
    char text[32];
    if (bytes == kNoLimit) return "unlimited";
    if (bytes >= kGiB)
        snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / kGiB);
    else if (bytes >= kMiB || bytes == 0)
        snprintf(text, sizeof text, "%llu MiB", static_cast<unsigned long long>(bytes / kMiB));
    else
        snprintf(text, sizeof text, "%llu kiB", static_cast<unsigned long long>(bytes / 1024));
    return text;
}

std::string decimal(double number) {
    char text[32];
    snprintf(text, sizeof text, "%.3g", number);
    return text;
}

std::string drivers_from(const Findings& findings) {
    return std::to_string(findings.driver_branch) + " or later";
}

bool is_usable_gpu(const DeviceDescription& device) {
    return device.engine == "cuda" && device.number >= 0 && device.state == "ready";
}

bool has_usable_gpu(const Findings& findings) {
    return std::ranges::any_of(findings.devices, is_usable_gpu);
}

uint64_t wanted_memory(const Findings& findings) {
    return findings.staging_memory + findings.host_memory + findings.keep_memory;
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

Line library_line(const Findings& findings) {
    return {"libraries", joined(findings.libraries), {}};
}

// --- The driver

void advise_without_engine(const Findings& findings, Line* line) {
    if (findings.machine.has_nvidia_device || !findings.machine.nvidia_driver.empty())
        line->advice.emplace_back(
            "This build uses no GPU: install the package whose name ends with -cuda, or build it where nvcc "
            "is.");
}

void advise_without_driver(const Findings& findings, Line* line) {
    if (!findings.machine.nvidia_driver.empty())
        line->advice.emplace_back(
            "The kernel has a driver, but its library libcuda.so.1 is not here: in a container, start it "
            "with the "
            "NVIDIA Container Toolkit (docker run --gpus all).");
    else if (findings.machine.has_nvidia_device)
        line->advice.emplace_back("There is an NVIDIA device: install driver " + drivers_from(findings) +
                                  ".");
}

// "12.4" is earlier than "13.0".
bool is_earlier(const std::string& version, const std::string& than) {
    return strverscmp(version.c_str(), than.c_str()) < 0;
}

bool is_too_old(const Findings& findings) {
    const size_t major = findings.cuda_runtime.find('.');
    return is_earlier(findings.cuda_driver, findings.cuda_runtime.substr(0, major) + ".0");
}

Line driver_line(const Findings& findings) {
    const std::string& module = findings.machine.nvidia_driver;
    Line line{"NVIDIA driver", module.empty() ? "none" : module, {}};
    if (!findings.cuda_driver.empty())
        line.text = (module.empty() ? "libcuda.so.1" : module) + " for CUDA " + findings.cuda_driver;
    if (!findings.has_cuda_engine)
        advise_without_engine(findings, &line);
    else if (findings.cuda_driver.empty())
        advise_without_driver(findings, &line);
    else if (is_too_old(findings))
        line.advice.emplace_back("It is too old for CUDA " + findings.cuda_runtime + ": install driver " +
                                 drivers_from(findings) + ".");
    return line;
}

Line runtime_line(const Findings& findings) {
    if (!findings.has_cuda_engine) return {"CUDA runtime", "none: built without the CUDA engine", {}};
    return {"CUDA runtime", findings.cuda_runtime + ", needs driver " + drivers_from(findings), {}};
}

// --- Devices

std::string capability(const DeviceDescription& device) {
    return std::to_string(device.capability / 10) + "." + std::to_string(device.capability % 10);
}

Line device_line(const DeviceDescription& device) {
    Line line{device.engine == "cpu" ? "CPU" : "GPU", device.state, {}};
    if (device.number >= 0) line.name += " " + std::to_string(device.number);
    if (device.name.empty()) return line;
    line.text = device.name + ", ";
    if (device.capability > 0) line.text += "compute capability " + capability(device) + ", ";
    if (device.engine == "cpu")
        line.text += std::to_string(device.processors) + " threads";
    else
        line.text += size(device.memory) + ", " + size(device.join_memory) + " for joins";
    line.text += ": " + device.state;
    return line;
}

Line processor_line(const Findings& findings) {
    const MachineFacts& machine = findings.machine;
    const double quota = machine.processor_quota;
    Line line{"processors",
              std::to_string(machine.allowed_processors) + " of " + std::to_string(machine.processors),
              {}};
    if (quota == 0) return line;
    line.text += ", control group's quota " + decimal(quota);
    if (findings.cpu_threads > quota + 0.5)
        line.advice.emplace_back(
            "All processes are stopped when the quota of a period is used up: set gpujoin.cpu_threads = " +
            std::to_string(std::max(1u, static_cast<uint32_t>(quota))) + ".");
    return line;
}

// --- Memory

Line memory_line(const Findings& findings) {
    const MachineFacts& machine = findings.machine;
    Line line{"memory", size(machine.memory), {}};
    const bool has_limit = machine.memory_limit < machine.memory;
    line.text +=
        has_limit ? ", control group's limit " + size(machine.memory_limit) : ", no control group's limit";
    if (wanted_memory(findings) + findings.shared_buffers > machine.memory_limit)
        line.advice.emplace_back(
            "Joins and kept columns may take more than there is, and the kernel then ends processes: lower "
            "gpujoin.host_memory or gpujoin.keep_memory.");
    return line;
}

Line wanted_line(const Findings& findings) {
    return {"for the server",
            size(findings.host_memory) + " for joins, " + size(findings.keep_memory) + " for kept columns, " +
                size(findings.staging_memory) + " for staging",
            {}};
}

Line locked_line(const Findings& findings) {
    const MachineFacts& machine = findings.machine;
    Line line{"locked memory", "limit " + size(machine.locked_memory), {}};
    if (!has_usable_gpu(findings)) return line;
    line.text +=
        findings.pinned.ok() ? "; staging memory can be pinned" : "; staging memory cannot be pinned";
    if (findings.pinned.ok()) return line;
    std::string advice = std::string("Copies to the GPU take longer: ") + findings.pinned.message + ".";
    if (machine.locked_memory < findings.staging_memory)
        advice +=
            " Raise the limit (LimitMEMLOCK=infinity of PostgreSQL's systemd unit, docker run --ulimit "
            "memlock=-1).";
    line.advice.emplace_back(advice);
    return line;
}

Line overcommit_line(const Findings& findings) {
    const MachineFacts& machine = findings.machine;
    Line line{"overcommit", "vm.overcommit_memory = " + std::to_string(machine.overcommit), {}};
    if (machine.overcommit != 2) return line;
    const uint64_t left = machine.commit_limit - std::min(machine.commit_limit, machine.committed);
    line.text += ", vm.overcommit_ratio = " + std::to_string(machine.overcommit_ratio) + ": " + size(left) +
                 " left of " + size(machine.commit_limit);
    if (left < wanted_memory(findings))
        line.advice.emplace_back(
            "The kernel refuses what is beyond that, and joins fail with 53200: raise vm.overcommit_ratio, "
            "or lower "
            "gpujoin.host_memory.");
    return line;
}

Line pages_line(const Findings& findings) {
    const MachineFacts& machine = findings.machine;
    const std::string& transparent = machine.transparent_pages;
    Line line{"huge pages", "transparent: " + (transparent.empty() ? "none" : transparent), {}};
    if (!machine.shared_transparent_pages.empty())
        line.text += " (shared memory: " + machine.shared_transparent_pages + ")";
    line.text += "; reserved: " + std::to_string(machine.huge_pages) + " of " +
                 size(machine.huge_page_bytes) + ", " + std::to_string(machine.free_huge_pages) + " free";
    if (transparent.empty() || transparent == "never")
        line.advice.emplace_back(
            "Joins with large build sides take longer on the CPU: write madvise to "
            "/sys/kernel/mm/transparent_hugepage/enabled.");
    return line;
}

Line shared_line(const Findings& findings) {
    const MachineFacts& machine = findings.machine;
    if (machine.shared_memory == 0)
        return {"/dev/shm", "not there", {"PostgreSQL's parallel plans need it: mount a tmpfs."}};
    Line line{
        "/dev/shm", size(machine.shared_memory) + ", " + size(machine.free_shared_memory) + " free", {}};
    if (machine.free_shared_memory < kLittleSharedMemory)
        line.advice.emplace_back(
            "PostgreSQL's parallel plans may find no room there (the server does not use it): docker run "
            "--shm-size=1g.");
    return line;
}

Line files_line(const Findings& findings) {
    const uint64_t limit = findings.machine.open_files;
    Line line{"open files", "limit " + (limit == kNoLimit ? "unlimited" : std::to_string(limit)), {}};
    if (limit < kFewOpenFiles)
        line.advice.emplace_back(
            "Each process of a running join takes one, and is refused with 53000 when there is none: raise "
            "it "
            "(LimitNOFILE= of PostgreSQL's systemd unit).");
    return line;
}

}  // namespace

std::vector<Line> diagnose(const Findings& findings) {
    std::vector<Line> lines = {{"kernel", findings.machine.kernel, {}},
                               library_line(findings),
                               driver_line(findings),
                               runtime_line(findings)};
    for (const DeviceDescription& device : findings.devices) lines.push_back(device_line(device));
    for (auto line : {processor_line, memory_line, wanted_line, locked_line, overcommit_line, pages_line,
                      shared_line, files_line})
        lines.push_back(line(findings));
    return lines;
}

std::string where_joins_run(const Findings& findings) {
    std::vector<std::string> names;
    for (const DeviceDescription& device : findings.devices)
        if (is_usable_gpu(device)) names.emplace_back("GPU " + std::to_string(device.number));
    return names.empty() ? "the CPU" : joined(names) + ", or the CPU where one has no room";
}

std::string why_it_cannot_work(const Findings& findings) {
    if (!findings.made.ok()) return findings.made.message;
    if (findings.staging_memory + kLeastMemory > findings.machine.memory_limit)
        return "there is less memory than gpujoin.staging_memory and " + size(kLeastMemory) + " for joins";
    return "";
}

}  // namespace gpujoin
