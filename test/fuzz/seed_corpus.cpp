// Writes one valid packet of each type into the folder named on the command line, for the fuzzer to start
// from.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "wire/message.h"

using namespace gpujoin;

namespace {

void write_packet(const std::string& folder, MessageType type, const void* body,
                  std::span<const std::byte> tail) {
    std::vector<uint64_t> buffer(kMaxMessageBytes / 8);
    auto* bytes = reinterpret_cast<std::byte*>(buffer.data());
    uint32_t size = encode(type, 1, 1, body, body_bytes(type), tail, bytes);
    std::string name = folder + "/message-" + std::to_string(static_cast<int>(type));
    FILE* file = fopen(name.c_str(), "wb");
    if (!file || fwrite(bytes, 1, size, file) != size) perror(name.c_str());
    if (file) fclose(file);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    std::vector<std::byte> zeros(kMaxMessageBytes);
    for (auto type = MessageType::Hello; type <= MessageType::Failed;
         type = static_cast<MessageType>(static_cast<int>(type) + 1))
        write_packet(argv[1], type, zeros.data(), {});
    const ColumnBuffers columns[] = {{kNoBuffer, 0, 0, 0}, {64, 128, 256, 512}};
    // A join on probe[0] - build[0] < 7.
    auto spec = std::make_unique<JoinSpec>();
    spec->probe_columns = spec->build_columns = 1;
    spec->probe[0] = spec->build[0] = {ColumnType::Fixed8, ValueOrder::Signed, 1, 0};
    spec->program.steps = 3;
    spec->program.constants = 1;
    spec->program.constant[0] = 7;
    spec->program.step[0] = {FilterOpcode::Load, FilterType::Int64, FilterSource::Probe, 0, 0, 0};
    spec->program.step[1] = {FilterOpcode::Subtract, FilterType::Int64, FilterSource::Build, 0, 0, 0};
    spec->program.step[2] = {FilterOpcode::Less, FilterType::Int64, FilterSource::Constant, 0, 0, 0};
    std::vector<std::byte> packed(packed_bytes(*spec));
    OpenBody open{1, pack(*spec, packed.data())};
    write_packet(argv[1], MessageType::Open, &open, packed);
    write_packet(argv[1], MessageType::OpenPart, nullptr, packed);
    BatchBody batch{{0, 4096}, 8, 2, 0, 0, 4, 0};
    write_packet(argv[1], MessageType::Append, &batch, std::as_bytes(std::span(columns)));
    return 0;
}
