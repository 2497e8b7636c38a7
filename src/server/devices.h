// Devices: the engines that joins can run on, what each has been charged, and which one a new join gets: or
// several of a kind together (engine/replicated). The CPU engine is always there, and first.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "server/options.h"
#include "wire/fragment_spec.h"
#include "wire/message.h"

namespace gpujoin {

struct Device {
    Device(std::unique_ptr<Engine> with, std::string called);

    std::unique_ptr<Engine> engine;
    const DeviceDescription description;  // as it was at start-up
    const std::string label;              // for EXPLAIN: "GPU 0: NVIDIA H100 80GB HBM3"
    Ledger memory;                        // of the device; unused by the CPU engine
    uint32_t sessions = 0;                // the event thread's
    EngineRates rates{};                  // the event thread's; what the last calibration found

    bool is_cpu() const { return description.number < 0; }
};

class Devices {
  public:
    explicit Devices(std::unique_ptr<Engine> cpu_engine);
    void add(std::unique_ptr<Engine> engine);
    // Something to show in lists that joins cannot run on, and why (in description.state).
    void add_unusable(const DeviceDescription& description) { unusable_.push_back(description); }

    // From now on joins may run on all GPUs of the first one's model together, or on all CPU engines: those
    // that are replicated by it gain enough, while no other join is on these devices; or, where CPU engines
    // stand in for GPUs, whichever can be. Where there are fewer than two nothing changes.
    void unite();

    // For a new join. is_limited: it may take less of a device than there is, so that it gets no more than
    // one.
    Device& choose(const FragmentView& fragment, bool is_limited);
    Device& cpu() { return *usable_.front(); }
    // Those that joins can run on.
    const std::vector<std::unique_ptr<Device>>& usable() { return usable_; }

    // Pins the staging memory for every device.
    Status pin(std::byte* memory, uint64_t bytes);
    // Fills count and device[].
    void describe(const Ledger& host_memory, DevicesBody* body) const;
    // One line: what joins run on.
    std::string summary() const;
    std::vector<DeviceDescription> list() const;
    size_t gpus() const;

  private:
    Device& choose_one();
    bool are_idle() const;

    std::vector<std::unique_ptr<Device>> usable_;
    std::unique_ptr<Device> united_;  // several of usable_ as one; nullptr: there are not several of a kind
    std::vector<Device*> members_;    // these
    std::vector<DeviceDescription> unusable_;
};

// Ends the process: a device that is lost to it cannot be had back otherwise. where: in what, for the log.
[[noreturn]] void leave_for(const Device& lost, const Status& status, const std::string& where);

// Creates the engines that the options ask for. Devices that cannot be used are logged and listed.
std::unique_ptr<Devices> open_devices(const Options& options);

}  // namespace gpujoin
