// The hash algorithm: the candidates of a probe row are the build rows with its key.
#include "engine/cpu/hash/key_tables.h"
#include "engine/cpu/matcher.h"

namespace gpujoin::cpu {

namespace {

class HashSearch final : public Search {
  public:
    HashSearch(const KeyTable& table, const KeyReader& reader) : table_(table), reader_(reader) {}

    Status find(uint64_t begin, uint32_t rows, CandidateRanges* ranges) override {
        table_.find(reader_, begin, rows, ranges->first, ranges->count);
        return {};
    }

  private:
    const KeyTable& table_;
    const KeyReader& reader_;
};

class HashMatcher final : public Matcher {
  public:
    explicit HashMatcher(std::unique_ptr<KeyTable> table) : table_(std::move(table)) {}

    Status start(const BatchView&, const KeyReader& reader, std::unique_ptr<Search>* search) override {
        *search = std::make_unique<HashSearch>(*table_, reader);
        return {};
    }
    const uint32_t* row_of_position() const override { return table_->row_of_position(); }

  private:
    std::unique_ptr<KeyTable> table_;
};

}  // namespace

Status make_hash_matcher(JoinContext& join, std::unique_ptr<Matcher>* matcher) {
    std::unique_ptr<KeyTable> table;
    GPUJOIN_RETURN_IF_FAILED(make_key_table(join, {}, &table));
    bool unique = table->is_unique();
    uint64_t positions = table->positions();
    *matcher = std::make_unique<HashMatcher>(std::move(table));
    (*matcher)->positions = positions;
    (*matcher)->unique_keys = unique;
    for (uint32_t i = 0; i < join.spec.ranges; i++) (*matcher)->undecided.push_back(join.spec.range[i]);
    for (uint32_t i = 0; i < join.spec.filters; i++) (*matcher)->undecided.push_back(join.spec.filter[i]);
    return {};
}

}  // namespace gpujoin::cpu
