// Writes one valid packet of each type into the folder named on the command line, for the fuzzer to start
// from.
#include <cstdio>
#include <string>
#include <vector>

#include "wire/message.h"
#include "wire/owned_fragment.h"
#include "wire/plain_fragment.h"

using namespace gpujoin;

namespace {

void write_packet(const std::string& folder, MessageType type, const void* body,
                  std::span<const std::byte> tail, const char* suffix = "") {
    std::vector<uint64_t> buffer(kMaxMessageBytes / 8);
    auto* bytes = reinterpret_cast<std::byte*>(buffer.data());
    uint32_t size = encode(type, 1, 1, body, body_bytes(type), tail, bytes);
    std::string name = folder + "/message-" + std::to_string(static_cast<int>(type)) + suffix;
    FILE* file = fopen(name.c_str(), "wb");
    if (!file || fwrite(bytes, 1, size, file) != size) perror(name.c_str());
    if (file) fclose(file);
}

// A join on probe[0] - build[0] < 7.
JoinSpec difference_join() {
    JoinSpec join{};
    join.probe_columns = join.build_columns = join.outputs = join.names_probe_rows = 1;
    join.probe[0] = join.build[0] = {ColumnType::Fixed8, ValueOrder::Signed, 1, 0};
    join.program.steps = 3;
    join.program.constants = 1;
    join.program.constant[0] = 7;
    join.program.step[0] = {FilterOpcode::Load, FilterType::Int64, FilterSource::Probe, 0, 0, 0};
    join.program.step[1] = {FilterOpcode::Subtract, FilterType::Int64, FilterSource::Build, 0, 0, 0};
    join.program.step[2] = {FilterOpcode::Less, FilterType::Int64, FilterSource::Constant, 0, 0, 0};
    return join;
}

// Two joins on equality, and groups by what the last one gives, with its sum doubled and the number of those
// below 7.
void make_groups(OwnedFragment* fragment) {
    JoinSpec join = difference_join();
    join.program = {};
    join.equalities = 1;
    FragmentSpec& spec = *fragment->spec;
    make_plain_fragment(join, &spec, fragment->stages.data());
    fragment->stages.resize(2, fragment->stages[0]);
    fragment->stages[1].probe[0] = {0, 0};
    spec.sink = SinkKind::Groups;
    spec.inputs = spec.keys = 1;
    spec.input[0] = {1, 0};
    spec.values = spec.aggregates = 2;
    const FilterStep load = {FilterOpcode::Load, FilterType::Int64, FilterSource::Probe, 0, 0, 0};
    for (FilterProgram& program : std::span(spec.value, spec.values)) {
        program = {};
        program.steps = 2;
    }
    spec.value[0].step[0] = spec.value[1].step[0] = load;
    spec.value[0].step[1] = {FilterOpcode::Add, FilterType::Int64, FilterSource::Probe, 0, 0, 0};
    spec.value[1].step[1] = {FilterOpcode::Less, FilterType::Int64, FilterSource::Constant, 0, 0, 0};
    spec.value[1].constants = 1;
    spec.value[1].constant[0] = 7;
    spec.aggregate[0] = {AggregateFunction::Sum, 0, 0, kNoNumber};
    spec.aggregate[1] = {AggregateFunction::Count, 0, kNoNumber, 1};
}

void write_open(const std::string& folder, const FragmentView& fragment, const char* suffix) {
    if (Status status = validate(fragment); !status.ok()) fprintf(stderr, "%s\n", status.detail);
    std::vector<std::byte> packed(packed_bytes(fragment));
    OpenBody open{static_cast<uint32_t>(fragment.stages.size()), pack(fragment, packed.data()), 0, 0, 0};
    write_packet(folder, MessageType::Open, &open, packed, suffix);
    write_packet(folder, MessageType::OpenPart, nullptr, packed, suffix);
}

// Two columns, and a condition on one of them.
void write_kept(const std::string& folder) {
    const ChunkColumn columns[] = {{{1}, {ColumnType::Fixed4, ValueOrder::Signed, 1, 0}, 0},
                                   {{2}, {ColumnType::Bytes, ValueOrder::Bytes, 1, 0}, 0}};
    const std::span<const std::byte> named = std::as_bytes(std::span(columns));
    const ChunkBody chunk{{1, 2, 3, 0}, 4096, 2, 0, 1, 0};
    write_packet(folder, MessageType::FindKept, &chunk, named, "-columns");
    write_packet(folder, MessageType::MakeKept, &chunk, named, "-columns");
    std::vector<std::byte> tail(sizeof(KeptCondition) + 2 * sizeof(ScannedChunk), std::byte{1});
    const std::span<const std::byte> map(tail.data(), sizeof(ChunkMap));
    const std::span<const std::byte> scanned(tail.data(), sizeof(ScannedChunk));
    const FoundChunk chunks[2] = {{{4, 3}, 100, 1, 1, {3}, {}, {}}, {}};
    const FoundChunksBody found{2, 0};
    write_packet(folder, MessageType::FoundChunks, &found, std::as_bytes(std::span(chunks)), "-chunks");
    const SealKeptBody seal{{4, 3}, 1, 1};
    write_packet(folder, MessageType::SealKept, &seal, map, "-map");
    const RenewKeptBody renewal{{1, 2, 3, 0}, 4, {5, 6}, {}, {}};
    write_packet(folder, MessageType::RenewKept, &renewal, {}, "-map");
    const ScanKeptBody all{0, 1}, some{1, 2};
    write_packet(folder, MessageType::ProbeKept, &all, scanned, "-chunk");
    write_packet(folder, MessageType::ProbeKept, &some, tail, "-condition");
    write_packet(folder, MessageType::BuildKept, &some, tail, "-condition");
    const ColumnBuffers buffers[] = {{kNoBuffer, 0, 0, 0}, {64, 128, 256, 512}};
    const AppendKeptBody rows{{0, 4096}, 8, 2, 0, 1, 0, 3, 0, 1024};
    write_packet(folder, MessageType::AppendKept, &rows, std::as_bytes(std::span(buffers)), "-rows");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    std::vector<std::byte> zeros(kMaxMessageBytes);
    for (auto type = MessageType::Hello; type <= MessageType::Failed;
         type = static_cast<MessageType>(static_cast<int>(type) + 1))
        write_packet(argv[1], type, zeros.data(), {});
    const ColumnBuffers columns[] = {{kNoBuffer, 0, 0, 0}, {64, 128, 256, 512}};
    OwnedFragment fragment(1);
    make_plain_fragment(difference_join(), fragment.spec.get(), fragment.stages.data());
    write_open(argv[1], fragment.view(), "");
    make_groups(&fragment);
    write_open(argv[1], fragment.view(), "-groups");
    BatchBody batch{{0, 4096}, 8, 2, 0, 0, 4, 0, 0, 0};
    write_packet(argv[1], MessageType::Append, &batch, std::as_bytes(std::span(columns)));
    write_kept(argv[1]);
    return 0;
}
