// The list of devices and the choice among them.
#include "server/devices.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "engine/replicated/replicated_engine.h"
#include "server/log.h"
#include "server/process.h"
#if defined(GPUJOIN_CUDA) && __has_include("cuda/engine.h")
#include "cuda/engine.h"
#define GPUJOIN_HAS_CUDA_ENGINE
#endif

namespace gpujoin {

namespace {

std::string label_of(const DeviceDescription& description) {
    if (description.number < 0) return "CPU: " + description.name;
    return "GPU " + std::to_string(description.number) + ": " + description.name;
}

DeviceBody body_of(const DeviceDescription& description) {
    DeviceBody body{};
    copy_text(description.engine, body.engine);
    copy_text(description.name, body.name);
    copy_text(description.state, body.state);
    body.number = description.number;
    body.processors = description.processors;
    body.memory = description.memory;
    body.free_memory = description.free_memory;
    body.join_memory = description.join_memory;
    return body;
}

constexpr uint64_t kFewestKeptRows = 256u << 20;
constexpr uint64_t kFewestLoopingRows = 64u << 10;
constexpr uint64_t kFewestRowsOfGroup = 16;

// Whether most of its time is the engine's, rather than that of whoever reads rows and sends them, and little
// of it goes into groups that each of several devices has.
bool takes_engine_long(const FragmentView& fragment) {
    const FragmentSpec& spec = *fragment.spec;
    if (spec.sink == SinkKind::Groups &&
        (spec.estimated_groups == 0 ||
         spec.estimated_groups > spec.estimated_source_rows / kFewestRowsOfGroup))
        return false;
    const bool loops = std::ranges::any_of(fragment.stages, [](const StageSpec& stage) {
        return stage.join.algorithm == Algorithm::NestedLoop ||
               (stage.join.equalities == 0 && stage.join.ranges == 0);
    });
    return spec.estimated_source_rows >= (loops                 ? kFewestLoopingRows
                                          : spec.source_is_kept ? kFewestKeptRows
                                                                : UINT64_MAX);
}

}  // namespace

Device::Device(std::unique_ptr<Engine> with, std::string called)
    : engine(std::move(with)),
      description(engine->describe()),
      label(std::move(called)),
      memory(description.join_memory) {}

Devices::Devices(std::unique_ptr<Engine> cpu_engine) {
    add(std::move(cpu_engine));
}

void Devices::add(std::unique_ptr<Engine> engine) {
    std::string label = label_of(engine->describe());
    usable_.push_back(std::make_unique<Device>(std::move(engine), std::move(label)));
}

size_t Devices::gpus() const {
    return static_cast<size_t>(
        std::ranges::count_if(usable_, [](const auto& device) { return !device->is_cpu(); }));
}

// A slower GPU would keep the others waiting.
void Devices::unite() {
    const bool are_cpus = gpus() == 0;
    const Device& first = *usable_[are_cpus ? 0 : 1];
    std::vector<Device*> members;
    for (const auto& device : usable_)
        if (device->is_cpu() == are_cpus && device->description.name == first.description.name &&
            members.size() < kMaxReplicas)
            members.push_back(device.get());
    if (members.size() < 2) return;
    std::vector<Replica> replicas;
    std::string label;
    for (Device* member : members) {
        replicas.push_back({member->engine.get(), are_cpus ? nullptr : &member->memory});
        label += (label.empty() ? "GPUs " : ", ") + std::to_string(member->description.number);
    }
    if (are_cpus) label = std::to_string(members.size()) + " CPU engines";
    label += ": " + first.description.name;
    united_ = std::make_unique<Device>(make_replicated_engine(std::move(replicas)), label);
    members_ = std::move(members);
}

bool Devices::are_idle() const {
    return united_->sessions == 0 &&
           std::ranges::all_of(members_, [](const Device* device) { return device->sessions == 0; });
}

Device& Devices::choose(const FragmentView& fragment, bool is_limited) {
    // Groups of several devices are not complete ones, without which a plan may have to begin anew.
    const bool may_be_together =
        united_ && !is_limited && fragment.spec->completes_groups == 0 && can_be_replicated(fragment);
    if (may_be_together && (united_->is_cpu() || (are_idle() && takes_engine_long(fragment))))
        return *united_;
    return choose_one();
}

Device& Devices::choose_one() {
    auto free_memory = [](const auto& device) { return device->memory.limit() - device->memory.used(); };
    // With equal free memory the one with the fewest joins: a join that was just opened is not charged yet.
    return **std::max_element(usable_.begin(), usable_.end(), [&](const auto& a, const auto& b) {
        if (a->is_cpu() != b->is_cpu()) return a->is_cpu();
        return free_memory(a) != free_memory(b) ? free_memory(a) < free_memory(b) : a->sessions > b->sessions;
    });
}

Status Devices::pin(std::byte* memory, uint64_t bytes) {
    for (const auto& device : usable_) GPUJOIN_RETURN_IF_FAILED(device->engine->pin(memory, bytes));
    return {};
}

void Devices::describe(const Ledger& host_memory, DevicesBody* body) const {
    auto add_body = [&](const DeviceBody& device) {
        if (body->count < kMaxDevices) body->device[body->count++] = device;
    };
    for (const auto& device : usable_) {
        DeviceBody entry = body_of(device->description);
        entry.used_memory = device->is_cpu() ? host_memory.used() : device->memory.used();
        entry.free_memory -= std::min(entry.free_memory, entry.used_memory);
        entry.sessions = device->sessions;
        if (std::ranges::count(members_, device.get()) > 0) entry.sessions += united_->sessions;
        entry.rates = device->rates;
        add_body(entry);
    }
    for (const DeviceDescription& description : unusable_) add_body(body_of(description));
}

std::string Devices::summary() const {
    if (gpus() == 0) {
        std::string reason = unusable_.empty() ? "" : " (" + unusable_.front().state + ")";
        return (united_ ? *united_ : *usable_.front()).label + reason;
    }
    std::string text;
    for (const auto& device : usable_)
        if (!device->is_cpu()) text += (text.empty() ? "" : "; ") + device->label;
    return text;
}

std::vector<DeviceDescription> Devices::list() const {
    std::vector<DeviceDescription> list;
    for (const auto& device : usable_) list.push_back(device->description);
    list.insert(list.end(), unusable_.begin(), unusable_.end());
    return list;
}

namespace {

DeviceDescription unusable(int number, std::string name, std::string state) {
    DeviceDescription description;
    description.engine = "cuda";
    description.name = std::move(name);
    description.number = number;
    description.state = std::move(state);
    return description;
}

// CPU engines share the processors.
uint32_t threads_of_each(const Options& options) {
    if (options.cpu_engines == 1) return options.cpu_threads;
    const uint32_t all = options.cpu_threads > 0 ? options.cpu_threads : std::thread::hardware_concurrency();
    return std::max(all / options.cpu_engines, 1u);
}

#ifdef GPUJOIN_HAS_CUDA_ENGINE

// Creates the engine of one GPU and adds it, or says why not.
void open_gpu(DeviceDescription gpu, uint64_t device_memory, Devices* devices) {
    std::unique_ptr<Engine> engine;
    if (gpu.state == "ready") {
        Status status = make_cuda_engine(gpu.number, device_memory, &engine);
        if (!status.ok()) gpu.state = status.message;
    }
    if (engine) {
        const uint64_t memory = engine->describe().join_memory;
        if (memory < device_memory)
            log_line(LogLevel::Warning,
                     "GPU %d has no more than %llu MB for joins, of the %llu MB that are set", gpu.number,
                     static_cast<unsigned long long>(memory >> 20),
                     static_cast<unsigned long long>(device_memory >> 20));
        devices->add(std::move(engine));
    } else {
        log_line(LogLevel::Warning, "GPU %d cannot be used: %s", gpu.number, gpu.state.c_str());
        devices->add_unusable(gpu);
    }
}

void open_gpus(const Options& options, Devices* devices) {
    std::string why_none;
    std::vector<DeviceDescription> gpus = list_cuda_devices(&why_none);
    if (gpus.empty()) devices->add_unusable(unusable(-1, "", why_none));
    for (const DeviceDescription& gpu : gpus) {
        bool listed = std::ranges::count(options.devices, gpu.number) > 0;
        if (options.device_choice == Options::DeviceChoice::Auto || listed)
            open_gpu(gpu, options.device_memory, devices);
    }
    for (int number : options.devices) {
        if (std::ranges::count(gpus, number, &DeviceDescription::number) > 0) continue;
        log_line(LogLevel::Warning, "GPU %d cannot be used: there is no such device", number);
        devices->add_unusable(unusable(number, "", "no such device"));
    }
}

#else

void open_gpus(const Options& options, Devices* devices) {
    devices->add_unusable(unusable(-1, "", "gpujoin_server was built without the CUDA engine"));
    for (int number : options.devices) devices->add_unusable(unusable(number, "", "no such device"));
}

#endif

}  // namespace

void leave_for(const Device& lost, const Status& status, const std::string& where) {
    log_line(LogLevel::Fatal, "%s is lost %s: %s: %s", lost.label.c_str(), where.c_str(), status.message,
             status.detail);
    leave_at_once(1);
}

std::unique_ptr<Devices> open_devices(const Options& options) {
    const uint32_t threads = threads_of_each(options);
    auto devices = std::make_unique<Devices>(make_cpu_engine(threads));
    for (uint32_t i = 1; i < options.cpu_engines; i++) devices->add(make_cpu_engine(threads));
    if (options.device_choice != Options::DeviceChoice::Cpu) open_gpus(options, devices.get());
    devices->unite();
    return devices;
}

}  // namespace gpujoin
