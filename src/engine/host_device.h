// GPUJOIN_HD marks functions that both engines use: compiled for host and device by nvcc, plain C++
// elsewhere.
#pragma once

#ifdef __CUDACC__
#define GPUJOIN_HD __host__ __device__
#else
#define GPUJOIN_HD
#endif
