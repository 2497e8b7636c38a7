// Which columns of a table a scan wants kept: in what form they are kept, and what tells them from all other
// columns and forms.
#pragma once

#include "pg/executor/batch_writer.h"
#include "pg/range_condition.h"
#include "wire/kept.h"

extern "C" {
#include "postgres.h"
#include "utils/rel.h"
}

namespace gpujoin {

// A column as it is encoded to be kept.
struct KeptForm {
    AttrNumber attribute;  // of the table; 0: an expression
    Node* expression;      // canonical (kept_expression.h), over the table's attributes
    ColumnSpec spec;
    Encoder encoder;
    KeyEncoding encoding;  // None: as an output column
    Oid declared_type;
    int scale;
    int16 type_length;
    int copy;  // of a constant, which a scan may give several times
};

struct KeptColumns {
    int count;
    bool has_news;  // something is computed that was not wanted before
    KeptForm* forms;
    ChunkColumn* columns;  // what the server knows of each
};

// Room for so many, in the current memory context.
KeptColumns make_kept_columns(int most);

// The column that is kept for one that is sent, whose values are of an attribute of the table (desc), or are
// an expression over its attributes; false where none is.
bool kept_form(const InputColumn* sent, TupleDesc desc, AttrNumber attribute, Node* expression,
               KeptForm* form);
// The one of an attribute that groups and conditions ask for. False where nobody asks for values of the type.
bool natural_form(Form_pg_attribute attribute, KeptForm* form);
// The one of an attribute, of the type that the encoding's operator reads it as.
KeptForm encoded_form(AttrNumber attribute, KeyEncoding encoding, Oid declared_type, int scale);
// The one for a condition on integers.
KeptForm kept_form_of_range(const RangeCondition* condition);
// The one that says whether a condition is true.
KeptForm kept_form_of_truth(Node* expression);

// The table's attributes that a column is made of, added to `attributes`.
Bitmapset* attributes_of_form(const KeptForm* form, Bitmapset* attributes);

// By the table's statistics: about how many bytes a value takes, of an attribute, or computed (0); and how
// many rows so many blocks have.
uint64 expected_width(Relation relation, const ColumnSpec& spec, AttrNumber attribute);
double expected_rows(Relation relation, double blocks);

// Adds a column, unless it is there; its number. What is computed is kept when it is wanted for the second
// time.
int add_kept_column(KeptColumns* columns, Relation relation, const KeptForm* form);

}  // namespace gpujoin
