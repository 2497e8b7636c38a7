// Pieces: how a partition is joined of which the keys do not tell build rows apart. Its build side is cut,
// and all rows that it is searched by, of the probe input or of an earlier build side, pass each piece.
//
// That is all there is to it where each row of the result is of one build row. Other rows are of what a row
// finds in all pieces, so rows that have found a match are flagged:
//
// - In a plain join a semijoin gives a row with its first match, and leaves it out from then on. Antijoins,
//   LEFT and FULL joins give the pairs of each piece (none for antijoins), and in the end, with an empty
//   build side, the rows without a flag.
// - In a chain, what a stage makes of a row is not known from the rows of the last one. So the stage runs
//   alone first, with each piece, to flag the rows. What is left then are partitions of rows with a flag, or
//   without one, of which all do the same in this stage: it lets them pass (with an empty build side),
//   or gives the pairs of each piece.
#pragma once

#include "pg/executor/partition.h"

namespace gpujoin {

// In the order in which they are to be joined.
struct PartitionList {
    Partition* first;
    Partition** end;
    uint64 count;
};

PartitionList empty_list();
void add_to_list(PartitionList* list, Partition* partition);

// partition: nullptr, of the join as a whole.
bool can_be_cut(const GpuJoinState* state, const Partition* partition, int stage);

// Of the current partition, of which nothing was read yet. Where the stage is searched by rows of a LEFT
// join it is that one's rows that are told apart, so that the stage can be cut next.
void add_pieces(GpuJoinState* state, const Partition* of, int stage, int count, PartitionList* list);

}  // namespace gpujoin
