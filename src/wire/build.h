// Which build this is. The library and the server talk in plain bytes, laid out by their compiler, so they
// must be made of the same sources; what must be the same is named in the Makefile, which makes a number of
// its contents. Every message bears it, and so does PostgreSQL's shared memory.
#pragma once

#include <cstdint>

namespace gpujoin {

extern const uint64_t kBuildId;

}  // namespace gpujoin
