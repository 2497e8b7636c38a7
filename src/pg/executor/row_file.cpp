// See row_file.h. A row is its minimal tuple, which begins with its length.
#include "pg/executor/row_file.h"

#include "pg/allocate.h"
#include "pg/compat.h"

namespace gpujoin {

RowFile* row_file_create(MemoryContext context) {
    auto* file = zeroed_in<RowFile>(context);
    file->users = 1;
    return file;
}

void row_file_add(RowFile* file, MemoryContext context, MinimalTuple row) {
    if (!file->file) {
        MemoryContext caller = MemoryContextSwitchTo(context);
        file->file = BufFileCreateTemp(false);
        MemoryContextSwitchTo(caller);
    }
    BufFileWrite(file->file, row, row->t_len);
    file->rows++;
    file->bytes += row->t_len;
}

void row_file_rewind(RowFile* file) {
    if (file->file && BufFileSeek(file->file, 0, 0, SEEK_SET) != 0)
        ereport(ERROR, errcode_for_file_access(), errmsg("could not rewind a temporary file of a GPU Join"));
}

bool row_file_read(RowFile* file, TupleTableSlot* slot) {
    uint32 length;
    if (!file->file || !read_temporary_file(file->file, &length, sizeof length, true)) return false;
    auto* row = reinterpret_cast<MinimalTuple>(unset<char>(length));
    row->t_len = length;
    read_temporary_file(file->file, reinterpret_cast<char*>(row) + sizeof length, length - sizeof length,
                        false);
    ExecStoreMinimalTuple(row, slot, true);
    return true;
}

void row_file_leave(RowFile* file) {
    if (--file->users > 0) return;
    if (file->file) BufFileClose(file->file);
    pfree(file);
}

}  // namespace gpujoin
