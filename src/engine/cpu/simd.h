// GPUJOIN_VECTOR marks a function of loops that gain from wide vectors: it is compiled for several
// instruction sets, and the best that the processor has is chosen when the program starts.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
#define GPUJOIN_VECTOR __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
#else
// Sanitizers are not ready yet when the choice is made.
#define GPUJOIN_VECTOR
#endif
