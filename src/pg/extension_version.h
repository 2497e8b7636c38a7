// Is the extension in this database of the version of the loaded library? Functions that SQL knows are those
// of its scripts, which change with ALTER EXTENSION ... UPDATE, and the library with a restart.
#pragma once

#include "pg/compat.h"

namespace gpujoin {

// For a function that SQL calls with arguments, or wants columns of, that this library does not know: raises
// an error that names both versions, and says what brings them together.
[[noreturn]] void report_other_version(FunctionCallInfo fcinfo);

// Raises it if the versions differ.
void require_same_version(FunctionCallInfo fcinfo);

}  // namespace gpujoin
