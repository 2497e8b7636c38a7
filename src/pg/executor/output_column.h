// Output columns: those of an input that the query needs above the join and the engine gives back, sent so
// that the values can be used where they lie in the result block.
#pragma once

#include "pg/executor/batch_writer.h"

extern "C" {
#include "access/tupdesc.h"
}

namespace gpujoin {

// How a returned wire column becomes a Datum again. Of keys that are the bytes of a varlena, or those of a
// character(n) without its blanks, one is made in the current memory context.
enum class OutputForm : uint8_t { Value1, Value2, Value4, Value8, Pointer16, PointerBytes, Varlena, Padded };

OutputForm output_form(Form_pg_attribute attribute);
// Of a group's key that gives the attribute.
OutputForm output_form_of_key(KeyEncoding encoding, Form_pg_attribute attribute);

// Sets type and encoder of a column that carries values of the attribute.
void init_output_column(InputColumn* column, Form_pg_attribute attribute);
// The same of an expression of that type.
void init_output_column(InputColumn* column, Oid type);

}  // namespace gpujoin
