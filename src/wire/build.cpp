// The build's number, as the Makefile has it.
#include "wire/build.h"

namespace gpujoin {

const uint64_t kBuildId = GPUJOIN_BUILD_ID;

}  // namespace gpujoin
