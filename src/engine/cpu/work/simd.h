// GPUJOIN_VECTOR marks a function of loops that gain from wide vectors: it is compiled for several
// instruction sets, and the best that the processor has is chosen when the program starts.
#pragma once

#if !defined(__GNUC__) || defined(__clang__) || defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
// Sanitizers are not ready yet when the choice is made.
#define GPUJOIN_VECTOR
#elif !defined(__x86_64__)
#define GPUJOIN_VECTOR __attribute__((optimize("O3")))
#elif __GNUC__ < 12
#define GPUJOIN_VECTOR __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
#else
// x86-64-v4: AVX-512 with operations on bytes, which flags are.
#define GPUJOIN_VECTOR __attribute__((target_clones("arch=x86-64-v4", "avx2", "default"), optimize("O3")))
#endif
