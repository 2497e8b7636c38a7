// Runs the fuzz target without libFuzzer: on the files named on the command line, and on random variations of
// them. The seed is fixed, so that a failure comes again.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr int kVariations = 20000;

void vary(std::vector<uint8_t>* bytes, std::mt19937* random) {
    static constexpr uint8_t kEdges[] = {0, 1, 0x7f, 0x80, 0xff, 64};
    for (uint32_t changes = (*random)() % 8; changes > 0 && !bytes->empty(); changes--) {
        uint8_t value =
            (*random)() % 2 ? kEdges[(*random)() % std::size(kEdges)] : static_cast<uint8_t>((*random)());
        (*bytes)[(*random)() % bytes->size()] = value;
    }
    if ((*random)() % 16 == 0) bytes->resize((*random)() % (bytes->size() + 64));
}

}  // namespace

int main(int argc, char** argv) {
    std::mt19937 random(1);
    for (int i = 1; i < argc; i++) {
        std::ifstream file(argv[i], std::ios::binary);
        const std::vector<uint8_t> seed{std::istreambuf_iterator<char>(file), {}};
        LLVMFuzzerTestOneInput(seed.data(), seed.size());
        for (int variation = 0; variation < kVariations; variation++) {
            std::vector<uint8_t> bytes = seed;
            vary(&bytes, &random);
            LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
        }
    }
    printf("%d inputs and %d variations of each: no failure\n", argc - 1, kVariations);
}
