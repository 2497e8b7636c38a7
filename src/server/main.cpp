// gpujoin_server: the process that executes joins. See process.h for how it lives with its parent.
#include <atomic>
#include <cstdio>
#include <exception>
#include <memory>
#include <utility>

#include "engine/engine.h"
#include "server/check.h"
#include "server/log.h"
#include "server/memory_limit.h"
#include "server/options.h"
#include "server/process.h"
#include "server/server.h"
#include "wire/build.h"

namespace gpujoin {

namespace {

constexpr double kBytesOfGiB = 1u << 30;

int list_devices(const Options& options) {
    for (const DeviceDescription& device : open_devices(options)->list()) {
        if (device.number >= 0)
            printf("GPU %d: ", device.number);
        else
            printf("%s: ", device.engine == "cpu" ? "CPU" : "GPU");
        if (!device.name.empty())
            printf("%s, %u %s, %.1f GiB: ", device.name.c_str(), device.processors,
                   device.engine == "cpu" ? "threads" : "multiprocessors",
                   static_cast<double>(device.memory) / kBytesOfGiB);
        printf("%s\n", device.state.c_str());
    }
    return 0;
}

int serve(const Options& options) {
    prepare_environment();
    // The one that SIGTERM stops; before there is one, it ends the process.
    static std::atomic<Server*> serving{nullptr};
    detach_from_parent();
    set_socket_to_unlink(options.socket);
    watch_parent([] {
        if (Server* server = serving)
            server->stop();
        else
            leave_at_once(0);
    });

    uint64_t host_memory =
        options.host_memory > 0 ? options.host_memory : default_host_memory(options.shared_buffers);
    limit_spare_memory(spare_beside(host_memory));
    std::unique_ptr<Devices> devices = open_devices(options);
    ServerConfig config{options.socket, options.staging_memory, host_memory, reserve_beside(host_memory),
                        options.keep_memory.value_or(default_keep_memory(options.shared_buffers))};
    const Devices& known = *devices;
    std::unique_ptr<Server> server;
    if (Status status = Server::create(config, std::move(devices), &server); !status.ok()) {
        log_line(LogLevel::Fatal, "%s", status.message);
        return 1;
    }
    serving = server.get();
    log_line(LogLevel::Ready, "listening; joins run on %s", known.summary().c_str());
    server->run();
    return 0;
}

int run(int argc, char** argv) {
    Options options;
    if (Status status = parse_options(argc, argv, &options); !status.ok()) {
        fprintf(stderr, "gpujoin_server: %s\nTry \"gpujoin_server --help\".\n", status.message);
        return 2;
    }
    switch (options.action) {
        case Options::Action::Help:
            fputs(usage(), stdout);
            return 0;
        case Options::Action::Version:
            printf("gpujoin_server " GPUJOIN_VERSION " (build %016llx)\n",
                   static_cast<unsigned long long>(kBuildId));
            return 0;
        case Options::Action::Check:
            return check(options);
        case Options::Action::ListDevices:
            return list_devices(options);
        case Options::Action::Serve:
            break;
    }
    return serve(options);
}

}  // namespace

}  // namespace gpujoin

int main(int argc, char** argv) {
    try {
        return gpujoin::run(argc, argv);
    } catch (const std::exception& exception) {
        gpujoin::log_line(gpujoin::LogLevel::Fatal, "%s", exception.what());
        gpujoin::leave_at_once(1);
    }
}
