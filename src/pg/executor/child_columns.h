// ChildColumns: the wire columns of one input of the node while they are being collected: where each one's
// values come from and how they are encoded. What is asked for twice is sent once.
#pragma once

#include "pg/executor/state.h"

namespace gpujoin {

// What a key column is made of.
struct Key {
    Expr* expression;  // as in the plan
    KeyEncoding encoding;
    Oid declared_type;  // of the operator on this side; of bounds the range type
    bool ordered;       // first used by a range or <>
    bool is_total;      // must be evaluated for every row without an error
    KeyPart part;
    int scale;  // Decimal64
};

struct ChildColumns {
    GpuJoinState* state;
    int child;  // the stage whose build side it is, or kProbeChild
    Side* side;
    ColumnSpec* specs;  // of the fragment's source, or of the join's build side
    Key* keys;          // key columns come first
    int key_columns;
};

// For an input, or rows, with more columns than there may be.
[[noreturn]] void refuse_columns();

// most_columns: that may come together. The specs are the fragment's own.
ChildColumns collect_columns(GpuJoinState* state, int child, ColumnSpec* specs, int most_columns);

// The child that an expression of the plan is over; kProbeChild if over none. (The planner lets no expression
// through that is over several.)
int child_of(const GpuJoinState* state, Node* expression);

// The column for a key; the same keys share one. clause: where the key is a hash, the one it is for, and this
// its probe side or not. To be called before all functions below.
uint16_t key_column(ChildColumns* columns, const Key& key, const OpExpr* clause, bool is_probe_side);

// The column that holds values of an attribute as they are, so that Datums may point at them.
uint16_t value_column(ChildColumns* columns, Form_pg_attribute attribute);

// The same for an expression of the plan.
uint16_t expression_column(ChildColumns* columns, Expr* expression);

}  // namespace gpujoin
