// Parsing of the server's command line.
#include "server/options.h"

#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "wire/message.h"
#include "wire/stats.h"

namespace gpujoin {

namespace {

constexpr uint64_t kMaxMemory = uint64_t{1} << 46;  // what an address space holds with room to spare
constexpr int kMaxDeviceNumber = 1023;

Status bad_value(std::string_view option, std::string_view value, const char* expected) {
    return failure(Fault::Error, "22023", "invalid value for %.*s: \"%.*s\" (expected %s)",
                   static_cast<int>(option.size()), option.data(), static_cast<int>(value.size()),
                   value.data(), expected);
}

template <typename Number>
bool parse_number(std::string_view text, uint64_t limit, Number* number) {
    uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value > limit) return false;
    *number = static_cast<Number>(value);
    return true;
}

Status parse_memory(std::string_view option, std::string_view value, uint64_t* bytes) {
    return parse_number(value, kMaxMemory, bytes) ? Status{} : bad_value(option, value, "a number of bytes");
}

Status parse_keep_memory(std::string_view option, std::string_view value, Options* options) {
    uint64_t bytes = 0;
    options->keep_memory.reset();
    if (value == "auto") return {};
    if (!parse_number(value, kMaxMemory, &bytes))
        return bad_value(option, value, "auto, or a number of bytes");
    options->keep_memory = bytes;
    return {};
}

// Of "cpu", or several of it separated by commas; 0: it is something else.
uint32_t count_cpu_engines(std::string_view value) {
    for (uint32_t count = 1; value.starts_with("cpu"); count++) {
        value.remove_prefix(3);
        if (value.empty()) return count <= kMaxReplicas ? count : 0;
        if (value.front() != ',') return 0;
        value.remove_prefix(1);
    }
    return 0;
}

Status parse_devices(std::string_view option, std::string_view value, Options* options) {
    options->devices.clear();
    const uint32_t cpu_engines = count_cpu_engines(value);
    options->cpu_engines = std::max(cpu_engines, 1u);
    if (value == "auto" || cpu_engines > 0) {
        options->device_choice = cpu_engines > 0 ? Options::DeviceChoice::Cpu : Options::DeviceChoice::Auto;
        return {};
    }
    options->device_choice = Options::DeviceChoice::Listed;
    for (std::string_view rest = value;;) {
        size_t comma = rest.find(',');
        int number = 0;
        if (!parse_number(rest.substr(0, comma), kMaxDeviceNumber, &number))
            return bad_value(option, value, "auto, cpu, or GPU numbers separated by commas");
        options->devices.push_back(number);
        if (comma == std::string_view::npos) return {};
        rest.remove_prefix(comma + 1);
    }
}

Status parse_socket(std::string_view option, std::string_view value, Options* options) {
    options->socket = value;
    if (value.empty() || value.size() >= sizeof(sockaddr_un::sun_path))
        return bad_value(option, value, "a file name of 1 to 107 bytes");
    return {};
}

Status parse_option(std::string_view option, std::string_view value, Options* options) {
    if (option == "--socket") return parse_socket(option, value, options);
    if (option == "--staging-memory") return parse_memory(option, value, &options->staging_memory);
    if (option == "--host-memory") return parse_memory(option, value, &options->host_memory);
    if (option == "--keep-memory") return parse_keep_memory(option, value, options);
    if (option == "--shared-buffers") return parse_memory(option, value, &options->shared_buffers);
    if (option == "--device-memory") return parse_memory(option, value, &options->device_memory);
    if (option == "--device") return parse_devices(option, value, options);
    if (option == "--cpu-threads")
        return parse_number(value, kMaxCpuThreads, &options->cpu_threads)
                   ? Status{}
                   : bad_value(option, value, ("0 to " + std::to_string(kMaxCpuThreads)).c_str());
    return failure(Fault::Error, "22023", "unrecognized option \"%.*s\"", static_cast<int>(option.size()),
                   option.data());
}

bool parse_action(std::string_view option, Options::Action* action) {
    if (option == "--check")
        *action = Options::Action::Check;
    else if (option == "--list-devices")
        *action = Options::Action::ListDevices;
    else if (option == "--version")
        *action = Options::Action::Version;
    else if (option == "--help")
        *action = Options::Action::Help;
    else
        return false;
    return true;
}

}  // namespace

Status parse_options(int argc, char* const* argv, Options* options) {
    for (int i = 1; i < argc; i++) {
        std::string_view option = argv[i];
        if (parse_action(option, &options->action)) continue;
        size_t equals = option.find('=');
        std::string_view value;
        if (equals != std::string_view::npos) {
            value = option.substr(equals + 1);
            option = option.substr(0, equals);
        } else if (i + 1 < argc) {
            value = argv[++i];
        } else {
            return failure(Fault::Error, "22023", "option \"%s\" is unknown or lacks its value", argv[i]);
        }
        GPUJOIN_RETURN_IF_FAILED(parse_option(option, value, options));
    }
    if (options->action == Options::Action::Serve && options->socket.empty())
        return failure(Fault::Error, "22023", "option --socket is required");
    return {};
}

const char* usage() {
    return "gpujoin_server executes joins for the PostgreSQL extension gpujoin, which starts it.\n"
           "\n"
           "Usage:\n"
           "  gpujoin_server --socket NAME [OPTION]...\n"
           "\n"
           "Options:\n"
           "  --socket NAME            UNIX socket to listen on, relative to the working directory\n"
           "  --staging-memory BYTES   shared memory that is pinned for copies (default 256 MiB)\n"
           "  --host-memory BYTES      what all joins may take together (default 0: half of what the "
           "machine,\n"
           "                           or the container, has beside PostgreSQL's shared buffers)\n"
           "  --keep-memory BYTES      what columns of tables may take that are kept; 0: none are (default "
           "auto: an\n"
           "                           eighth of the same)\n"
           "  --shared-buffers BYTES   PostgreSQL's shared buffers, for that default (default 0)\n"
           "  --device-memory BYTES    what joins may take of each GPU (default 0: four fifths of the free)\n"
           "  --device DEVICES         auto, cpu, or GPU numbers such as 0,1 (default auto);\n"
           "                           cpu,cpu: CPU engines that stand in for as many GPUs, for tests\n"
           "  --cpu-threads N          threads of the CPU engine (default 0: all)\n"
           "  --check                  print what decides how joins run on this machine, with advice where "
           "it "
           "will hurt,\n"
           "                           then exit: with 0 if the server could work with these options\n"
           "  --list-devices           print what joins can run on, then exit\n"
           "  --version                print the version, then exit\n"
           "  --help                   print this help, then exit\n"
           "\n"
           "It serves until standard input, a pipe held open by its parent, ends.\n";
}

}  // namespace gpujoin
