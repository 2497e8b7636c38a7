// See row_file.h. A row is its minimal tuple, which begins with its length.
#include "pg/executor/row_file.h"

#include <fcntl.h>

#include "pg/allocate.h"
#include "pg/compat.h"
#include "pg/join_statistics.h"

namespace gpujoin {

namespace {

FileName part_name(const RowFile* file, int part) {
    FileName name;
    snprintf(name.text, sizeof name.text, "%s.%d", file->name.text, part);
    return name;
}

void open_for_writing(RowFile* file) {
    MemoryContext caller = MemoryContextSwitchTo(file->context);
    file->file = file->set ? BufFileCreateFileSet(&file->set->fs, part_name(file, file->part).text)
                           : BufFileCreateTemp(false);
    MemoryContextSwitchTo(caller);
}

// nullptr where the participant has written none.
BufFile* open_part(const RowFile* file, int part) {
    MemoryContext caller = MemoryContextSwitchTo(file->context);
    BufFile* opened = BufFileOpenFileSet(&file->set->fs, part_name(file, part).text, O_RDONLY, true);
    MemoryContextSwitchTo(caller);
    return opened;
}

void close_file(RowFile* file) {
    if (file->file) BufFileClose(file->file);
    file->file = nullptr;
}

bool is_shared(const RowFile* file) {
    return file->parts > 0;
}

bool open_next_part(RowFile* file) {
    close_file(file);
    while (!file->file && ++file->part < file->parts) file->file = open_part(file, file->part);
    return file->file;
}

bool read_length(RowFile* file, uint32* length) {
    return file->file && read_temporary_file(file->file, length, sizeof *length, true);
}

}  // namespace

RowFile* row_file_create(MemoryContext context) {
    auto* file = zeroed_in<RowFile>(context);
    file->context = context;
    file->users = 1;
    return file;
}

RowFile* row_file_create_part(MemoryContext context, SharedFileSet* set, FileName name, int part) {
    RowFile* file = row_file_create(context);
    file->set = set;
    file->name = name;
    file->part = part;
    return file;
}

RowFile* row_file_open_parts(MemoryContext context, SharedFileSet* set, FileName name, int parts) {
    RowFile* file = row_file_create(context);
    file->set = set;
    file->name = name;
    file->parts = parts;
    for (int part = 0; part < parts; part++) {
        BufFile* opened = open_part(file, part);
        if (!opened) continue;
        file->bytes += BufFileSize(opened);
        BufFileClose(opened);
    }
    file->part = -1;
    return file;
}

void row_file_add(RowFile* file, MinimalTuple row) {
    if (!file->file) open_for_writing(file);
    BufFileWrite(file->file, row, row->t_len);
    file->bytes += row->t_len;
    note_spilled_bytes(row->t_len);
}

void row_file_rewind(RowFile* file) {
    if (is_shared(file)) {
        close_file(file);
        file->part = -1;
    } else if (file->file && BufFileSeek(file->file, 0, 0, SEEK_SET) != 0) {
        ereport(ERROR, errcode_for_file_access(), errmsg("could not rewind a temporary file of a GPU Join"));
    }
}

bool row_file_read(RowFile* file, TupleTableSlot* slot) {
    uint32 length;
    while (!read_length(file, &length))
        if (!is_shared(file) || !open_next_part(file)) return false;
    auto* row = reinterpret_cast<MinimalTuple>(unset<char>(length));
    row->t_len = length;
    read_temporary_file(file->file, reinterpret_cast<char*>(row) + sizeof length, length - sizeof length,
                        false);
    ExecStoreMinimalTuple(row, slot, true);
    return true;
}

void row_file_clear(RowFile* file) {
    close_file(file);
    file->bytes = 0;
}

void row_file_leave(RowFile* file) {
    if (--file->users > 0) return;
    if (file->set && !is_shared(file) && file->file) BufFileExportFileSet(file->file);
    close_file(file);
    pfree(file);
}

}  // namespace gpujoin
