// See kept_columns.h.
#include "pg/executor/kept_columns.h"

#include <sys/stat.h>

#include <cstring>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/decimal.h"
#include "pg/executor/encoders.h"
#include "pg/executor/output_column.h"
#include "pg/kept_expression.h"
#include "pg/kept_proof.h"
#include "pg/kept_tables.h"

extern "C" {
#include "access/parallel.h"
#include "access/sysattr.h"
#include "access/tupdesc.h"
#include "access/tupdesc_details.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
}

namespace gpujoin {

namespace {

// Integers are kept as wide as the table has them, and widened when they are read.
KeyEncoding narrow(KeyEncoding encoding, Oid declared_type) {
    bool is_integer = declared_type == INT2OID || declared_type == INT4OID;
    if (!is_integer || (encoding != KeyEncoding::Int32 && encoding != KeyEncoding::Int64)) return encoding;
    return declared_type == INT2OID ? KeyEncoding::Int16 : KeyEncoding::Int32;
}

// Everything that the bytes of a kept column depend on. Tables of another database may come by the same
// numbers, as copies of files with pages that have not been changed for long, when this one has been dropped.
struct Description {
    uint64 database;  // which one it is
    AttrNumber attribute;
    int16 length;
    Oid type;
    int32 modifier;
    Oid collation;
    char alignment;
    bool by_value;
    bool has_missing;
    uint8 encoding;
    Oid declared_type;
    int32 scale;
    int32 output_length;
    uint64 missing[2];
};

uint64 hash_bytes_of(const void* bytes, Size size, uint64 seed) {
    return hash_bytes_extended(static_cast<const unsigned char*>(bytes), static_cast<int>(size), seed);
}

// The value in rows that were written before the column was added.
void describe_missing(TupleDesc desc, AttrNumber number, Description* description) {
    Form_pg_attribute attribute = TupleDescAttr(desc, number - 1);
    if (!attribute->atthasmissing || !desc->constr || !desc->constr->missing) return;
    const AttrMissing* missing = &desc->constr->missing[number - 1];
    if (!missing->am_present) return;
    description->has_missing = true;
    Datum value = missing->am_value;
    Size size = attribute->attbyval ? sizeof value : datumGetSize(value, false, attribute->attlen);
    const void* bytes = attribute->attbyval ? static_cast<const void*>(&value) : DatumGetPointer(value);
    for (uint64 i = 0; i < 2; i++) description->missing[i] = hash_bytes_of(bytes, size, i + 1);
}

// By a file of the database's that is written when it is created, and never again. The same in all processes.
uint64 birth_of_database() {
    static uint64 birth = 0;
    if (birth != 0) return birth;
    struct stat file;
    const char* path = psprintf("%s/PG_VERSION", DatabasePath);
    if (stat(path, &file) != 0)
        ereport(ERROR, errcode_for_file_access(), errmsg("could not stat file \"%s\": %m", path));
    const int64 facts[] = {static_cast<int64>(file.st_ino), file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
    birth = hash_bytes_of(facts, sizeof facts, 1);
    return birth;
}

void describe_form(const KeptForm* form, Description* description) {
    description->encoding = static_cast<uint8>(form->encoding);
    description->declared_type = form->declared_type;
    description->scale = form->scale;
    description->output_length = form->type_length;
}

Description describe(Relation relation, const KeptForm* form, AttrNumber number) {
    TupleDesc desc = RelationGetDescr(relation);
    Form_pg_attribute attribute = TupleDescAttr(desc, number - 1);
    Description description;
    memset(&description, 0, sizeof description);  // padding too
    description.database = birth_of_database();
    description.attribute = number;
    description.length = attribute->attlen;
    description.type = attribute->atttypid;
    description.modifier = attribute->atttypmod;
    description.collation = attribute->attcollation;
    description.alignment = attribute->attalign;
    description.by_value = attribute->attbyval;
    describe_form(form, &description);
    describe_missing(desc, number, &description);
    return description;
}

// Of what is made of no attribute at all.
Description describe_constant(const KeptForm* form) {
    Description description;
    memset(&description, 0, sizeof description);  // padding too
    description.database = birth_of_database();
    description.attribute = form->copy;
    describe_form(form, &description);
    return description;
}

// Of all attributes, and what is made of them.
void identify(Relation relation, const KeptForm* form, ChunkColumn* column) {
    *column = {};
    uint64 hash[2] = {1, 2};
    Bitmapset* attributes = attributes_of_form(form, nullptr);
    for (int number = -1; (number = bms_next_member(attributes, number)) >= 0;) {
        Description description = describe(relation, form, static_cast<AttrNumber>(number));
        for (uint64& part : hash) part = hash_bytes_of(&description, sizeof description, part);
    }
    if (bms_is_empty(attributes)) {
        Description description = describe_constant(form);
        for (uint64& part : hash) part = hash_bytes_of(&description, sizeof description, part);
    }
    if (form->expression) {
        char* text = text_of_expression(form->expression);
        for (uint64& part : hash) part = hash_bytes_of(text, strlen(text), part);
        pfree(text);
    }
    static_assert(sizeof column->identity == sizeof hash);
    memcpy(column->identity, hash, sizeof hash);
    column->spec = form->spec;
    column->spec.nullable = 1;
}

bool is_same(const ChunkColumn* a, const ChunkColumn* b) {
    return memcmp(a->identity, b->identity, sizeof a->identity) == 0;
}

// Parallel workers leave it to their leader.
void note_computed(Relation relation, const KeptForm* form, KeptColumns* columns) {
    if (!form->expression || IsParallelWorker()) return;
    const uint64 hash = hash_of_expression(chunk_key(relation, 0), form->expression);
    columns->has_news |= !note_expression_to_keep(hash);
}

}  // namespace

KeptColumns make_kept_columns(int most) {
    return {0, false, zeroed<KeptForm>(most + 1), zeroed<ChunkColumn>(most + 1)};
}

KeptForm encoded_form(AttrNumber attribute, KeyEncoding encoding, Oid declared_type, int scale) {
    KeptForm form = {};
    form.attribute = attribute;
    form.encoding = narrow(encoding, declared_type);
    form.declared_type = declared_type;
    form.scale = scale;
    form.spec = column_of(form.encoding);
    form.encoder = find_encoder(form.encoding, declared_type);
    return form;
}

// Floats are rarely keys.
bool natural_form(Form_pg_attribute attribute, KeptForm* form) {
    const Oid type = getBaseType(attribute->atttypid);
    if (type == FLOAT8OID || type == FLOAT4OID) {
        const bool is_wide = type == FLOAT8OID;
        *form = encoded_form(attribute->attnum, is_wide ? KeyEncoding::Float8Value : KeyEncoding::Float4Value,
                             type, 0);
        return true;
    }
    const int scale = attribute->atttypid == NUMERICOID ? decimal_scale(attribute->atttypmod) : -1;
    if (scale >= 0) {
        *form = encoded_form(attribute->attnum, KeyEncoding::Decimal64, NUMERICOID, scale);
        return true;
    }
    const Oid equality = lookup_type_cache(attribute->atttypid, TYPECACHE_EQ_OPR)->eq_opr;
    OperatorEncoding found;
    if (!OidIsValid(equality) || !find_operator_encoding(equality, attribute->attcollation, &found))
        return false;
    *form = encoded_form(attribute->attnum, found.encoding, found.left_type, 0);
    return true;
}

bool kept_form(const InputColumn* sent, TupleDesc desc, AttrNumber attribute, Node* expression,
               KeptForm* form) {
    if ((attribute <= 0 && !expression) || sent->may_overflow || sent->hash || sent->shift || sent->bound)
        return false;
    if (expression && !may_keep_expression(expression)) return false;
    if (sent->encoding != KeyEncoding::None) {
        *form = encoded_form(attribute, sent->encoding, sent->declared_type, sent->scale);
        form->expression = expression;
        return true;
    }
    if (attribute > 0 && natural_form(TupleDescAttr(desc, attribute - 1), form) &&
        holds_value(form->encoding, sent->type_length))
        return true;  // the same bytes
    *form = {};
    form->attribute = attribute;
    form->expression = expression;
    form->spec = sent->spec;
    form->encoder = sent->encoder;
    form->type_length = sent->type_length;
    return true;
}

KeptForm kept_form_of_range(const RangeCondition* condition) {
    Oid type = condition->column_type;
    KeyEncoding encoding = type == NUMERICOID      ? KeyEncoding::Decimal64
                           : type == OIDOID        ? KeyEncoding::Oid32
                           : type == FLOAT8OID     ? KeyEncoding::Float8Value
                           : type == FLOAT4OID     ? KeyEncoding::Float4Value
                           : get_typlen(type) == 8 ? KeyEncoding::Int64
                                                   : KeyEncoding::Int32;
    return encoded_form(condition->attribute, encoding, type, condition->scale);
}

KeptForm kept_form_of_truth(Node* expression) {
    KeptForm form = encoded_form(0, KeyEncoding::Bool, BOOLOID, 0);
    form.expression = expression;
    return form;
}

Bitmapset* attributes_of_form(const KeptForm* form, Bitmapset* attributes) {
    if (!form->expression) return bms_add_member(attributes, form->attribute);
    Bitmapset* shifted = nullptr;
    pull_varattnos(form->expression, OUTER_VAR, &shifted);
    for (int member = -1; (member = bms_next_member(shifted, member)) >= 0;)
        attributes = bms_add_member(attributes, member + FirstLowInvalidHeapAttributeNumber);
    return attributes;
}

uint64 expected_width(Relation relation, const ColumnSpec& spec, AttrNumber attribute) {
    constexpr uint64 kUnknown = 32;
    if (const uint32 fixed = fixed_width(spec.type)) return fixed;
    const int32 average = get_attavgwidth(RelationGetRelid(relation), attribute);
    return sizeof(uint32) + (average > 0 ? static_cast<uint32>(average) : kUnknown);
}

double expected_rows(Relation relation, double blocks) {
    constexpr double kUnknown = 60;  // in a block
    const double tuples = relation->rd_rel->reltuples;
    const double pages = relation->rd_rel->relpages;
    return blocks * (tuples > 0 && pages > 0 ? tuples / pages : kUnknown);
}

int add_kept_column(KeptColumns* columns, Relation relation, const KeptForm* form) {
    ChunkColumn column;
    identify(relation, form, &column);
    for (int i = 0; i < columns->count; i++)
        if (is_same(&columns->columns[i], &column)) return i;
    note_computed(relation, form, columns);
    columns->forms[columns->count] = *form;
    columns->columns[columns->count] = column;
    return columns->count++;
}

}  // namespace gpujoin
