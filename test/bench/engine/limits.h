// What the hardware allows: the shortest time in which a join's algorithm could move the bytes it must move.
//
//   hash         two radix passes over both inputs and one read of the partitions: per input row one read of
//                the key for a histogram, 5 reads or writes of the row; every result written once
//   sort_merge   a radix sort of both: a read and a write of each row per key byte, one read of the key
//   index        the same sort of the build side, one read of the probe side; every result written once
//   nested_loop  one instruction for each pair, of the four times 32 that a multiprocessor issues each clock
//   keys         of integers that lie close together only the bytes in which they differ count, and four of
//                eight where these suffice, once they have been read
//   transfers    input bytes one way over the bus, or input and result bytes at once where results return
//   CPU engine   hash only: one radix pass over both inputs (a read, a write, a read); every result written
//   once
//   fragments    on either engine: source columns read once, every result written once
#pragma once

#include <cstdint>

#include "fragment_workload.h"
#include "join_run.h"

namespace gpujoin::bench {

// Bytes per second, measured on the machine.
struct Bandwidths {
    double memory = 0;  // device memory, read and written
    double writes = 0;  // device memory, only written
    double to_device = 0;
    double both_ways = 0;
    double instructions = 0;  // that all threads together may issue a second, by the device's highest clock
};

// Bytes that a join takes in and gives out: rows of both inputs as they are handed over, and results.
uint64_t input_bytes(const JoinCase& join_case);
uint64_t result_bytes(const JoinCase& join_case, uint64_t rows);

// The same of a fragment whose dimensions are given; and what it must move.
uint64_t fragment_bytes(const FragmentWorkload& workload, uint64_t result_rows);

// Seconds at least, on a device.
double device_limit(const JoinCase& join_case, uint64_t result_rows, const Bandwidths& bandwidths);

// Seconds at least, where host memory is copied at `bandwidth`, read and written; 0 where nothing is known.
double cpu_limit(const JoinCase& join_case, uint64_t result_rows, double bandwidth);

}  // namespace gpujoin::bench
