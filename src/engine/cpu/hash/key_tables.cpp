// Choice of the key table: by the width of the key, and by how dense integer keys are.
#include "engine/cpu/hash/key_tables.h"

#include "engine/cpu/hash/direct_table.h"
#include "engine/cpu/hash/line_table.h"
#include "engine/cpu/hash/slot_table.h"

namespace gpujoin::cpu {

namespace {

// A direct array of this many entries a row takes no more memory than slots would, and one access a probe.
constexpr uint64_t kDirectEntriesPerRow = 4;

template <typename Key>
Status build_direct_table(JoinContext& join, const KeyReader& reader, RowList rows, DirectSpan<Key> span,
                          std::unique_ptr<KeyTable>* table) {
    auto direct = std::make_unique<DirectTable<Key>>(span);
    GPUJOIN_RETURN_IF_FAILED(direct->build(join, reader, rows));
    *table = std::move(direct);
    return {};
}

// LineTable if it will do, else SlotTable.
template <typename Key>
Status build_hash_table(JoinContext& join, const KeyReader& reader, RowList rows,
                        std::unique_ptr<KeyTable>* table) {
    PartitionedTuples<Key> tuples;
    GPUJOIN_RETURN_IF_FAILED(partition_by_hash(join, reader, rows, &tuples));
    if constexpr (!kIsHashed<Key>) {
        bool built = false;
        auto lines = std::make_unique<LineTable<Key>>();
        if (!rows.list) GPUJOIN_RETURN_IF_FAILED(lines->build(join, tuples, &built));
        if (built) {
            *table = std::move(lines);
            return {};
        }
    }
    auto slots = std::make_unique<SlotTable<Key>>();
    GPUJOIN_RETURN_IF_FAILED(slots->build(join, reader, rows, tuples));
    *table = std::move(slots);
    return {};
}

template <typename Key>
Status build_integer_table(JoinContext& join, const KeyReader& reader, RowList rows,
                           std::unique_ptr<KeyTable>* table) {
    const ColumnSpec& column = join.spec.build[join.layout.part[0].build_column];
    bool is_signed = join.layout.parts == 1 && column.order == ValueOrder::Signed &&
                     fixed_width(column.type) == sizeof(Key);
    DirectSpan<Key> span;
    const uint64_t most = std::min(kDirectEntriesPerRow * rows.count + kBlockRows, BuildStore::kMaxRows);
    GPUJOIN_RETURN_IF_FAILED(count_span(join, reader, join.build.rows(), is_signed, most, &span));
    if (span.span > 0) return build_direct_table(join, reader, rows, span, table);
    return build_hash_table<Key>(join, reader, rows, table);
}

}  // namespace

Status make_key_table(JoinContext& join, RowList rows, std::unique_ptr<KeyTable>* table) {
    KeyReader reader = join.build_reader();
    if (!rows.list) rows.count = join.build.rows();
    switch (join.layout.bytes) {
        case 4:
            return build_integer_table<uint32_t>(join, reader, rows, table);
        case 8:
            return build_integer_table<uint64_t>(join, reader, rows, table);
        default:
            // Keys of 16 bytes too: kept in tuples and slots they would take half as much memory again.
            return build_hash_table<HashedKey>(join, reader, rows, table);
    }
}

}  // namespace gpujoin::cpu
