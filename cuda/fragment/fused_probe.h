// FusedProbe: the first stages of a chain, probed with the rows of a batch in one pass. A row is looked up in
// one stage after the other until one leaves it out; then it is written down of which rows of source and
// build sides those are that are left. Stage by stage each would write its rows for the next one to read, and
// the host would wait for each to know how many they are. Columns of build sides are read by whoever wants
// them, by row; those of outer joins, which have no row at times, are written side by side.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cuda/fragment/batch_work.h"
#include "cuda/fragment/fused_chain.h"
#include "cuda/fragment/fused_lookup.cuh"
#include "cuda/results/pair_source.h"
#include "engine/fragment/place.h"

namespace gpujoin::cuda {

class FusedProbe {
  public:
    // Both outlive it.
    FusedProbe(FusedChain* chain, const BatchWork* work);

    // As Workspace::start_fused(), probe_fused() and end_fused(). The source stays until the batch is over.
    Status start(uint32_t stages, std::span<const ColumnView> source, uint64_t source_rows);
    Status probe(uint64_t first, uint64_t rows, FusedRows* passed);
    void end();

  private:
    Status prepare(std::span<const ColumnView> source, uint64_t source_rows);
    Status prepare_stage(size_t stage, std::span<const ColumnView> source, uint64_t source_rows);
    Status add_source_columns(size_t stage, std::span<const ColumnView> source, uint64_t source_rows);
    void add_build_columns(size_t stage);
    bool is_key_of_later(size_t stage) const;
    Status probe_piece(uint64_t first, uint64_t rows, FusedRows* passed);
    Status find_partners(uint64_t first, uint64_t rows);
    void take_held_keys();
    FusedOutcome outcome_of(size_t stage) const;
    Status upload_lookups(const FusedLookup** uploaded, const DeviceColumn** columns);
    Status compact(uint64_t first, uint64_t rows);
    Status take_all(uint64_t first, uint64_t rows);
    Status give_columns(size_t stage, FusedRows* passed);
    Status write(size_t stage, uint32_t rows, std::span<ColumnView> columns);
    void count(uint64_t rows, uint64_t ns);
    void end_piece();

    FusedChain& chain_;
    const BatchWork& work_;

    // Of the batch.
    struct Stage {
        bool is_read = false;   // columns are, behind the fused stages
        bool is_found = false;  // it is asked which build row a row has found
        uint32_t first_column = 0;
        std::shared_ptr<PickableColumns> columns;
        std::vector<OwnedColumn> of_source;
    };
    std::vector<Stage> stages_;
    std::vector<DeviceColumn> columns_;  // the probe columns of all stages

    // By row of the piece.
    std::vector<DeviceArray<uint32_t>> partners_;  // by stage
    DeviceArray<uint32_t> masks_;                  // by unit of rows, as are starts
    DeviceArray<uint32_t> starts_;
    // By row that passes all stages.
    PairBuffer pairs_;                             // probe: rows of the source
    std::vector<DeviceArray<uint32_t>> found_;     // by stage
    std::vector<DeviceArray<std::byte>> written_;  // by stage

    DeviceArray<std::byte> device_arguments_;  // of the batch, where a kernel's parameters do not do
    DeviceArray<PassedRows> device_passed_;
    PassedRows passed_{};  // by stage, of the piece
};

}  // namespace gpujoin::cuda
