// Compression of kept columns: most columns have few different values in a chunk, or values that lie close
// together, and are kept in a half or a fourth of the memory. Integers become offsets from the least of them
// (frame of reference: Goldstein et al., 1998), of one, two or four bytes, and texts numbers of the entries
// of a dictionary, which is the chunk's own. Codes have whole bytes, so that each row can be read by itself,
// on a processor as fast as before and on a GPU from less memory. A column of one value has no codes at all.
#pragma once

#include "engine/kept/kept_values.h"

namespace gpujoin {

// Compresses a plain column of so many rows, whose bounds are complete, if it takes less memory then. Else,
// or where the ledger has no room for a dictionary beside the values, it stays as it is.
void compress(KeptValues& values, uint64_t rows, Ledger* ledger);

}  // namespace gpujoin
