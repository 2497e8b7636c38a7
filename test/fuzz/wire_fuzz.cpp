// Fuzz target: a packet from the other side, as the server takes it in. Whatever decode() and the validators
// let pass must be safe to use as they promise: every buffer inside its block, every offset inside its data.
// Built with libFuzzer, or with standalone.cpp where that is not to be had.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "wire/message.h"
#include "wire/owned_fragment.h"

namespace gpujoin {

namespace {

constexpr uint64_t kBlockBytes = 1u << 16;

void require(bool condition) {
    if (!condition) abort();
}

// Reads every byte that a checked column may be read at; a sanitizer watches.
uint64_t read_column(const ColumnSpec& spec, const ColumnBuffers& buffers, uint64_t rows,
                     const std::vector<std::byte>& block) {
    uint64_t sum = 0;
    auto read = [&](uint64_t offset, uint64_t bytes) {
        for (uint64_t i = 0; i < bytes; i++) sum += static_cast<uint64_t>(block[offset + i]);
    };
    if (buffers.validity != kNoBuffer) read(buffers.validity, validity_bytes(rows));
    if (spec.type != ColumnType::Bytes) {
        read(buffers.values, rows * fixed_width(spec.type));
        return sum;
    }
    std::vector<uint32_t> offsets(rows + 1);
    const auto* shared = reinterpret_cast<const uint32_t*>(block.data() + buffers.values);
    if (!copy_offsets(shared, rows, buffers.data_bytes, offsets.data()).ok()) return sum;
    for (uint64_t row = 0; row < rows; row++) {
        require(offsets[row] <= offsets[row + 1] && offsets[row + 1] <= buffers.data_bytes);
        read(buffers.data + offsets[row], offsets[row + 1] - offsets[row]);
    }
    return sum;
}

// The columns that a batch is checked against follow from its own first bytes, so that all shapes occur.
void use_batch(const Message& message) {
    const auto& body = message.as<BatchBody>();
    std::vector<ColumnSpec> specs(message.columns.size());
    for (size_t i = 0; i < specs.size(); i++)
        specs[i] = {static_cast<ColumnType>((body.probe_rows + i) % 6), ValueOrder::Bytes, uint8_t(i % 2), 0};
    if (!validate_buffers(specs, message.columns, body.rows, kBlockBytes).ok()) return;
    std::vector<std::byte> block(kBlockBytes);
    for (size_t i = 0; i < block.size(); i++) block[i] = static_cast<std::byte>(i * body.build_rows >> 3);
    volatile uint64_t sum = 0;
    for (size_t i = 0; i < specs.size(); i++)
        sum = sum + read_column(specs[i], message.columns[i], body.rows, block);
}

void use_program(const FilterProgram& program, uint16_t probe_columns, uint16_t build_columns) {
    for (uint16_t i = 0; i < program.steps; i++) {
        const FilterStep& step = program.step[i];
        if (!has_source(step.opcode) || step.source == FilterSource::Stack) continue;
        require(step.operand < (step.source == FilterSource::Probe   ? probe_columns
                                : step.source == FilterSource::Build ? build_columns
                                                                     : program.constants));
    }
}

void use_join(const JoinSpec& spec) {
    for (uint16_t i = 0; i < spec.outputs; i++) require(spec.output[i] < spec.build_columns);
    for (uint16_t i = 0; i < spec.carried; i++) require(spec.carry[i] < spec.probe_columns);
    for (auto [terms, count] : {std::pair(spec.equality, spec.equalities), std::pair(spec.range, spec.ranges),
                                std::pair(spec.filter, spec.filters)})
        for (uint16_t i = 0; i < count; i++)
            require(terms[i].probe_column < spec.probe_columns && terms[i].build_column < spec.build_columns);
    use_program(spec.program, spec.probe_columns, spec.build_columns);
}

void use_ref(const FragmentView& fragment, ColumnRef ref, size_t stages) {
    if (ref.origin == kFromSource) return require(ref.column < fragment.spec->source_columns);
    require(ref.origin < stages && ref.column < fragment.stages[ref.origin].join.outputs);
}

void use_sink(const FragmentView& fragment) {
    const FragmentSpec& spec = *fragment.spec;
    for (uint16_t i = 0; i < spec.inputs; i++) use_ref(fragment, spec.input[i], fragment.stages.size());
    for (uint16_t i = 0; i < spec.keys; i++) require(spec.key[i] < spec.inputs);
    for (uint16_t i = 0; i < spec.values; i++) use_program(spec.value[i], spec.inputs, 0);
    for (uint16_t i = 0; i < spec.aggregates; i++) {
        const AggregateSpec& aggregate = spec.aggregate[i];
        bool is_input = aggregate.function == AggregateFunction::Any;
        require(aggregate.filter == kNoNumber || aggregate.filter < spec.values);
        require(aggregate.value < (is_input ? spec.inputs : spec.values) ||
                (aggregate.value == kNoNumber && aggregate.function == AggregateFunction::Count));
    }
    for (uint32_t i = 0; i < group_columns(spec); i++) group_column(fragment, i);
}

// Whatever is taken in packed is given out packed.
void use_fragment(const Message& message) {
    OwnedFragment owned(message.as<OpenBody>().stages);
    if (!unpack(message.packed, owned.spec.get(), owned.stages).ok()) return;
    const FragmentView fragment = owned.view();
    std::vector<std::byte> again(packed_bytes(fragment));
    pack(fragment, again.data());
    require(std::ranges::equal(message.packed, again));
    if (!validate(fragment).ok()) return;
    for (size_t i = 0; i < owned.stages.size(); i++) {
        const StageSpec& stage = owned.stages[i];
        use_join(stage.join);
        for (uint16_t column = 0; column < stage.join.probe_columns; column++)
            use_ref(fragment, stage.probe[column], i);
    }
    use_sink(fragment);
}

// What is kept of tables: every element and bit that the message says it has.
void use_kept(const Message& message) {
    volatile uint64_t sum = 0;
    for (const ChunkColumn& column : message.kept_columns)
        sum = sum + column.identity[15] + static_cast<uint64_t>(column.spec.type) + column.reserved;
    for (const KeptCondition& condition : message.conditions)
        sum = sum + condition.interval.span + condition.column + condition.reserved;
    for (uint32_t block = 0; message.map && block < kChunkBlocks; block++)
        sum = sum + message.map->has(block);
    require(message.kept_columns.size() <= kMaxKeptColumns &&
            message.conditions.size() <= kMaxKeptConditions);
    if (message.header->type == MessageType::KeptTables)
        for (const KeptTable& table :
             std::span(message.as<KeptTablesBody>().table, message.as<KeptTablesBody>().count))
            sum = sum + table.rows;
}

}  // namespace

}  // namespace gpujoin

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace gpujoin;
    std::vector<uint64_t> aligned((size + 7) / 8);
    if (size > 0) memcpy(aligned.data(), data, size);
    Message message;
    if (!decode({reinterpret_cast<const std::byte*>(aligned.data()), size}, &message).ok()) return 0;
    require(message.header->bytes == size);
    if (!message.columns.empty() && message.header->type != MessageType::AppendKept) use_batch(message);
    use_kept(message);
    if (message.header->type == MessageType::Open) use_fragment(message);
    return 0;
}
