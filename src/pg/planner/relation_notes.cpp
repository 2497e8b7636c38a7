// See relation_notes.h.
#include "pg/planner/relation_notes.h"

#include "pg/allocate.h"

extern "C" {
#include "common/hashfn.h"
#include "utils/memutils.h"
}

namespace gpujoin {
namespace {

struct NotesEntry {
    const RelOptInfo* rel;  // key
    char status;
    RelationNotes* notes;
};

struct FactsEntry {
    const Path* path;  // key
    char status;
    PathFacts* facts;
};

#define SH_PREFIX notes_table
#define SH_ELEMENT_TYPE NotesEntry
#define SH_KEY_TYPE const RelOptInfo*
#define SH_KEY rel
#define SH_HASH_KEY(table, key) murmurhash32(static_cast<uint32>(reinterpret_cast<uintptr_t>(key) >> 3))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

#define SH_PREFIX facts_table
#define SH_ELEMENT_TYPE FactsEntry
#define SH_KEY_TYPE const Path*
#define SH_KEY path
#define SH_HASH_KEY(table, key) murmurhash32(static_cast<uint32>(reinterpret_cast<uintptr_t>(key) >> 3))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

// The notes of the relations in one memory context, which forgets them when it is reset: GEQO makes join
// relations in a context of their own again and again, at the same addresses.
struct ContextNotes {
    ContextNotes* next;
    MemoryContext context;
    notes_table_hash* table;
    facts_table_hash* facts;  // of paths
    MemoryContextCallback on_reset;
};

ContextNotes* all_notes;

// The relations, and paths, that are asked for again and again while a pair is planned.
constexpr int kRecent = 16;
constexpr int kRecentPaths = 1024;
NotesEntry recent[kRecent];
FactsEntry recent_facts[kRecentPaths];

NotesEntry& recent_place(const RelOptInfo* rel) {
    return recent[murmurhash32(static_cast<uint32>(reinterpret_cast<uintptr_t>(rel) >> 3)) % kRecent];
}

FactsEntry& recent_place(const Path* path) {
    const auto hash = murmurhash32(static_cast<uint32>(reinterpret_cast<uintptr_t>(path) >> 3));
    return recent_facts[hash % kRecentPaths];
}

void forget_notes(void* argument) {
    for (NotesEntry& entry : recent) entry = {};
    for (FactsEntry& entry : recent_facts) entry = {};
    auto** place = &all_notes;
    while (*place != argument) place = &(*place)->next;
    *place = (*place)->next;
}

ContextNotes* notes_in(MemoryContext context) {
    ContextNotes* found = all_notes;
    while (found && found->context != context) found = found->next;
    return found;
}

ContextNotes* make_notes_in(MemoryContext context) {
    auto* made = zeroed_in<ContextNotes>(context);
    made->context = context;
    made->table = notes_table_create(context, 64, nullptr);
    made->facts = facts_table_create(context, 64, nullptr);
    made->on_reset = {forget_notes, made, nullptr};
    made->next = all_notes;
    all_notes = made;
    MemoryContextRegisterResetCallback(context, &made->on_reset);
    return made;
}

ContextNotes* notes_for(MemoryContext context) {
    ContextNotes* notes = notes_in(context);
    return notes ? notes : make_notes_in(context);
}

}  // namespace

RelationNotes* find_notes(const RelOptInfo* rel) {
    NotesEntry& place = recent_place(rel);
    if (place.rel == rel) return place.notes;
    const ContextNotes* notes = notes_in(GetMemoryChunkContext(const_cast<RelOptInfo*>(rel)));
    const NotesEntry* entry = notes ? notes_table_lookup(notes->table, rel) : nullptr;
    if (!entry) return nullptr;
    place = *entry;
    return entry->notes;
}

RelationNotes* make_notes(RelOptInfo* rel) {
    if (RelationNotes* known = find_notes(rel)) return known;
    MemoryContext context = GetMemoryChunkContext(rel);
    bool is_known;
    auto* made = zeroed_in<RelationNotes>(context);
    notes_table_insert(notes_for(context)->table, rel, &is_known)->notes = made;
    return made;
}

PathFacts* noted_facts(const Path* path) {
    FactsEntry& place = recent_place(path);
    if (place.path == path) return place.facts;
    MemoryContext context = GetMemoryChunkContext(const_cast<Path*>(path));
    bool is_known;
    FactsEntry* entry = facts_table_insert(notes_for(context)->facts, path, &is_known);
    if (!is_known) entry->facts = zeroed_in<PathFacts>(context);
    place = *entry;
    return entry->facts;
}

}  // namespace gpujoin
