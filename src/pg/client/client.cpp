// A client's side of a session. Messages arrive at any time: whatever has arrived is taken in by
// take_messages(), which checks it against what this client has asked for and files it away (a block is free
// again, a result is queued, an answer is there); every function then looks at the filed state, and waits for
// more if it has to. Taking in never sends, so that it may also run while a send waits for room.
#include "pg/client/client.h"
#include "pg/client/client_state.h"

#include <cstring>
#include <unistd.h>

#include "pg/allocate.h"
#include "pg/report.h"
#include "pg/server_state.h"
#include "pg/settings.h"

extern "C" {
#include "storage/latch.h"
#include "utils/backend_status.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
}

namespace gpujoin {

namespace {

constexpr int kConnectPatienceMs = 10000;
constexpr int kConnectRetryMs = 20;

// --- Life of a client

void disconnect(Client* client) {
    channel_close(&client->channel);
    if (client->arena) release_arena(client->arena);
    client->arena = nullptr;
}

void on_context_reset(void* client) {
    disconnect(static_cast<Client*>(client));
}

Client* make_client(MemoryContext parent) {
    MemoryContext context = AllocSetContextCreate(parent, "gpujoin client", ALLOCSET_SMALL_SIZES);
    auto* client = zeroed_in<Client>(context);
    client->context = context;
    client->channel = Channel{};
    client->on_reset.func = on_context_reset;
    client->on_reset.arg = client;
    MemoryContextRegisterResetCallback(context, &client->on_reset);
    return client;
}

ResultShape make_shape(const Client* client, int count) {
    return {zeroed_in<ColumnSpec>(client->context, count), count};
}

ResultShape shape_of_join(const Client* client, const JoinSpec* spec) {
    ResultShape shape = make_shape(client, spec->outputs + spec->carried);
    for (int i = 0; i < spec->outputs; i++) shape.columns[i] = spec->build[spec->output[i]];
    for (int i = 0; i < spec->carried; i++) shape.columns[spec->outputs + i] = spec->probe[spec->carry[i]];
    // A join may give NULL where its input has none.
    for (int i = 0; i < shape.count; i++) shape.columns[i].nullable = 1;
    return shape;
}

ResultShape shape_of_inputs(const Client* client) {
    const FragmentSpec* spec = client->fragment.spec;
    ResultShape shape = make_shape(client, spec->inputs);
    for (int i = 0; i < shape.count; i++) shape.columns[i] = column_of(client->fragment, spec->input[i]);
    return shape;
}

ResultShape shape_of_groups(const Client* client) {
    ResultShape shape = make_shape(client, static_cast<int>(group_columns(*client->fragment.spec)));
    for (int i = 0; i < shape.count; i++) shape.columns[i] = group_column(client->fragment, i);
    return shape;
}

void remember_fragment(Client* client, const FragmentView* fragment) {
    client->fragment = *fragment;
    if (fragment->is_plain_join()) {
        const JoinSpec* spec = &fragment->stages[0].join;
        client->results = client->escaped_rows = shape_of_join(client, spec);
        client->names_probe_rows = spec->names_probe_rows != 0;
        client->has_build_rows = spec->client_decides != 0;
        return;
    }
    client->results = client->escaped_rows = shape_of_inputs(client);
    client->names_probe_rows = fragment->spec->sink == SinkKind::Rows && !fragment->stages.empty();
    if (fragment->spec->sink == SinkKind::Groups) client->results = shape_of_groups(client);
}

void add_block(Client* client, const BlockRange& range, bool is_extra) {
    if (range.bytes == 0 || !is_inside(client->arena, range))
        report_malformed("It grants a block outside of the shared memory.");
    Assert(client->block_count < kInputBlocks);
    client->blocks[client->block_count++] =
        InputBlock{range, BlockState::Free, is_extra, MessageType::Append, 0};
}

// The session is over.
void fail(Client* client, const Status& why) {
    if (!client->keeps_refusal || !is_short_of_memory(why)) report_failure(why);
    client->was_refused = true;
    client->refusal = why;
}

// --- Taking in messages

void check_result(const Client* client, const Message& message) {
    const auto& body = message.as<BatchBody>();
    if (client->unfinished_count == 0 || message.header->sequence != client->unfinished[0].sequence)
        report_malformed("It is a result of a batch that is not under way.");
    if (!is_inside(client->arena, body.block))
        report_malformed("It names a block outside of the shared memory.");
    if (body.rows == 0) return;
    const ResultShape& shape = body.undecided ? client->escaped_rows : client->results;
    std::span<const ColumnSpec> columns{shape.columns, static_cast<size_t>(shape.count)};
    if (Status checked = validate_buffers(columns, message.columns, body.rows, body.block.bytes);
        !checked.ok())
        report_malformed(checked.detail);

    auto holds = [&body](uint64 offset, uint64 bytes) {
        return offset % 8 == 0 && offset <= body.block.bytes && bytes <= body.block.bytes - offset;
    };
    if (body.probe_rows != kNoBuffer && !holds(body.probe_rows, body.rows * sizeof(uint32)))
        report_malformed("Its probe row numbers are outside of the block.");
    if (body.build_rows != kNoBuffer && !holds(body.build_rows, body.rows * sizeof(uint64)))
        report_malformed("Its build row numbers are outside of the block.");
    if (client->unfinished[0].names_probe_rows && body.probe_rows == kNoBuffer)
        report_malformed("It has no probe row numbers.");
    if (client->has_build_rows && body.build_rows == kNoBuffer)
        report_malformed("It has no build row numbers.");
}

void queue_result(Client* client, const Message& message) {
    auto* result = allocate<QueuedResult>(client->context, 1, message.columns.size_bytes(), 0);
    result->next = nullptr;
    result->sequence = message.header->sequence;
    result->body = message.as<BatchBody>();
    if (!message.columns.empty())
        memcpy(result->columns, message.columns.data(), message.columns.size_bytes());
    if (client->last_result)
        client->last_result->next = result;
    else
        client->first_result = result;
    client->last_result = result;
}

// The block of a finished batch is ours again. False where no block was sent under that number.
bool free_block(Client* client, MessageType sent_as, uint64 sequence) {
    for (InputBlock& block : std::span(client->blocks, client->block_count)) {
        if (block.state != BlockState::Sent || block.sent_as != sent_as || block.sequence != sequence)
            continue;
        block.state = block.is_extra ? BlockState::Spare : BlockState::Free;
        return true;
    }
    return false;
}

void take_result(Client* client, const Message& message) {
    check_result(client, message);
    queue_result(client, message);
    if (!message.as<BatchBody>().last) return;
    free_block(client, MessageType::Probe, message.header->sequence);  // scans have none
    client->unfinished_count--;
    memmove(client->unfinished, client->unfinished + 1, client->unfinished_count * sizeof(Unfinished));
}

void take_answer(Client* client, const Message& message) {
    if (client->is_answered || message.header->type != client->expected ||
        message.header->stage != client->expected_stage)
        report_malformed("It is no answer to a question.");
    memcpy(&client->answer, message.body, body_bytes(message.header->type));
    if (message.header->type == MessageType::FoundChunks && !take_found_chunks(client, message))
        report_malformed("It is not of the chunks that were asked for.");
    client->is_answered = true;
}

// Sequence 0 ends the session; any other refuses the question of that number.
void take_failure(Client* client, const Message& message) {
    bool is_refusal = message.header->sequence != 0 && !client->is_answered &&
                      message.header->sequence == client->expected_sequence;
    if (!is_refusal) return fail(client, message.as<Status>());
    client->answer.refusal = message.as<Status>();
    client->is_answered = client->is_refused = true;
}

void take_seal_report(Client* client, const Message& message) {
    uint32 stage = message.header->stage;
    if (stage >= client->fragment.stages.size()) report_malformed("It names a stage that does not exist.");
    client->seal_reports[stage] = message.as<SealReport>();
    client->is_sealed[stage] = true;
}

void take_message(Client* client, const Message& message) {
    uint64 sequence = message.header->sequence;
    switch (message.header->type) {
        case MessageType::Appended:
            if (!free_block(client, MessageType::Append, sequence) &&
                !free_block(client, MessageType::AppendKept, sequence))
                report_malformed("It acknowledges a batch that was not sent.");
            return;
        case MessageType::Marked:
            if (!free_block(client, MessageType::MarkMatched, sequence))
                report_malformed("It acknowledges a batch that was not sent.");
            return;
        case MessageType::Result:
            return take_result(client, message);
        case MessageType::Sealed:
            return take_seal_report(client, message);
        case MessageType::Failed:
            return take_failure(client, message);
        default:
            return take_answer(client, message);
    }
}

// Takes in all messages that have arrived. False when there were none. Nothing comes after a refusal.
bool take_messages(Client* client) {
    for (bool is_any = false;; is_any = true) {
        if (client->was_refused) return true;
        Message message;
        Status why;
        int descriptor;
        Reply reply = channel_receive(&client->channel, &message, &descriptor, &why);
        if (reply == Reply::Nothing) return is_any;
        if (reply != Reply::Got) report_failure(why);
        if (descriptor >= 0) {
            close(descriptor);
            report_malformed("It carries a descriptor.");
        }
        take_message(client, message);
    }
}

// Waits for the server and takes in what has arrived.
void wait_for_messages(Client* client) {
    channel_wait(&client->channel, WL_SOCKET_READABLE, kLookMs);
    if (!take_messages(client) && !server_is_alive(client->channel.generation)) report_failure(server_lost());
}

// --- Sending

InputBlock* find_block(Client* client, uint64 offset, BlockState state) {
    for (InputBlock& block : std::span(client->blocks, client->block_count))
        if (block.range.offset == offset && block.state == state) return &block;
    elog(ERROR, "block is not in the expected state");
    pg_unreachable();
}

}  // namespace

[[noreturn]] void report_malformed(const char* detail) {
    report_failure(malformed_answer(detail));
}

void send_message(Client* client, MessageType type, uint64 sequence, const void* body,
                  std::span<const std::byte> tail, uint32 stage) {
    uint32 bytes =
        encode(type, client->key.session, sequence, body, body_bytes(type), tail, packet_buffer(), stage);
    for (;;) {
        if (client->was_refused) return;
        Reply reply = channel_send(&client->channel, bytes);
        if (reply == Reply::Got) return;
        take_messages(client);  // also finds out why a lost server has gone
        if (client->was_refused) return;
        if (reply != Reply::Nothing || !server_is_alive(client->channel.generation))
            report_failure(server_lost());
        channel_wait(&client->channel, WL_SOCKET_READABLE | WL_SOCKET_WRITEABLE, kLookMs);
    }
}

bool ask(Client* client, const Inquiry& question, MessageType expected) {
    const uint64 sequence = question.type == MessageType::Reserve ? ++client->last_sequence : 0;
    client->expected = expected;
    client->expected_stage = names_stage(expected) ? question.stage : 0;
    client->expected_sequence = sequence;
    client->is_answered = client->is_refused = false;
    send_message(client, question.type, sequence, question.body, question.tail, question.stage);
    take_messages(client);
    while (!client->is_answered && !client->was_refused) wait_for_messages(client);
    return !client->is_refused && !client->was_refused;
}

uint64 hand_over(Client* client, const Block* block, MessageType type) {
    InputBlock* taken = find_block(client, block->offset, BlockState::Taken);
    taken->state = BlockState::Sent;
    taken->sent_as = type;
    return taken->sequence = ++client->last_sequence;
}

void add_unfinished(Client* client, uint64 sequence, bool names_probe_rows) {
    if (client->unfinished_count == kMaxUnfinished) elog(ERROR, "too many batches are under way");
    client->unfinished[client->unfinished_count++] = Unfinished{sequence, names_probe_rows};
}

namespace {

void release_range(Client* client, const BlockRange& range) {
    if (range.bytes == 0) return;
    ReleaseBody body{range.offset};
    send_message(client, MessageType::Release, 0, &body);
}

// Gives back the extra blocks that are done with.
void release_spare_blocks(Client* client) {
    for (int i = 0; i < client->block_count;) {
        InputBlock* block = &client->blocks[i];
        if (block->state != BlockState::Spare) {
            i++;
            continue;
        }
        BlockRange range = block->range;
        *block = client->blocks[--client->block_count];
        release_range(client, range);
    }
}

uint64 send_batch(Client* client, MessageType type, uint32 stage, const Block* block, uint32 rows,
                  std::span<const ColumnBuffers> columns) {
    BatchBody body = {};
    body.block = BlockRange{block->offset, block->bytes};
    body.rows = rows;
    body.columns = static_cast<uint16>(columns.size());
    body.probe_rows = body.build_rows = kNoBuffer;
    uint64 sequence = hand_over(client, block, type);
    if (type == MessageType::Probe) add_unfinished(client, sequence, client->names_probe_rows);
    send_message(client, type, sequence, &body, std::as_bytes(columns), stage);
    return sequence;
}

// --- Opening

void accept_session(Client* client, const Message& message) {
    const auto& body = message.as<OpenedBody>();
    client->key.session = message.header->session;
    memcpy(client->key.secret, body.secret, sizeof client->key.secret);
    copy_clean_text(client->device, sizeof client->device, body.device);
    for (const BlockRange& range : body.input) add_block(client, range, false);
}

// Connects, says hello, maps the arena, and asks for a session.
Reply try_to_open(Client* client, const ServerFacts& server, TimestampTz deadline, const Question& question,
                  Status* why) {
    Reply reply = channel_connect(&client->channel, server, why);
    if (reply != Reply::Got) return reply;

    Message message;
    int descriptor;
    HelloBody hello = {MyProcPid, 0, mapped_arena()};
    reply = channel_ask(&client->channel, deadline, {MessageType::Hello, &hello}, MessageType::Welcome,
                        &message, &descriptor, why);
    if (reply != Reply::Got) return reply;
    client->arena = acquire_arena(message.as<WelcomeBody>(), descriptor, why);
    if (!client->arena) return Reply::Failed;

    reply =
        channel_ask(&client->channel, deadline, question, MessageType::Opened, &message, &descriptor, why);
    if (reply == Reply::Got) accept_session(client, message);
    return reply;
}

// Opens or attaches, with patience while a server is being started: nothing has been read yet. nullptr, with
// the reason in *refusal, when a server refuses; an error where refusal is nullptr.
Client* connect_client(MemoryContext parent, const FragmentView* fragment, const Question& question,
                       Status* refusal) {
    Client* client = make_client(parent);
    remember_fragment(client, fragment);
    TimestampTz deadline = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), kConnectPatienceMs);
    for (;;) {
        ServerFacts facts;
        read_server_facts(&facts);
        Status why = server_is_down(facts);
        if (facts.phase == ServerPhase::Ready) {
            Reply reply = try_to_open(client, facts, deadline, question, &why);
            if (reply == Reply::Got) return client;
            disconnect(client);
            if (reply != Reply::Failed) doubt_server(facts.generation);
            if (reply == Reply::Failed && refusal) {
                *refusal = why;
                client_close(client);
                return nullptr;
            }
            if (reply == Reply::Failed) report_failure(why);
        }
        if (facts.phase == ServerPhase::NotPreloaded || GetCurrentTimestamp() >= deadline)
            report_failure(why);
        channel_wait(&client->channel, 0, kConnectRetryMs);
    }
}

// --- Blocks

// A block that can be taken now: the smallest that is large enough.
InputBlock* find_takeable(Client* client, uint64 bytes) {
    InputBlock* best = nullptr;
    for (InputBlock& block : std::span(client->blocks, client->block_count)) {
        bool is_mine = block.state == BlockState::Free || block.state == BlockState::Spare;
        if (is_mine && block.range.bytes >= bytes && (!best || block.range.bytes < best->range.bytes))
            best = &block;
    }
    return best;
}

// Will waiting give a block of that size?
bool is_one_in_flight(const Client* client, uint64 bytes) {
    for (const InputBlock& block : std::span(client->blocks, client->block_count))
        if (block.state == BlockState::Sent && block.range.bytes >= bytes) return true;
    return false;
}

// Asks for one more block. False when it is refused, with the reason in client->answer.refusal.
bool reserve_block(Client* client, uint64 bytes) {
    ReserveBody body{bytes};
    if (!ask(client, {MessageType::Reserve, &body}, MessageType::Grant)) return false;
    if (client->answer.grant.block.bytes < bytes) report_malformed("It grants too small a block.");
    add_block(client, client->answer.grant.block, true);
    return true;
}

// Gets a block that is larger than all those that were granted, unless there are enough of them. The refusal
// of the last chance ends the session.
bool reserve_large_block(Client* client, uint64 bytes) {
    if (client->block_count == kInputBlocks) return false;
    for (const InputBlock& block : std::span(client->blocks, client->block_count))
        if (!block.is_extra && block.range.bytes >= bytes) return false;
    if (reserve_block(client, bytes)) return true;
    if (!client->was_refused && !is_one_in_flight(client, bytes)) fail(client, client->answer.refusal);
    return false;
}

void take(Client* client, InputBlock* found, Block* block) {
    found->state = BlockState::Taken;
    *block = Block{found->range.offset, found->range.bytes, client->arena->memory + found->range.offset};
}

bool is_any_sent_as(const Client* client, MessageType type) {
    for (const InputBlock& block : std::span(client->blocks, client->block_count))
        if (block.state == BlockState::Sent && block.sent_as == type) return true;
    return false;
}

bool is_any_sent(const Client* client) {
    for (const InputBlock& block : std::span(client->blocks, client->block_count))
        if (block.state == BlockState::Sent) return true;
    return false;
}

// Asks for results that no probe gives.
uint64 ask_for_rest(Client* client, MessageType type, const void* body) {
    client_wait_acknowledged(client);
    uint64 sequence = ++client->last_sequence;
    add_unfinished(client, sequence, false);
    send_message(client, type, sequence, body);
    return sequence;
}

// --- Results

// Drops all queued results and gives their blocks back.
void drop_results(Client* client) {
    while (QueuedResult* result = client->first_result) {
        client->first_result = result->next;
        if (!client->first_result) client->last_result = nullptr;
        release_range(client, result->body.block);
        pfree(result);
    }
}

void view_result(const Client* client, const QueuedResult* result, ResultView* view) {
    const BatchBody& body = result->body;
    std::byte* memory = client->arena->memory + body.block.offset;
    *view = {};
    view->sequence = result->sequence;
    view->rows = body.rows;
    view->last = body.last != 0;
    view->undecided = body.undecided != 0;
    view->complete = body.complete != 0;
    view->moved = body.moved != 0;
    view->column_count = body.columns;
    view->columns = result->columns;
    if (body.block.bytes == 0) return;
    view->block = Block{body.block.offset, body.block.bytes, memory};
    if (body.rows == 0) return;
    if (body.probe_rows != kNoBuffer)
        view->probe_rows = reinterpret_cast<const uint32*>(memory + body.probe_rows);
    if (body.build_rows != kNoBuffer)
        view->build_rows = reinterpret_cast<const uint64*>(memory + body.build_rows);
}

}  // namespace

Client* client_open(MemoryContext context, const FragmentView* fragment, uint64_t lent_memory,
                    Status* refusal) {
    OpenBody body = {static_cast<uint32>(fragment->stages.size()), packed_bytes(*fragment),
                     static_cast<uint64>(setting_max_join_memory) << 20,
                     static_cast<int64>(pgstat_get_my_query_id()), lent_memory};
    auto* packed = unset<std::byte>(body.bytes);
    pack(*fragment, packed);
    Client* client =
        connect_client(context, fragment, {MessageType::Open, &body, {packed, body.bytes}}, refusal);
    pfree(packed);
    return client;
}

Client* client_attach(MemoryContext context, const SessionKey* key, const FragmentView* fragment,
                      Status* refusal) {
    AttachBody body;
    memcpy(body.secret, key->secret, sizeof body.secret);
    return connect_client(context, fragment, {MessageType::Attach, &body, {}, key->session}, refusal);
}

SessionKey client_key(const Client* client) {
    return client->key;
}

const char* client_device(const Client* client) {
    return client->device;
}

void client_keep_refusal(Client* client, bool keep) {
    client->keeps_refusal = keep;
}

const Status* client_refusal(const Client* client) {
    return client->was_refused ? &client->refusal : nullptr;
}

double client_waited_ms(const Client* client) {
    return client->channel.waited_ms;
}

void client_close(Client* client) {
    MemoryContextDelete(client->context);
}

bool client_take_block(Client* client, uint64_t bytes, bool wait, Block* block) {
    for (;;) {
        take_messages(client);
        if (client->was_refused) return false;
        if (InputBlock* found = find_takeable(client, bytes)) {
            take(client, found, block);
            return true;
        }
        release_spare_blocks(client);
        if (reserve_large_block(client, bytes)) continue;
        if (client->was_refused) return false;
        if (!wait || client->first_result) return false;
        if (!is_any_sent(client)) elog(ERROR, "waiting for a block while none is in flight");
        wait_for_messages(client);
    }
}

uint64_t client_append(Client* client, uint32_t stage, const Block* block, uint32_t rows,
                       const ColumnBuffers* columns) {
    uint16 count = client->fragment.stages[stage].join.build_columns;
    return send_batch(client, MessageType::Append, stage, block, rows, {columns, count});
}

uint64_t client_probe(Client* client, const Block* block, uint32_t rows, const ColumnBuffers* columns) {
    uint16 count = client->fragment.spec->source_columns;
    return send_batch(client, MessageType::Probe, 0, block, rows, {columns, count});
}

void client_wait_acknowledged(Client* client) {
    while (!client->was_refused &&
           (is_any_sent_as(client, MessageType::Append) || is_any_sent_as(client, MessageType::MarkMatched)))
        wait_for_messages(client);
}

uint64_t client_scan_build(Client* client, bool matched) {
    ScanBuildBody body = {};
    body.matched = matched;
    return ask_for_rest(client, MessageType::ScanBuild, &body);
}

uint64_t client_flush(Client* client) {
    return ask_for_rest(client, MessageType::Flush, nullptr);
}

void client_start_seal(Client* client, uint32_t stage) {
    client_wait_acknowledged(client);
    send_message(client, MessageType::Seal, 0, nullptr, {}, stage);
}

void client_wait_sealed(Client* client, uint32_t stage, SealReport* report) {
    take_messages(client);
    while (!client->is_sealed[stage] && !client->was_refused) wait_for_messages(client);
    *report = client->seal_reports[stage];
}

bool client_receive_result(Client* client, bool wait, ResultView* result) {
    if (client->handed_out) pfree(client->handed_out);
    client->handed_out = nullptr;
    if (!client->first_result) take_messages(client);
    while (!client->first_result) {
        if (!wait || client->was_refused || client->unfinished_count == 0) return false;
        wait_for_messages(client);
    }
    QueuedResult* first = client->first_result;
    client->first_result = first->next;
    if (!client->first_result) client->last_result = nullptr;
    client->handed_out = first;
    view_result(client, first, result);
    return true;
}

void client_release(Client* client, const Block* block) {
    release_range(client, BlockRange{block->offset, block->bytes});
}

void client_skip(Client* client, uint32_t probe_row) {
    Assert(client->handed_out);
    SkipBody body = {probe_row, 0};
    send_message(client, MessageType::Skip, client->handed_out->sequence, &body);
}

void client_mark_matched(Client* client, const uint64_t* build_rows, uint64_t count) {
    while (count > 0) {
        take_messages(client);
        if (client->was_refused) return;
        // Never waits for a block: those of probes come back only when results are received.
        InputBlock* found = find_takeable(client, 0);
        if (!found) {
            if (client->block_count == kInputBlocks) elog(ERROR, "too many reports of matches are under way");
            if (!reserve_block(client, 0) && !client->was_refused) fail(client, client->answer.refusal);
            continue;
        }
        Block block;
        take(client, found, &block);
        uint64 part = Min(count, block.bytes / sizeof(uint64));
        memcpy(block.memory, build_rows, part * sizeof(uint64));
        MarkMatchedBody body = {BlockRange{block.offset, block.bytes}, part};
        uint64 sequence = hand_over(client, &block, MessageType::MarkMatched);
        send_message(client, MessageType::MarkMatched, sequence, &body);
        build_rows += part;
        count -= part;
    }
}

void client_rewind(Client* client) {
    ask(client, {MessageType::Rewind}, MessageType::Rewound);
    drop_results(client);
    client->unfinished_count = 0;
    for (InputBlock& block : std::span(client->blocks, client->block_count))
        block.state = block.is_extra ? BlockState::Spare : BlockState::Free;
}

void client_stats(Client* client, uint32_t stage, JoinStats* join, SinkStats* sink) {
    ask(client, {MessageType::GetStats, nullptr, {}, stage}, MessageType::Stats);
    *join = client->answer.stats.join;
    *sink = client->answer.stats.sink;
    copy_clean_text(join->device, sizeof join->device, client->answer.stats.join.device);
}

}  // namespace gpujoin
