// See anticipated_columns.h.
#include "pg/executor/anticipated_columns.h"

#include "pg/allocate.h"
#include "pg/client/inquiry.h"
#include "pg/executor/kept_columns.h"
#include "pg/kept_proof.h"
#include "pg/kept_tables.h"

extern "C" {
#include "catalog/pg_type.h"
#include "storage/bufmgr.h"
}

namespace gpujoin {

namespace {

constexpr uint32 kMostColumns = 32;  // of a request: each takes time, too
constexpr double kShareOfMemory = 2;
constexpr int32 kLongestText = 16;   // characters
constexpr double kCompressed = 0.5;  // of a column, about

bool has_columns_of(const KeptTablesBody* kept, const ChunkKey& files) {
    for (uint32 i = 0; i < kept->count; i++) {
        ChunkKey first = kept->table[i].table;  // its number is how many chunks there are
        first.number = 0;
        if (first == files && kept->table[i].columns > 0) return true;
    }
    return false;
}

// Texts are if their type says how long they are at most: a row with a longer one may not fit into a batch,
// and costs what was asked for its block.
bool is_narrow(Form_pg_attribute attribute, const KeptForm* form) {
    if (fixed_width(form->spec.type) > 0) return true;
    const bool says_length = attribute->atttypid == BPCHAROID || attribute->atttypid == VARCHAROID;
    const int32 length = says_length ? attribute->atttypmod - static_cast<int32>(VARHDRSZ) : -1;
    return length > 0 && length <= kLongestText;
}

double bytes_of(Relation relation, const KeptForm* form, double rows) {
    return kCompressed * rows * static_cast<double>(expected_width(relation, form->spec, form->attribute));
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
        const double bytes = bytes_of(relation, &form, rows);
        if (!is_narrow(attribute, &form) || bytes > room || is_kept(files, relation, &form)) continue;
        room -= bytes;
        add_column(request, relation, &form);
    }
    return request->count > 0 ? request : nullptr;
}

}  // namespace gpujoin
