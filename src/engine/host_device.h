// GPUJOIN_HD marks functions that both engines use: compiled for host and device by nvcc, plain C++
// elsewhere. GPUJOIN_UNROLL, before a loop, has nvcc unroll it, so that arrays indexed in it stay in
// registers. GPUJOIN_INLINE is for what must become part of its caller, also where that is compiled for
// several instruction sets.
#pragma once

#ifdef __CUDACC__
#define GPUJOIN_HD __host__ __device__
#else
#define GPUJOIN_HD
#endif

#ifdef __CUDA_ARCH__
#define GPUJOIN_UNROLL _Pragma("unroll")
#define GPUJOIN_INLINE __forceinline__
#else
#define GPUJOIN_UNROLL
#define GPUJOIN_INLINE inline __attribute__((always_inline))
#endif
