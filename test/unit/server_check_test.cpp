// What gpujoin_server --check finds in files of the kernel's, and what it says of findings.
#include <gtest/gtest.h>

#include <algorithm>

#include "cuda/driver_version.h"
#include "machine_files.h"
#include "server/diagnosis.h"
#include "server/machine.h"

namespace gpujoin::test {

namespace {

constexpr uint64_t kMB = 1u << 20;
constexpr uint64_t kGB = 1u << 30;

// A machine on which nothing hurts, with one GPU.
Findings good_findings() {
    Findings findings;
    MachineFacts& machine = findings.machine;
    machine.memory = machine.memory_limit = 64 * kGB;
    machine.locked_memory = machine.open_files = kNoLimit;
    machine.shared_memory = machine.free_shared_memory = 32 * kGB;
    machine.transparent_pages = "madvise";
    machine.huge_page_bytes = 2 * kMB;
    machine.processors = machine.allowed_processors = 16;
    machine.nvidia_driver = "580.65.06";
    machine.has_nvidia_device = true;
    findings.has_cuda_engine = true;
    findings.cuda_runtime = findings.cuda_driver = "13.0";
    findings.driver_branch = 580;
    findings.cpu_threads = 16;
    findings.staging_memory = 256 * kMB;
    findings.host_memory = 32 * kGB;
    findings.keep_memory = 8 * kGB;
    DeviceDescription cpu, gpu;
    cpu.engine = "cpu";
    cpu.name = "a processor";
    gpu.engine = "cuda";
    gpu.name = "a GPU";
    gpu.number = 0;
    gpu.capability = 90;
    gpu.memory = 80 * kGB;
    gpu.join_memory = 64 * kGB;
    cpu.state = gpu.state = "ready";
    findings.devices = {cpu, gpu};
    return findings;
}

Findings without_gpu(Findings findings) {
    findings.devices.pop_back();
    findings.machine.nvidia_driver = findings.cuda_driver = "";
    findings.machine.has_nvidia_device = false;
    return findings;
}

std::string line_of(const Findings& findings, const std::string& name) {
    for (const Line& line : diagnose(findings))
        if (line.name == name) return line.text;
    return "(there is none)";
}

// All advice there is, each with the name of its line.
std::vector<std::string> advice_for(const Findings& findings) {
    std::vector<std::string> all;
    for (const Line& line : diagnose(findings))
        for (const std::string& advice : line.advice) all.push_back(line.name + ": " + advice);
    return all;
}

// There is one advice, about that, which has these words.
void expect_advice(const Findings& findings, const std::string& name, const std::string& words) {
    std::vector<std::string> all = advice_for(findings);
    ASSERT_EQ(all.size(), 1u) << name;
    EXPECT_TRUE(all.front().starts_with(name + ": ")) << all.front();
    EXPECT_NE(all.front().find(words), std::string::npos) << all.front();
}

}  // namespace

TEST(Machine, IsReadFromTheKernelsFiles) {
    MachineFiles files;
    files
        .with("/proc/meminfo",
              "MemTotal: 100 kB\nCommitLimit:    2048 kB\nCommitted_AS: 1024 kB\nHugePages_Total:      12\n"
              "HugePages_Free:   7\nHugepagesize:       2048 kB")
        .with("/proc/sys/vm/overcommit_memory", "2")
        .with("/proc/sys/vm/overcommit_ratio", "80")
        .with("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]")
        .with("/proc/driver/nvidia/version",
              "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\nGCC "
              "version:  12.2.0")
        .with("/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de")
        .with("/sys/bus/pci/devices/0000:01:00.0/class", "0x030200")
        .with("/proc/self/cgroup", "0::/a/b")
        .with("/sys/fs/cgroup/a/cpu.max", "150000 100000")
        .with("/sys/fs/cgroup/a/b/cpu.max", "max 100000");
    MachineFacts facts = look_at_machine(files.root());
    EXPECT_EQ(facts.commit_limit, 2 * kMB);
    EXPECT_EQ(facts.committed, kMB);
    EXPECT_EQ(facts.huge_pages, 12u);
    EXPECT_EQ(facts.free_huge_pages, 7u);
    EXPECT_EQ(facts.huge_page_bytes, 2 * kMB);
    EXPECT_EQ(facts.overcommit, 2);
    EXPECT_EQ(facts.overcommit_ratio, 80);
    EXPECT_EQ(facts.transparent_pages, "never");
    EXPECT_EQ(facts.nvidia_driver, "535.104.05");
    EXPECT_TRUE(facts.has_nvidia_device);
    EXPECT_EQ(facts.processor_quota, 1.5) << "of the parent";
    EXPECT_EQ(facts.shared_memory, 0u);
    EXPECT_GT(facts.allowed_processors, 0u);
}

TEST(Machine, VariantsOfFiles) {
    MachineFiles open, older, bare;
    open.with("/proc/driver/nvidia/version",
              "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build")
        .with("/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de")
        .with("/sys/bus/pci/devices/0000:01:00.0/class", "0x040300");
    EXPECT_EQ(look_at_machine(open.root()).nvidia_driver, "580.65.06");
    EXPECT_FALSE(look_at_machine(open.root()).has_nvidia_device) << "a sound device";
    older.with("/proc/self/cgroup", "2:cpu,cpuacct:/a")
        .with("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1")
        .with("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000")
        .with("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
    EXPECT_EQ(look_at_machine(older.root()).processor_quota, 4);
    MachineFacts nothing = look_at_machine(bare.root());
    EXPECT_EQ(nothing.transparent_pages + nothing.nvidia_driver, "");
    EXPECT_EQ(nothing.processor_quota, 0);
    EXPECT_EQ(nothing.huge_pages + nothing.commit_limit, 0u);
}

TEST(Check, SaysNothingWhereNothingHurts) {
    EXPECT_EQ(advice_for(good_findings()), std::vector<std::string>{});
    EXPECT_EQ(advice_for(without_gpu(good_findings())), std::vector<std::string>{});
    EXPECT_EQ(line_of(good_findings(), "NVIDIA driver"), "580.65.06 for CUDA 13.0");
    EXPECT_EQ(line_of(good_findings(), "GPU 0"),
              "a GPU, compute capability 9.0, 80.0 GiB, 64.0 GiB for joins: ready");
    EXPECT_EQ(where_joins_run(good_findings()), "GPU 0, or the CPU where one has no room");
    EXPECT_EQ(where_joins_run(without_gpu(good_findings())), "the CPU");
}

TEST(Check, NamesTheDriverThatIsNeeded) {
    Findings findings = good_findings();
    findings.machine.nvidia_driver = "535.104.05";
    findings.cuda_driver = "12.2";
    expect_advice(findings, "NVIDIA driver", "too old for CUDA 13.0: install driver 580 or later");
    findings.cuda_driver = "13.1";
    EXPECT_EQ(advice_for(findings).size(), 0u) << "a later one";
    findings.cuda_runtime = "13.2";
    EXPECT_EQ(advice_for(findings).size(), 0u) << "of the same major version";

    findings = good_findings();
    findings.cuda_driver = "";
    expect_advice(findings, "NVIDIA driver", "Container Toolkit");
    findings.machine.nvidia_driver = "";
    expect_advice(findings, "NVIDIA driver", "install driver 580 or later");
    findings.has_cuda_engine = false;
    expect_advice(findings, "NVIDIA driver", "-cuda");
}

TEST(Check, WhyADriverIsInsufficient) {
    EXPECT_EQ(why_driver_is_insufficient({0, 13000}), "there is no NVIDIA driver (580 or later)");
    EXPECT_EQ(why_driver_is_insufficient({11040, 12080}),
              "the NVIDIA driver is too old: it is for CUDA 11.4, and CUDA 12.8 needs driver 525 or later");
    EXPECT_EQ(driver_branch_for(11080), 450);
    EXPECT_EQ(driver_branch_for(13000), 580);
}

TEST(Check, Memory) {
    Findings findings = good_findings();
    findings.machine.memory_limit = 16 * kGB;
    expect_advice(findings, "memory", "lower gpujoin.host_memory");
    findings.host_memory = 8 * kGB;
    EXPECT_EQ(advice_for(findings).size(), 1u) << "with what is kept";
    findings.keep_memory = 2 * kGB;
    EXPECT_EQ(advice_for(findings).size(), 0u);
    EXPECT_EQ(line_of(findings, "memory"), "64.0 GiB, control group's limit 16.0 GiB");

    findings = good_findings();
    findings.machine.overcommit = 2;
    findings.machine.commit_limit = 40 * kGB;
    findings.machine.committed = 20 * kGB;
    expect_advice(findings, "overcommit", "vm.overcommit_ratio");
    findings.machine.overcommit = 0;
    EXPECT_EQ(advice_for(findings).size(), 0u);
}

TEST(Check, PinnedMemory) {
    Findings findings = good_findings();
    findings.machine.locked_memory = 64 << 10;
    EXPECT_EQ(advice_for(findings).size(), 0u) << "the limit does no harm";
    findings.pinned = failure(Fault::Error, "58000", "it was refused");
    expect_advice(findings, "locked memory", "LimitMEMLOCK");
    findings.machine.locked_memory = kNoLimit;
    expect_advice(findings, "locked memory", "it was refused.");
    findings.devices.pop_back();
    EXPECT_EQ(advice_for(findings).size(), 0u) << "nothing is pinned then";
}

TEST(Check, WhatElseHurts) {
    Findings findings = good_findings();
    findings.machine.transparent_pages = "never";
    expect_advice(findings, "huge pages", "madvise");
    findings = good_findings();
    findings.machine.shared_memory = findings.machine.free_shared_memory = 64 * kMB;
    expect_advice(findings, "/dev/shm", "--shm-size");
    findings.machine.shared_memory = 0;
    expect_advice(findings, "/dev/shm", "tmpfs");
    findings = good_findings();
    findings.machine.processor_quota = 2.5;
    expect_advice(findings, "processors", "gpujoin.cpu_threads = 2.");
    findings.cpu_threads = 3;
    EXPECT_EQ(advice_for(findings).size(), 0u);
    findings = good_findings();
    findings.machine.open_files = 256;
    expect_advice(findings, "open files", "LimitNOFILE");
}

TEST(Check, WhenTheServerCannotWork) {
    Findings findings = without_gpu(good_findings());
    EXPECT_EQ(why_it_cannot_work(findings), "") << "there is the CPU";
    findings.made = failure(Fault::Error, "58000", "could not create shared memory");
    EXPECT_EQ(why_it_cannot_work(findings), "could not create shared memory");
    findings.made = {};
    findings.machine.memory_limit = 256 * kMB;
    EXPECT_NE(why_it_cannot_work(findings), "") << "staging memory takes all";
}

}  // namespace gpujoin::test
