// Choice of the key table: by the width of the key, and by how dense integer keys are.
#include "engine/cpu/key_table.h"

#include "engine/cpu/direct_table.h"
#include "engine/cpu/slot_table.h"

namespace gpujoin::cpu {

namespace {

// A direct array of this many entries a row takes no more memory than slots would, and one access a probe.
constexpr uint64_t kDirectEntriesPerRow = 4;

template <typename Table, typename... Arguments>
Status build_table(JoinContext& join, const KeyReader& reader, RowList rows, std::unique_ptr<KeyTable>* table,
                   Arguments... arguments) {
    auto built = std::make_unique<Table>(arguments...);
    GPUJOIN_RETURN_IF_FAILED(built->build(join, reader, rows));
    *table = std::move(built);
    return {};
}

template <typename Key>
Status build_integer_table(JoinContext& join, const KeyReader& reader, RowList rows,
                           std::unique_ptr<KeyTable>* table) {
    const ColumnSpec& column = join.spec.build[join.layout.part[0].build_column];
    bool is_signed = join.layout.parts == 1 && column.order == ValueOrder::Signed &&
                     fixed_width(column.type) == sizeof(Key);
    KeySpan<Key> span;
    GPUJOIN_RETURN_IF_FAILED(count_span(join, reader, join.build.rows(), is_signed, &span));
    if (span.span > 0 && span.span <= kDirectEntriesPerRow * rows.count + kBlockRows)
        return build_table<DirectTable<Key>>(join, reader, rows, table, span);
    return build_table<SlotTable<Key>>(join, reader, rows, table);
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
            return build_table<SlotTable<HashedKey>>(join, reader, rows, table);
    }
}

}  // namespace gpujoin::cpu
