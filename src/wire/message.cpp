// Encoding and checking of messages. The sizes of bodies are fixed by their types, so that checking a packet
// is arithmetic on its header, and on the counts that say how long its tail is.
#include "wire/message.h"

#include <cstring>

#include "wire/build.h"

namespace gpujoin {

namespace {

static_assert(sizeof(MessageHeader) + sizeof(BatchBody) + kMaxColumns * sizeof(ColumnBuffers) <=
              kMaxMessageBytes);
static_assert(sizeof(MessageHeader) + sizeof(OpenBody) + offsetof(FragmentSpec, value) + sizeof(StageSpec) <=
                  kMaxMessageBytes,
              "a plain join needs no OpenPart");
static_assert(sizeof(MessageHeader) + sizeof(KeptTablesBody) <= kMaxMessageBytes);
static_assert(sizeof(MessageHeader) + sizeof(ScanKeptBody) + kMaxKeptConditions * sizeof(KeptCondition) +
                  kMaxScannedChunks * sizeof(ScannedChunk) <=
              kMaxMessageBytes);
static_assert(sizeof(MessageHeader) + sizeof(FoundChunksBody) + kMaxFoundChunks * sizeof(FoundChunk) <=
              kMaxMessageBytes);
static_assert(sizeof(MessageHeader) % 8 == 0 && sizeof(BatchBody) % 8 == 0, "bodies and columns are aligned");

Status malformed_message(const char* part, uint64_t value) {
    return malformed("message", part, value);
}

Status of_another_build(const MessageHeader& header) {
    return failure(Fault::Protocol, "08P01", "the other end is of another build of gpujoin")
        .with_detail("Its build is %016llx of protocol %u; here it is %016llx of protocol %u.",
                     static_cast<unsigned long long>(header.build), header.version,
                     static_cast<unsigned long long>(kBuildId), kProtocolVersion)
        .with_hint("Restart PostgreSQL after upgrading gpujoin.");
}

// What follows the body, by its type and the counts in the body.
struct TailCounts {
    uint64_t columns = 0;
    uint64_t kept_columns = 0;
    uint64_t conditions = 0;
    uint64_t scanned = 0;
    uint64_t found = 0;
    bool has_map = false;

    uint64_t bytes() const {
        return columns * sizeof(ColumnBuffers) + kept_columns * sizeof(ChunkColumn) +
               conditions * sizeof(KeptCondition) + scanned * sizeof(ScannedChunk) +
               found * sizeof(FoundChunk) + (has_map ? sizeof(ChunkMap) : 0);
    }
};

TailCounts tail_counts(const Message& message) {
    TailCounts counts;
    switch (message.header->type) {
        case MessageType::Append:
        case MessageType::Probe:
        case MessageType::Result:
            counts.columns = message.as<BatchBody>().columns;
            break;
        case MessageType::AppendKept:
            counts.columns = message.as<AppendKeptBody>().columns;
            break;
        case MessageType::FindKept:
        case MessageType::MakeKept:
            counts.kept_columns = message.as<ChunkBody>().columns;
            break;
        case MessageType::FoundChunks:
            counts.found = message.as<FoundChunksBody>().chunks;
            break;
        case MessageType::SealKept:
            counts.has_map = message.as<SealKeptBody>().keep != 0;
            break;
        case MessageType::ProbeKept:
        case MessageType::BuildKept:
            counts.conditions = message.as<ScanKeptBody>().conditions;
            counts.scanned = message.as<ScanKeptBody>().chunks;
            break;
        default:
            break;
    }
    return counts;
}

template <typename Element>
std::span<const Element> take_tail(std::span<const std::byte>* tail, uint64_t count) {
    std::span<const Element> elements{reinterpret_cast<const Element*>(tail->data()), count};
    *tail = tail->subspan(elements.size_bytes());
    return count > 0 ? elements : std::span<const Element>{};
}

bool carries_fragment(MessageType type) {
    return type == MessageType::Open || type == MessageType::OpenPart;
}

template <size_t size>
bool is_terminated(const char (&text)[size]) {
    return memchr(text, '\0', size) != nullptr;
}

bool texts_are_terminated(const Status& status) {
    return is_terminated(status.sqlstate) && is_terminated(status.message) && is_terminated(status.detail) &&
           is_terminated(status.hint);
}

bool texts_are_terminated(const DevicesBody& devices) {
    for (const DeviceBody& device : devices.device)
        if (!is_terminated(device.engine) || !is_terminated(device.name) || !is_terminated(device.state))
            return false;
    return true;
}

Status check_open(const OpenBody& body, size_t here) {
    if (body.stages > kMaxStages) return malformed_message("The number of stages", body.stages);
    if (body.bytes > kMaxOpenBytes || body.bytes < here)
        return malformed_message("The size of the specification", body.bytes);
    return {};
}

Status take_tail(std::span<const std::byte> tail, Message* message) {
    if (carries_fragment(message->header->type)) {
        message->packed = tail;
        return {};
    }
    const TailCounts counts = tail_counts(*message);
    if (counts.columns > kMaxColumns) return malformed_message("The number of columns", counts.columns);
    if (counts.kept_columns > kMaxKeptColumns)
        return malformed_message("The number of columns", counts.kept_columns);
    if (counts.conditions > kMaxKeptConditions)
        return malformed_message("The number of conditions", counts.conditions);
    if (counts.scanned > kMaxScannedChunks) return malformed_message("The number of chunks", counts.scanned);
    if (counts.found > kMaxFoundChunks) return malformed_message("The number of chunks", counts.found);
    if (tail.size() != counts.bytes())
        return malformed_message("The size of the packet", message->header->bytes);
    message->columns = take_tail<ColumnBuffers>(&tail, counts.columns);
    message->kept_columns = take_tail<ChunkColumn>(&tail, counts.kept_columns);
    message->conditions = take_tail<KeptCondition>(&tail, counts.conditions);
    message->scanned = take_tail<ScannedChunk>(&tail, counts.scanned);
    message->found = take_tail<FoundChunk>(&tail, counts.found);
    if (counts.has_map) message->map = reinterpret_cast<const ChunkMap*>(tail.data());
    return {};
}

// Checks what a receiver could not without knowing the type: texts end, counts are within their arrays.
Status check_body(const Message& message) {
    bool texts = true;
    switch (message.header->type) {
        case MessageType::Open:
            return check_open(message.as<OpenBody>(), message.packed.size());
        case MessageType::Opened:
            texts = is_terminated(message.as<OpenedBody>().device);
            break;
        case MessageType::Stats:
            texts = is_terminated(message.as<StatsBody>().join.device);
            break;
        case MessageType::Failed:
            texts = texts_are_terminated(message.as<Status>());
            break;
        case MessageType::Devices:
            if (uint32_t count = message.as<DevicesBody>().count; count > kMaxDevices)
                return malformed_message("The number of devices", count);
            texts = texts_are_terminated(message.as<DevicesBody>());
            break;
        case MessageType::KeptTables:
            if (uint32_t count = message.as<KeptTablesBody>().count; count > kMaxKeptTables)
                return malformed_message("The number of tables", count);
            break;
        default:
            break;
    }
    if (texts) return {};
    return malformed("message").with_detail("A text in it does not end.");
}

}  // namespace

uint32_t body_bytes(MessageType type) {
    switch (type) {
        case MessageType::Hello:
            return sizeof(HelloBody);
        case MessageType::Welcome:
            return sizeof(WelcomeBody);
        case MessageType::Open:
            return sizeof(OpenBody);
        case MessageType::Attach:
            return sizeof(AttachBody);
        case MessageType::Opened:
            return sizeof(OpenedBody);
        case MessageType::Reserve:
            return sizeof(ReserveBody);
        case MessageType::Grant:
            return sizeof(GrantBody);
        case MessageType::Release:
            return sizeof(ReleaseBody);
        case MessageType::Append:
        case MessageType::Probe:
        case MessageType::Result:
            return sizeof(BatchBody);
        case MessageType::Sealed:
            return sizeof(SealReport);
        case MessageType::Skip:
            return sizeof(SkipBody);
        case MessageType::MarkMatched:
            return sizeof(MarkMatchedBody);
        case MessageType::ScanBuild:
            return sizeof(ScanBuildBody);
        case MessageType::Stats:
            return sizeof(StatsBody);
        case MessageType::Devices:
            return sizeof(DevicesBody);
        case MessageType::Ping:
            return sizeof(PingBody);
        case MessageType::FindKept:
        case MessageType::MakeKept:
            return sizeof(ChunkBody);
        case MessageType::FoundKept:
            return sizeof(FoundKeptBody);
        case MessageType::AppendKept:
            return sizeof(AppendKeptBody);
        case MessageType::SealKept:
            return sizeof(SealKeptBody);
        case MessageType::RenewKept:
            return sizeof(RenewKeptBody);
        case MessageType::ProbeKept:
        case MessageType::BuildKept:
            return sizeof(ScanKeptBody);
        case MessageType::ForgetKept:
            return sizeof(ForgetKeptBody);
        case MessageType::KeptTables:
            return sizeof(KeptTablesBody);
        case MessageType::FoundChunks:
            return sizeof(FoundChunksBody);
        case MessageType::Failed:
            return sizeof(Status);
        case MessageType::GetKept:
        case MessageType::OpenPart:
        case MessageType::Appended:
        case MessageType::Seal:
        case MessageType::Marked:
        case MessageType::Flush:
        case MessageType::Rewind:
        case MessageType::Rewound:
        case MessageType::GetStats:
        case MessageType::GetDevices:
        case MessageType::Calibrate:
        case MessageType::Pong:
            return 0;
    }
    return UINT32_MAX;
}

bool names_stage(MessageType type) {
    switch (type) {
        case MessageType::Append:
        case MessageType::BuildKept:
        case MessageType::Seal:
        case MessageType::Sealed:
        case MessageType::MarkMatched:
        case MessageType::ScanBuild:
        case MessageType::GetStats:
        case MessageType::Stats:
            return true;
        default:
            return false;
    }
}

Status decode(std::span<const std::byte> packet, Message* message) {
    if (packet.size() < sizeof(MessageHeader))
        return malformed_message("The size of the packet", packet.size());
    const auto* header = reinterpret_cast<const MessageHeader*>(packet.data());
    if (header->magic != kMessageMagic) return malformed_message("The magic number", header->magic);
    if (header->version != kProtocolVersion || header->build != kBuildId) return of_another_build(*header);
    if (header->bytes != packet.size())
        return malformed_message("The size given in the header", header->bytes);
    uint32_t fixed = body_bytes(header->type);
    if (fixed == UINT32_MAX)
        return malformed_message("The message type", static_cast<uint64_t>(header->type));
    if (header->stage != 0 && !names_stage(header->type))
        return malformed_message("The stage", header->stage);
    uint64_t body = packet.size() - sizeof(MessageHeader);
    if (body < fixed) return malformed_message("The size of the packet", packet.size());

    Message decoded;
    decoded.header = header;
    decoded.body = packet.data() + sizeof(MessageHeader);
    GPUJOIN_RETURN_IF_FAILED(take_tail(packet.subspan(sizeof(MessageHeader) + fixed), &decoded));
    GPUJOIN_RETURN_IF_FAILED(check_body(decoded));
    *message = decoded;
    return {};
}

uint32_t encode(MessageType type, uint64_t session, uint64_t sequence, const void* body, uint32_t body_size,
                std::span<const std::byte> tail, std::byte* buffer, uint32_t stage) {
    uint32_t bytes = sizeof(MessageHeader) + body_size + static_cast<uint32_t>(tail.size());
    MessageHeader header{kMessageMagic, kProtocolVersion, type, bytes, stage, kBuildId, session, sequence};
    memcpy(buffer, &header, sizeof header);
    if (body_size > 0) memcpy(buffer + sizeof header, body, body_size);
    if (!tail.empty()) memcpy(buffer + sizeof header + body_size, tail.data(), tail.size());
    return bytes;
}

}  // namespace gpujoin
