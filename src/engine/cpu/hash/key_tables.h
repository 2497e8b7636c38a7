// Which kind of key table the build rows are given, and its making.
#pragma once

#include <memory>

#include "engine/cpu/context.h"
#include "engine/cpu/hash/key_table.h"
#include "engine/cpu/hash/key_tuples.h"

namespace gpujoin::cpu {

// Builds the table of the build rows; those with a NULL in a term's column are left out.
Status make_key_table(JoinContext& join, RowList rows, std::unique_ptr<KeyTable>* table);

}  // namespace gpujoin::cpu
