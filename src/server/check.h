// gpujoin_server --check: looks at the machine as the server would at its start, and says what it found.
#pragma once

#include "server/options.h"

namespace gpujoin {

// Prints to standard output. The exit status: 0 where the server could work, be it without a GPU.
int check(const Options& options);

}  // namespace gpujoin
