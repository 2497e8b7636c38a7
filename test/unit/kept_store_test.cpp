// KeptStore: what is found of a chunk, which columns join those that are there, and who makes room for whom.
#include <gtest/gtest.h>

#include "kept_rows.h"
#include "server/kept_store.h"

namespace gpujoin::test {

namespace {

constexpr ChunkKey kKey = {1, 2, 3, 0};

ChunkColumn named(uint8_t name, ColumnType type = ColumnType::Fixed4) {
    return kept_column(type, ValueOrder::Signed, name);
}

// The last one is their number. The others lie so far apart that they take four bytes each.
KeptRow row_of(int32_t row, int32_t rows, size_t columns) {
    return KeptRow(columns, kept_integer(row + 1 < rows ? row * 200000 : rows));
}

std::shared_ptr<KeptChunk> make(KeptStore& store, const ChunkKey& key,
                                const std::vector<ChunkColumn>& columns, uint16_t rows,
                                uint64_t expected = 0) {
    auto chunk = store.make(key, columns, expected);
    if (!chunk) return nullptr;
    std::vector<KeptRow> some;
    for (int32_t row = 0; row < rows; row++) some.push_back(row_of(row, rows, columns.size()));
    if (!chunk->append(KeptBatch(columns, some).view(), 0, std::vector<uint16_t>{rows}).ok()) chunk->fail();
    chunk->seal();
    return chunk;
}

ChunkMap map_of(uint32_t blocks) {
    ChunkMap map{};
    for (uint32_t block = 0; block < blocks; block++) map.add(block);
    return map;
}

void keep(KeptStore& store, const ChunkKey& key, const std::vector<ChunkColumn>& columns, uint64_t version,
          uint32_t blocks = 1, uint16_t rows = 10) {
    auto chunk = make(store, key, columns, rows);
    ASSERT_TRUE(chunk && !chunk->has_failed());
    store.put(key, {version, 100}, map_of(blocks), std::move(chunk));
}

bool has(KeptStore& store, const ChunkKey& key, const std::vector<ChunkColumn>& columns) {
    KeptStore::Found found = store.find(key, columns);
    EXPECT_EQ(!found.view.chunks.empty(), found.view.columns.size() == columns.size() && found.exists);
    return !found.view.chunks.empty();
}

KeptTablesBody describe(const KeptStore& store) {
    KeptTablesBody body{};
    store.describe(&body);
    return body;
}

}  // namespace

TEST(KeptStore, FindsColumnsByWhatTheyAre) {
    KeptStore store(1u << 24);
    EXPECT_FALSE(store.find(kKey, std::vector{named(1)}).exists);
    keep(store, kKey, {named(1), named(2)}, 7);
    EXPECT_TRUE(has(store, kKey, {named(2), named(1)}));
    EXPECT_TRUE(has(store, kKey, {}));
    EXPECT_FALSE(has(store, kKey, {named(1), named(3)}));
    EXPECT_FALSE(has(store, kKey, {named(1, ColumnType::Fixed8)}));
    EXPECT_FALSE(has(store, {1, 2, 3, 1}, {named(1)}));
    EXPECT_FALSE(has(store, {1, 2, 4, 0}, {named(1)}));
    KeptStore::Found found = store.find(kKey, std::vector{named(3), named(2)});
    EXPECT_TRUE(found.exists);
    EXPECT_EQ(found.has, (std::vector<bool>{false, true}));
    EXPECT_EQ(found.proof.version, 7u);
    EXPECT_TRUE(found.map->has(0) && !found.map->has(1));
}

TEST(KeptStore, ColumnsJoinThoseOfTheSameVersionMapAndRows) {
    struct Case {
        uint64_t version;
        uint32_t blocks;
        uint16_t rows;
        bool joins;
    };
    for (const Case& second :
         {Case{7, 1, 10, true}, Case{8, 1, 10, false}, Case{7, 2, 10, false}, Case{7, 1, 11, false}}) {
        KeptStore store(1u << 24);
        keep(store, kKey, {named(1)}, 7);
        keep(store, kKey, {named(2)}, second.version, second.blocks, second.rows);
        EXPECT_EQ(has(store, kKey, {named(1), named(2)}), second.joins);
        EXPECT_EQ(has(store, kKey, {named(1)}), second.joins);
        EXPECT_TRUE(has(store, kKey, {named(2)}));
        EXPECT_EQ(store.find(kKey, std::vector{named(2)}).proof.version, second.version);
    }
}

// What the oldest columns are true since counts for all of them.
TEST(KeptStore, ColumnsThatJoinAreTrueSinceTheFirst) {
    for (uint64_t since : {50u, 200u}) {
        KeptStore store(1u << 24);
        keep(store, kKey, {named(1)}, 7);
        auto chunk = make(store, kKey, {named(2)}, 10);
        ASSERT_TRUE(chunk && !chunk->has_failed());
        store.put(kKey, {7, since}, map_of(1), std::move(chunk));
        EXPECT_TRUE(has(store, kKey, {named(1), named(2)}));
        EXPECT_EQ(store.find(kKey, {}).proof.since, std::min<uint64_t>(since, 100));
    }
}

// Of a patch, which is true since it was made; what has the same version is true all the time.
TEST(KeptStore, PatchesThatAreMadeAgainReplaceThoseThatAreThere) {
    for (const ChunkKey& key : {kKey, kKey.patch()}) {
        KeptStore store(1u << 24);
        keep(store, key, {named(1), named(2)}, 7);
        auto chunk = make(store, key, {named(1)}, 10);
        ASSERT_TRUE(chunk && !chunk->has_failed());
        store.put(key, {7, 200}, map_of(1), std::move(chunk));
        EXPECT_EQ(store.find(key, {}).proof.since, key.is_patch() ? 200u : 100u);
        EXPECT_TRUE(has(store, key, {named(1)}));
        EXPECT_EQ(has(store, key, {named(2)}), !key.is_patch()) << "true since earlier only";
    }
}

// Cut to its blocks, where they are of the same version and have others besides.
TEST(KeptStore, ColumnsOfFewerBlocksJoinThoseThatAreCut) {
    struct Case {
        uint64_t version;
        uint32_t blocks;
        uint8_t name;
        bool joins;
    };
    for (const Case& second : {Case{7, 2, 2, true}, Case{7, 3, 2, true}, Case{7, 4, 2, false},
                               Case{8, 2, 2, false}, Case{7, 2, 1, false}}) {
        KeptStore store(1u << 24);
        keep(store, kKey, {named(1)}, 7, 3);
        const KeptView before = store.find(kKey, std::vector{named(1)}).view;
        auto chunk = make(store, kKey, {named(second.name)}, 10);
        ASSERT_TRUE(chunk && !chunk->has_failed());
        const ChunkMap map = map_of(second.blocks);
        const KeptStore::Parts parts = store.parts_to_cut(kKey, {second.version, 100}, map, *chunk);
        EXPECT_EQ(parts.size(), second.joins ? 1u : 0u);
        KeptStore::Parts cut;
        for (const auto& part : parts) cut.push_back(part->cut_to(*chunk));
        store.put(kKey, {second.version, 100}, map, std::move(chunk), parts, cut);
        const ChunkColumn other = named(second.joins ? 1 : second.name);
        EXPECT_TRUE(has(store, kKey, {other, named(second.name)}));
        EXPECT_EQ(has(store, kKey, {named(1), named(2)}), second.joins);
        EXPECT_EQ(memcmp(store.find(kKey, {}).map, &map, sizeof map), 0);
        EXPECT_EQ(before.rows_of().rows(), 10u) << "who uses it has all of its rows";
    }
}

TEST(KeptStore, PatchesGoWithTheirChunks) {
    KeptStore store(1u << 24);
    const ChunkKey patch = kKey.patch();
    const ChunkKey next{kKey.database, kKey.tablespace, kKey.relation, kKey.number + 1};
    EXPECT_TRUE(patch.is_patch() && !kKey.is_patch());
    for (const ChunkKey& key : {kKey, patch, next.patch()}) keep(store, key, {named(1)}, 7);
    keep(store, patch, {named(1)}, 7, 2);
    EXPECT_TRUE(has(store, kKey, {named(1)})) << "a patch is made again by itself";
    keep(store, kKey, {named(2)}, 7);
    EXPECT_TRUE(has(store, patch, {named(1)})) << "columns have joined the chunk";
    KeptTablesBody tables{};
    store.describe(&tables);
    ASSERT_EQ(tables.count, 1u);
    EXPECT_EQ(tables.table[0].table.number, 1u) << "of patches none is a chunk of the table";
    keep(store, kKey, {named(1)}, 8);
    EXPECT_FALSE(has(store, patch, {named(1)}));
    EXPECT_TRUE(has(store, next.patch(), {named(1)}));
    store.forget(kKey);
    EXPECT_FALSE(has(store, next.patch(), {named(1)}));
}

TEST(KeptStore, ProvesAnewWhatIsLeft) {
    KeptStore store(1u << 24);
    keep(store, kKey, {named(1)}, 7, 3);
    auto find = [&] { return store.find(kKey, std::vector{named(1)}); };
    ChunkMap other = map_of(3);
    other.add(5);
    store.renew(kKey, 6, {8, 150}, other);  // of what there is no more
    store.renew({1, 2, 3, 1}, 7, {8, 150}, other);
    EXPECT_EQ(find().proof.version, 7u);
    store.renew(kKey, 7, {8, 150}, other);
    EXPECT_EQ(find().proof.version, 8u);
    EXPECT_EQ(find().proof.since, 150u);
    EXPECT_TRUE(find().map->has(2) && !find().map->has(5)) << "no block comes in this way";
    store.renew(kKey, 8, {9, 160}, map_of(2));
    EXPECT_EQ(find().proof.version, 9u);
    EXPECT_TRUE(find().map->has(1) && !find().map->has(2));
    EXPECT_EQ(find().view.chunks.size(), 1u) << "its rows are used still";
    keep(store, kKey, {named(2)}, 9, 2);
    EXPECT_TRUE(has(store, kKey, {named(1), named(2)})) << "columns can join what is left";
}

TEST(KeptStore, OneMakerAtATime) {
    KeptStore store(1u << 24);
    auto first = store.make(kKey, std::vector{named(1)}, 0);
    ASSERT_TRUE(first);
    EXPECT_FALSE(store.make(kKey, std::vector{named(2)}, 0));
    EXPECT_TRUE(store.make({1, 2, 3, 1}, std::vector{named(2)}, 0));
    EXPECT_FALSE(has(store, kKey, {named(1)}));
    store.give_up(kKey);
    auto second = make(store, kKey, {named(2)}, 5);
    ASSERT_TRUE(second);
    store.put(kKey, {1, 100}, map_of(1), std::move(second));
    EXPECT_TRUE(store.make(kKey, std::vector{named(3)}, 0));
}

TEST(KeptStore, WhatIsStaleMakesRoom) {
    // Each has some 40 kB beside what every chunk has.
    const uint64_t each = KeptChunk::kFixedBytes + 4 * 10000;
    KeptStore store(3 * each + each / 2);
    for (uint32_t relation : {1, 2, 3}) keep(store, {1, 1, relation, 0}, {named(1)}, 1, 1, 10000);
    EXPECT_FALSE(store.make({1, 1, 4, 0}, std::vector{named(1)}, 4 * 10000)) << "tables drive each other out";
    for (int round = 0; round < 8; round++)
        for (uint32_t relation : {1, 3}) EXPECT_TRUE(has(store, {1, 1, relation, 0}, {named(1)}));
    auto chunk = make(store, {1, 1, 4, 0}, {named(1)}, 10000, 4 * 10000);
    ASSERT_TRUE(chunk && !chunk->has_failed());
    store.put({1, 1, 4, 0}, {1, 100}, map_of(1), std::move(chunk));
    EXPECT_FALSE(has(store, {1, 1, 2, 0}, {named(1)}));
    for (uint32_t relation : {1, 3, 4}) EXPECT_TRUE(has(store, {1, 1, relation, 0}, {named(1)})) << relation;
    EXPECT_LE(describe(store).used, describe(store).limit);
    EXPECT_FALSE(store.make({1, 1, 5, 0}, std::vector{named(1)}, 4 * each));
    EXPECT_FALSE(store.make({1, 1, 5, 0}, std::vector{named(1)}, UINT64_MAX));
}

TEST(KeptStore, ChunksInUseStayUntilTheirUsersHaveDone) {
    KeptStore store(KeptChunk::kFixedBytes + 100000);
    keep(store, kKey, {named(1)}, 1, 1, 10000);
    {
        KeptStore::Found found = store.find(kKey, std::vector{named(1)});
        for (int i = 0; i < 8; i++) EXPECT_FALSE(has(store, kKey, {named(2)}));
        EXPECT_FALSE(store.make({1, 1, 4, 0}, std::vector{named(1)}, 90000));
        EXPECT_FALSE(has(store, kKey, {named(1)}));
        EXPECT_EQ(found.view.columns[0]->values.as<int32_t>()[9999], 10000);
        EXPECT_GT(describe(store).used, 0u);
    }
    EXPECT_EQ(describe(store).used, 0u);
    EXPECT_TRUE(store.make({1, 1, 4, 0}, std::vector{named(1)}, 90000));
}

TEST(KeptStore, WithoutMemoryNothingIsMade) {
    for (uint64_t limit : {uint64_t{0}, KeptChunk::kFixedBytes - 1}) {
        KeptStore store(limit);
        EXPECT_FALSE(store.make(kKey, std::vector{named(1)}, 0));
        EXPECT_EQ(describe(store).used, 0u);
    }
}

TEST(KeptStore, ForgetsAndDescribesTables) {
    KeptStore store(1u << 24);
    keep(store, {1, 1, 7, 0}, {named(1), named(2)}, 1);
    keep(store, {1, 1, 7, 1}, {named(1)}, 1, 1, 5);
    keep(store, {1, 1, 8, 0}, {named(1)}, 1);
    EXPECT_TRUE(has(store, {1, 1, 7, 0}, {named(1)}));
    KeptTablesBody body = describe(store);
    ASSERT_EQ(body.count, 2u);
    EXPECT_EQ(body.table[0].table, (ChunkKey{1, 1, 7, 2}));
    EXPECT_EQ(body.table[0].rows, 15u);
    EXPECT_EQ(body.table[0].columns, 2u);
    EXPECT_EQ(body.table[0].uses, 1u);
    EXPECT_EQ(body.used, body.table[0].bytes + body.table[1].bytes);
    store.forget({1, 1, 7, 99});
    EXPECT_FALSE(has(store, {1, 1, 7, 0}, {named(1)}));
    EXPECT_TRUE(has(store, {1, 1, 8, 0}, {named(1)}));
    store.forget({});
    EXPECT_EQ(describe(store).count, 0u);
    EXPECT_EQ(describe(store).used, 0u);
    for (uint32_t relation = 1; relation <= 100; relation++) keep(store, {1, 1, relation, 0}, {}, 1, 1, 0);
    EXPECT_EQ(describe(store).count, 100u);
}

}  // namespace gpujoin::test
