// See anticipated_columns.h.
#include "pg/executor/anticipated_columns.h"

#include "pg/allocate.h"
#include "pg/client/inquiry.h"
#include "pg/executor/kept_columns.h"
#include "pg/kept_proof.h"
#include "pg/kept_tables.h"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "storage/bufmgr.h"
#include "utils/syscache.h"
}

namespace gpujoin {

namespace {

constexpr uint32 kMostColumns = 32;  // of a request: each takes time, too
constexpr double kShareOfMemory = 2;
constexpr int32 kLongestText = 16;    // characters
constexpr double kLongestEntry = 68;  // bytes of a text that comes again, on average,
constexpr double kTimes = 16;         // and so often
constexpr double kBytesOfCode = 2;    // of such a text,
constexpr double kCompressed = 0.5;   // and what is left of an integer, about

bool has_columns_of(const KeptTablesBody* kept, const ChunkKey& files) {
    for (uint32 i = 0; i < kept->count; i++) {
        ChunkKey first = kept->table[i].table;  // its number is how many chunks there are
        first.number = 0;
        if (first == files && kept->table[i].columns > 0) return true;
    }
    return false;
}

// How many different values a column has, as the statistics say; as many as rows where they do not.
double distinct_values(Relation relation, AttrNumber attribute, double rows) {
    HeapTuple statistics = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(RelationGetRelid(relation)),
                                           Int16GetDatum(attribute), BoolGetDatum(false));
    if (!HeapTupleIsValid(statistics)) return rows;
    const double distinct = reinterpret_cast<Form_pg_statistic>(GETSTRUCT(statistics))->stadistinct;
    ReleaseSysCache(statistics);
    if (distinct == 0) return rows;
    return distinct < 0 ? -distinct * rows : distinct;
}

// What a column takes, about, and whether that is little.
struct Expected {
    double bytes;
    bool is_narrow;
};

// Texts are narrow if their type says that they are short, or if they come again, so that a dictionary has
// them: a row with a long one may not fit into a batch, and costs what was asked for its block.
Expected expect_text(Relation relation, Form_pg_attribute attribute, double width, double rows) {
    const double distinct = distinct_values(relation, attribute->attnum, rows);
    if (kTimes * distinct <= rows && width <= kLongestEntry)
        return {kBytesOfCode * rows + width * distinct, true};
    const bool says_length = attribute->atttypid == BPCHAROID || attribute->atttypid == VARCHAROID;
    const int32 length = says_length ? attribute->atttypmod - static_cast<int32>(VARHDRSZ) : -1;
    return {width * rows, length > 0 && length <= kLongestText};
}

Expected expect(Relation relation, Form_pg_attribute attribute, const KeptForm* form, double rows) {
    const auto width = static_cast<double>(expected_width(relation, form->spec, form->attribute));
    if (form->spec.type == ColumnType::Bytes) return expect_text(relation, attribute, width, rows);
    const bool is_integer = form->spec.type != ColumnType::Fixed16 && form->spec.order <= ValueOrder::Signed;
    return {(is_integer ? kCompressed : 1) * width * rows, true};
}

bool is_kept(const ChunkKey& files, Relation relation, const KeptForm* form) {
    KeptColumns column = make_kept_columns(1);
    add_kept_column(&column, relation, form);
    return are_forms_kept(files, {column.columns, 1});
}

void add_column(KeepRequest* request, Relation relation, const KeptForm* form) {
    WantedColumn wanted = {};
    wanted.attribute = form->attribute;
    wanted.encoding = form->encoding;
    wanted.is_optional = 1;
    wanted.declared_type = form->declared_type;
    wanted.scale = form->scale;
    add_wanted_column(request, relation, wanted, nullptr);
}

}  // namespace

double room_for_anticipated(const ChunkKey& files) {
    auto* kept = zeroed<KeptTablesBody>();
    Status why;
    if (!client_get_kept(kept, &why) || !has_columns_of(kept, files)) return 0;
    return Max(static_cast<double>(kept->limit) / kShareOfMemory - static_cast<double>(kept->used), 0);
}

KeepRequest* anticipate_columns(Relation relation, const ChunkKey& files, double room) {
    if (chunk_key(relation, 0) != files) return nullptr;
    KeepRequest* request = make_keep_request(relation, files);
    const double rows = expected_rows(relation, RelationGetNumberOfBlocks(relation));
    TupleDesc desc = RelationGetDescr(relation);
    for (int i = 0; i < desc->natts && request->count < kMostColumns; i++) {
        Form_pg_attribute attribute = TupleDescAttr(desc, i);
        KeptForm form;
        if (attribute->attisdropped || !natural_form(attribute, &form)) continue;
        const Expected expected = expect(relation, attribute, &form, rows);
        if (!expected.is_narrow || expected.bytes > room || is_kept(files, relation, &form)) continue;
        room -= expected.bytes;
        add_column(request, relation, &form);
    }
    return request->count > 0 ? request : nullptr;
}

}  // namespace gpujoin
