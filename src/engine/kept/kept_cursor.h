// The cursor of a probe whose source rows are kept: of rows of a scan, batch after batch, until those who
// share them have had all.
#pragma once

#include <utility>

#include "engine/fragment.h"
#include "engine/kept/kept_view.h"

namespace gpujoin {

class KeptCursor final : public Cursor {
  public:
    // The reader gives rows of the fragment's source, which outlives the cursor.
    KeptCursor(Fragment& fragment, std::unique_ptr<KeptReader> reader)
        : fragment_(fragment), reader_(std::move(reader)) {}

    Status next(const Sink& sink, ResultBatch* result) override;
    // Gives its rows all the same.
    void skip(uint32_t) override {}

    // next() has failed because the reader had no room: it may be called again.
    bool found_no_room() const { return found_no_room_; }
    const KeptReader& reader() const { return *reader_; }

  private:
    Fragment& fragment_;
    const std::unique_ptr<KeptReader> reader_;
    std::unique_ptr<Cursor> cursor_;  // of the batch; destroyed before it
    bool found_no_room_ = false;
};

}  // namespace gpujoin
