// Limits of control groups, in trees of files such as the kernel shows.
#include <gtest/gtest.h>
#include <unistd.h>

#include "machine_files.h"
#include "server/memory_limit.h"

namespace gpujoin::test {

namespace {

constexpr uint64_t kMB = 1u << 20;

uint64_t machine_memory() {
    return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST(MemoryLimit, WithoutGroupsItIsTheMachines) {
    MachineFiles bare, unlimited;
    EXPECT_EQ(memory_limit(bare.root()), machine_memory());
    unlimited.with("/proc/self/cgroup", "4:memory:/a\n0::/a")
        .with("/sys/fs/cgroup/a/memory.max", "max")
        .with("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712");
    EXPECT_EQ(memory_limit(unlimited.root()), machine_memory());
    EXPECT_LE(memory_limit(), machine_memory()) << "this one";
}

TEST(MemoryLimit, Version2) {
    MachineFiles machine;
    machine.with("/proc/self/cgroup", "0::/a/b").with("/sys/fs/cgroup/a/b/memory.max", "50331648");
    EXPECT_EQ(memory_limit(machine.root()), 48 * kMB);
    machine.with("/sys/fs/cgroup/a/memory.max", "41943040");
    EXPECT_EQ(memory_limit(machine.root()), 40 * kMB) << "of the parent";
    machine.with("/sys/fs/cgroup/a/b/memory.high", "33554432");
    EXPECT_EQ(memory_limit(machine.root()), 32 * kMB) << "beyond which it is slowed down";
}

TEST(MemoryLimit, Version1) {
    MachineFiles machine;
    machine.with("/proc/self/cgroup", "9:cpu,memory:/a/b\n5:devices:/c\n0::/")
        .with("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "50331648")
        .with("/sys/fs/cgroup/memory/c/memory.limit_in_bytes", "1048576");
    EXPECT_EQ(memory_limit(machine.root()), 48 * kMB);
    machine.with("/sys/fs/cgroup/memory/memory.limit_in_bytes", "16777216");
    EXPECT_EQ(memory_limit(machine.root()), 16 * kMB) << "of the root";
}

TEST(MemoryLimit, AContainerMaySeeItsGroupAsTheRoot) {
    MachineFiles first, second;
    first.with("/proc/self/cgroup", "0::/").with("/sys/fs/cgroup/memory.max", "50331648");
    EXPECT_EQ(memory_limit(first.root()), 48 * kMB);
    second.with("/proc/self/cgroup", "7:memory:/docker/0123")
        .with("/sys/fs/cgroup/memory/memory.limit_in_bytes", "50331648");
    EXPECT_EQ(memory_limit(second.root()), 48 * kMB) << "by its path from the host's";
}

TEST(MemoryLimit, JoinsTakeHalfOfWhatSharedBuffersLeave) {
    MachineFiles machine;
    machine.with("/proc/self/cgroup", "0::/").with("/sys/fs/cgroup/memory.max", "268435456");
    EXPECT_EQ(default_host_memory(0, machine.root()), 128 * kMB);
    EXPECT_EQ(default_host_memory(64 * kMB, machine.root()), 96 * kMB);
    EXPECT_EQ(default_host_memory(512 * kMB, machine.root()), 16 * kMB) << "and never nothing";
}

TEST(MemoryLimit, KeptColumnsTakeAnEighth) {
    MachineFiles machine;
    machine.with("/proc/self/cgroup", "0::/").with("/sys/fs/cgroup/memory.max", "268435456");
    EXPECT_EQ(default_keep_memory(64 * kMB, machine.root()), 24 * kMB);
    EXPECT_EQ(default_keep_memory(512 * kMB, machine.root()), 0u);
}

}  // namespace gpujoin::test
