// What plans of a statement have counted on in vain. A plan that counts on kept columns which turn out not to
// be kept in its form is made again without them (prospects.h), and what it wants is asked for. Where that
// does not come, since there is no room or it takes time, the next plan of the statement would be made twice,
// too. So each process remembers which tables it was, for as long as what failed is not asked for again.
#pragma once

#include "pg/keep_requests.h"

extern "C" {
#include "postgres.h"
#include "nodes/parsenodes.h"
}

namespace gpujoin {

// 0: it is none that is known by its text.
uint64 number_of_statement(const Query* query, const char* text);

// Empty: of this statement none is known, or since then something has been kept, or was lost.
TableSet counted_on_in_vain(uint64 statement);
void note_counted_in_vain(uint64 statement, const TableSet& tables);

}  // namespace gpujoin
