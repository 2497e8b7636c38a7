// Registering and running primitives.
#include "primitive_cases.h"

#include <chrono>

#include "primitives.h"

namespace gpujoin::bench {

namespace {

// Input and output of a primitive in one place.
struct PrimitiveInputs {
    Buffer buffers[4];
    PrimitiveArrays arrays;

    PrimitiveInputs(Place& place, uint64_t rows) {
        for (Buffer& buffer : buffers) buffer = place.allocate(rows * sizeof(uint32_t));
        auto column = [&](int i) { return reinterpret_cast<uint32_t*>(buffers[i].get()); };
        arrays = {rows, column(0), column(1), column(2), column(3)};
        place.fill_keys({make_keys(Distribution::Uniform, UINT32_MAX, 1), Format::Int4, 0, buffers[0].get()},
                        rows);
        place.fill_keys({make_keys(Distribution::Unique, rows, 2), Format::Int4, 0, buffers[1].get()}, rows);
    }
};

// run(arrays) returns when the output is written.
template <typename Run>
void run_primitive(benchmark::State& state, Place& place, Primitive primitive, uint64_t rows,
                   double memory_bandwidth, const Run& run) {
    PrimitiveInputs inputs(place, rows);
    const PrimitiveCheck check{primitive, inputs.arrays};
    Check expected = place.check_primitive(check, true);
    Measured measured = measure(state, expected, true, [&](bool) {
        Outcome outcome;
        auto start = std::chrono::steady_clock::now();
        run(inputs.arrays);
        outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        outcome.checked = true;
        outcome.check = place.check_primitive(check, false);
        return outcome;
    });
    if (!measured.failure.empty()) return;
    double bytes = bytes_per_row(primitive) * static_cast<double>(rows);
    state.counters[kInputRows] = state.counters[kOutputRows] = static_cast<double>(rows);
    state.counters[kWork] = static_cast<double>(rows) / measured.seconds;
    state.counters[kBytes] = bytes / measured.seconds;
    state.counters[kLimit] = memory_bandwidth > 0 ? bytes / memory_bandwidth / measured.seconds : 0;
}

Label label_of(Primitive primitive, const char* engine, const char* variant) {
    return {"W5", "16M", name_of(primitive), engine, "resident", variant};
}

void add_on_device(Session& session, Primitive primitive, uint64_t rows) {
    Device& device = *session.device;
    auto add = [&](const char* engine, const char* variant, DevicePrimitive version) {
        if (!device.has_primitive(primitive, version)) return;
        add_case(session, label_of(primitive, engine, variant), [=, &session](benchmark::State& state) {
            Device& device = *session.device;
            session.forget_inputs();
            run_primitive(
                state, device.memory(), primitive, rows, device.bandwidths().memory,
                [&](const PrimitiveArrays& arrays) { device.run_primitive(primitive, version, arrays); });
        });
    };
    add("cuda", "", DevicePrimitive::Library);
    add("legacy", primitive == Primitive::Sort ? "bitonic" : "", DevicePrimitive::Legacy);
    add("legacy", "quicksort", DevicePrimitive::LegacyQuickSort);
}

}  // namespace

void add_primitive_cases(Session& session, uint64_t device_rows, uint64_t host_rows) {
    for (Primitive primitive : kPrimitives) {
        if (session.device) add_on_device(session, primitive, device_rows);
        add_case(session, label_of(primitive, "cpu", ""), [=, &session](benchmark::State& state) {
            session.forget_inputs();
            run_primitive(state, *session.host, primitive, host_rows, 0,
                          [&](const PrimitiveArrays& arrays) { run_host_primitive(primitive, arrays); });
        });
    }
}

}  // namespace gpujoin::bench
