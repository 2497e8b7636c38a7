// See calibrate.h.
#include "pg/calibrate.h"

#include <cstring>

#include "pg/allocate.h"
#include "pg/client/inquiry.h"
#include "pg/compat.h"
#include "pg/shared_state.h"

namespace gpujoin {

namespace {

bool runs_joins(const DeviceBody& device, bool has_gpu) {
    return strcmp(device.state, "ready") == 0 && (strcmp(device.engine, "cuda") == 0) == has_gpu;
}

// A server's word is not trusted to be a number that can be reckoned with.
double slower(double ns, double of_device) {
    return of_device >= 0 && of_device < 1e12 ? Max(ns, of_device) : ns;
}

}  // namespace

void publish_measured(const ServerFacts& facts, const DevicesBody& devices) {
    EngineRates rates = {};
    for (uint32 i = 0; i < devices.count; i++) {
        if (!runs_joins(devices.device[i], facts.has_gpu)) continue;
        const EngineRates& of_device = devices.device[i].rates;
        rates.setup_ns = slower(rates.setup_ns, of_device.setup_ns);
        rates.build_ns = slower(rates.build_ns, of_device.build_ns);
        rates.probe_ns = slower(rates.probe_ns, of_device.probe_ns);
        rates.match_ns = slower(rates.match_ns, of_device.match_ns);
        rates.transfer_ns = slower(rates.transfer_ns, of_device.transfer_ns);
    }
    publish_rates(facts.generation, &rates);
}

bool calibrate(Status* why) {
    auto* devices = unset<DevicesBody>();
    bool is_measured = client_calibrate(devices, why);
    if (is_measured) {
        ServerFacts facts;  // of the server that has answered: it may have been another one before
        read_server_facts(&facts);
        publish_measured(facts, *devices);
    }
    pfree(devices);
    return is_measured;
}

}  // namespace gpujoin
