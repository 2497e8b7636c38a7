// Sanitizers take many times as long, and see as much in fewer rows and steps: tests that are large ask here.
#pragma once

#include <cstdint>

namespace gpujoin::test {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

// ThreadSanitizer takes longest, and looks at what threads do, which is the same whatever the types of keys
// and the order of results are: it is given some of those.
#ifdef __SANITIZE_THREAD__
inline constexpr bool kIsForThreads = true;
#else
inline constexpr bool kIsForThreads = false;
#endif

inline constexpr uint64_t kMillion = 1'000'000;
inline constexpr uint64_t kManyRows = kIsSanitized ? kMillion / 10 : kMillion;

}  // namespace gpujoin::test
