// Client: one backend's connection to the server for one running fragment. Sockets and blocks; every wait
// goes through the process latch and CHECK_FOR_INTERRUPTS. Failures are reported with ereport (58000 when the
// server is gone, after which the plan cache is reset; 53200 when memory is refused); nothing here has a
// destructor, so callers may too.
//
// A client lives in the memory context it was opened in, which closes the socket when it is reset: on
// success, error, subtransaction abort and cursor close alike. Closing is what frees everything on the
// server.
#pragma once

#include "pg/client/block.h"
#include "wire/batch.h"
#include "wire/fragment_spec.h"
#include "wire/message.h"
#include "wire/stats.h"

extern "C" {
#include "postgres.h"
}

namespace gpujoin {

struct Client;

// A batch of results. columns are what the fragment gives, relative to block.memory: outputs and carried
// columns of a plain join; the sink's inputs of a chain; groups, or where undecided the sink's inputs.
struct ResultView {
    uint64_t sequence;
    Block block;
    uint32_t rows;
    bool last;                   // of the batch it answers
    bool undecided;              // of a plain join: the filter program may have left some of the pairs
                                 // undecided; where there are groups: escaped rows
    bool complete;               // groups, none of which has come before or comes again
    bool moved;                  // the fragment has moved to the CPU engine before
    const uint32_t* probe_rows;  // nullptr in scans of the build side, and where there are groups
    const uint64_t* build_rows;  // nullptr unless client_decides
    uint32_t column_count;
    const ColumnBuffers* columns;  // valid until the next client_receive_result()
};

// Connects and opens a session, waiting a few seconds for a server that is just being started. Two input
// blocks come with it. The fragment must stay as it is as long as the client lives. lent_memory: bytes that
// it may have beyond what one may take, for rows that find none by themselves. nullptr, with the reason in
// *refusal, when the server refuses; an error where refusal is nullptr.
Client* client_open(MemoryContext context, const FragmentView* fragment, uint64_t lent_memory,
                    Status* refusal);
// Joins a session that another process of this query has opened. nullptr, with the reason in *refusal, when
// the server refuses, as it does when all other participants have left.
Client* client_attach(MemoryContext context, const SessionKey* key, const FragmentView* fragment,
                      Status* refusal);
// Whether a refusal of memory is an error (as it is at first), or is kept for the caller to look for. After a
// kept one the session is over: what sends does nothing, what waits does not, no block comes any more, and
// the client can only be closed.
void client_keep_refusal(Client* client, bool keep);
const Status* client_refusal(const Client* client);  // nullptr: none was kept
SessionKey client_key(const Client* client);
const char* client_device(const Client* client);

// A free input block of at least `bytes` bytes (0: the ordinary size). Where all are in flight: false, or,
// with `wait`, waits for the server to give one back; even then false when results have arrived, because a
// probe may be unable to go on before they are received. Larger blocks than ordinary ones are asked for, and
// given back when the batch in them is done.
bool client_take_block(Client* client, uint64_t bytes, bool wait, Block* block);

// Send the batch in a taken block; the block is the server's until it answers. columns as in BatchBody.
// Return the batch's sequence number.
uint64_t client_append(Client* client, uint32_t stage, const Block* block, uint32_t rows,
                       const ColumnBuffers* columns);
uint64_t client_probe(Client* client, const Block* block, uint32_t rows, const ColumnBuffers* columns);
// Asks for the build rows of a plain join that have (not) matched, which come as results.
uint64_t client_scan_build(Client* client, bool matched);
// Asks for the groups that are left, of all participants' probes, which come as results.
uint64_t client_flush(Client* client);

// Waits until every append was acknowledged, and has one stage sealed. Others may be built meanwhile.
void client_start_seal(Client* client, uint32_t stage);
// Waits for the answer, which all participants get.
void client_wait_sealed(Client* client, uint32_t stage, SealReport* report);

// The next result, oldest batch first. False when none comes after a refusal; without wait, when none has
// arrived yet. The block must be given
// back with client_release().
bool client_receive_result(Client* client, bool wait, ResultView* result);
void client_release(Client* client, const Block* block);
// No more rows are wanted for a row of the batch whose result was received last.
void client_skip(Client* client, uint32_t probe_row);
// Waits until the server has taken in every append and report of matches of this participant.
void client_wait_acknowledged(Client* client);
// Reports matched build rows. Does not wait for the acknowledgement: client_scan_build() does, for this
// participant's.
void client_mark_matched(Client* client, const uint64_t* build_rows, uint64_t count);

// Drops probes in flight and forgets matches and groups; keeps the build sides. Waits for the answer.
void client_rewind(Client* client);
// Figures so far of one stage, and of the whole fragment's sink.
void client_stats(Client* client, uint32_t stage, JoinStats* join, SinkStats* sink);
// Milliseconds spent waiting for the server so far.
double client_waited_ms(const Client* client);
// Closes the socket now and frees the client.
void client_close(Client* client);

}  // namespace gpujoin
