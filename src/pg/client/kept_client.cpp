// See kept_client.h.
#include "pg/client/kept_client.h"

#include <cstring>

#include "pg/client/client_state.h"

namespace gpujoin {

namespace {

struct ScanKeptMessage {
    explicit ScanKeptMessage(const KeptScanView* scan)
        : body{static_cast<uint32>(scan->conditions.size()), static_cast<uint32>(scan->chunks.size())},
          tail(bytes, scan->conditions.size_bytes() + scan->chunks.size_bytes()) {
        memcpy(bytes, scan->conditions.data(), scan->conditions.size_bytes());
        memcpy(bytes + scan->conditions.size_bytes(), scan->chunks.data(), scan->chunks.size_bytes());
    }
    ScanKeptMessage(const ScanKeptMessage&) = delete;
    ScanKeptMessage& operator=(const ScanKeptMessage&) = delete;

    ScanKeptBody body;
    alignas(KeptCondition) std::byte
        bytes[kMaxKeptConditions * sizeof(KeptCondition) + kMaxScannedChunks * sizeof(ScannedChunk)];
    std::span<const std::byte> tail;
};

}  // namespace

bool take_found_chunks(Client* client, const Message& message) {
    if (message.found.size() != client->found.size()) return false;
    memcpy(static_cast<void*>(client->found.data()), message.found.data(), client->found.size_bytes());
    return true;
}

void client_find_kept(Client* client, const ChunkKey* first, uint32 count,
                      std::span<const ChunkColumn> columns, FoundChunk* found) {
    memset(static_cast<void*>(found), 0, count * sizeof *found);
    for (uint32 done = 0; done < count && !client->was_refused; done += client->found.size()) {
        ChunkBody body = {
            *first, 0, static_cast<uint32>(columns.size()), 0, Min(count - done, kMaxFoundChunks), 0};
        body.chunk.number += done;
        client->found = {found + done, body.chunks};
        ask(client, {MessageType::FindKept, &body, std::as_bytes(columns)}, MessageType::FoundChunks);
    }
    client->found = {};
}

uint32_t client_make_kept(Client* client, const ChunkKey* chunk, ExpectedChunk expected,
                          std::span<const ChunkColumn> columns) {
    ChunkBody body = {*chunk, expected.bytes, static_cast<uint32>(columns.size()), expected.rows, 0, 0};
    return ask(client, {MessageType::MakeKept, &body, std::as_bytes(columns)}, MessageType::FoundKept)
               ? client->answer.found.handle
               : 0;
}

void client_append_kept(Client* client, const Block* block, AppendKeptBody body,
                        std::span<const ColumnBuffers> columns) {
    body.block = {block->offset, block->bytes};
    body.columns = static_cast<uint16>(columns.size());
    uint64 sequence = hand_over(client, block, MessageType::AppendKept);
    send_message(client, MessageType::AppendKept, sequence, &body, std::as_bytes(columns));
}

bool client_seal_kept(Client* client, uint32_t handle, const ChunkProof& proof, const ChunkMap* map) {
    SealKeptBody body = {proof, handle, map ? 1u : 0u};
    std::span<const std::byte> tail;
    if (map) tail = std::as_bytes(std::span(map, 1));
    return ask(client, {MessageType::SealKept, &body, tail}, MessageType::FoundKept) &&
           client->answer.found.handle != 0;
}

void client_renew_kept(Client* client, const RenewKeptBody& body) {
    send_message(client, MessageType::RenewKept, 0, &body);
}

uint64_t client_probe_kept(Client* client, const KeptScanView* scan) {
    ScanKeptMessage message(scan);
    uint64 sequence = ++client->last_sequence;
    add_unfinished(client, sequence, client->names_probe_rows);
    send_message(client, MessageType::ProbeKept, sequence, &message.body, message.tail);
    return sequence;
}

uint64_t client_build_kept(Client* client, uint32_t stage, const KeptScanView* scan) {
    ScanKeptMessage message(scan);
    bool is_built =
        ask(client, {MessageType::BuildKept, &message.body, message.tail, stage}, MessageType::FoundKept);
    return is_built ? client->answer.found.rows : 0;
}

}  // namespace gpujoin
