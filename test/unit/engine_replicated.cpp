// What a replicated engine does where one of its engines has no room: the others go on as if the batch had
// not been there, and what is exported is what all of them have. Joins that it cannot replicate it refuses.
// Build rows that are read on each device.
#include <set>

#include "engine/replicated/replicated_build_reader.h"
#include "engine/replicated/replicated_engine.h"
#include "engine_fragment_tables.h"

namespace gpujoin::test {
namespace {

// An engine whose joins refuse the batch that begins with a certain row, or to be sealed.
struct Refusal {
    int64_t row = -1;
    bool seal = false;
};

class RefusingJoin final : public Join {
  public:
    RefusingJoin(Join& join, const Refusal& refusal) : join_(join), refusal_(refusal) {}

    Status append(const BatchView& batch, uint64_t first_row) override {
        return static_cast<int64_t>(first_row) == refusal_.row ? no_room() : join_.append(batch, first_row);
    }
    Status seal(SealReport* report) override { return refusal_.seal ? no_room() : join_.seal(report); }
    Status probe(const BatchView& batch, std::unique_ptr<Cursor>* cursor) override {
        return join_.probe(batch, cursor);
    }
    Status mark_matched(std::span<const uint64_t> rows) override { return join_.mark_matched(rows); }
    Status scan_build(bool matched, std::unique_ptr<Cursor>* cursor) override {
        return join_.scan_build(matched, cursor);
    }
    Status rewind() override { return join_.rewind(); }
    Status export_build(const BuildConsumer& consumer) override { return join_.export_build(consumer); }
    JoinStats stats() const override { return join_.stats(); }

  private:
    static Status no_room() { return failure(Fault::DeviceMemory, "53200", "told to have no room"); }

    Join& join_;
    const Refusal& refusal_;
};

class RefusingFragment final : public Fragment {
  public:
    RefusingFragment(std::unique_ptr<Fragment> fragment, const Refusal& refusal)
        : fragment_(std::move(fragment)), join_(fragment_->join(0), refusal) {}

    Join& join(uint32_t) override { return join_; }
    Status run(const BatchView& source, std::unique_ptr<Cursor>* cursor) override {
        return fragment_->run(source, cursor);
    }
    Status flush(std::unique_ptr<Cursor>* cursor) override { return fragment_->flush(cursor); }
    Status rewind() override { return fragment_->rewind(); }
    SinkStats sink_stats() const override { return fragment_->sink_stats(); }

  private:
    std::unique_ptr<Fragment> fragment_;
    RefusingJoin join_;
};

class RefusingEngine final : public Engine {
  public:
    Status open(const JoinSpec& spec, const Limits& limits, std::unique_ptr<Join>* join) override {
        return engine_->open(spec, limits, join);
    }
    Status open_fragment(const FragmentView& fragment, const Limits& limits,
                         std::unique_ptr<Fragment>* opened) override {
        std::unique_ptr<Fragment> inner;
        GPUJOIN_RETURN_IF_FAILED(engine_->open_fragment(fragment, limits, &inner));
        *opened = std::make_unique<RefusingFragment>(std::move(inner), refusal);
        return {};
    }
    Status pin(std::byte* memory, uint64_t bytes) override { return engine_->pin(memory, bytes); }
    DeviceDescription describe() const override { return engine_->describe(); }

    Refusal refusal;

  private:
    const std::unique_ptr<Engine> engine_ = make_cpu_engine(1);
};

class Replicated : public testing::Test {
  protected:
    static constexpr uint64_t kBatch = 100;
    static constexpr uint64_t kBatches = 4;

    void SetUp() override {
        fragment_.join(JoinKind::Inner, {{number_column(kBatch * kBatches)}}, {TestFragment::of_source(0)});
        fragment_.input({0, 0});
        ASSERT_OK(replicated_->open_fragment(fragment_.view(), limits_, &opened_));
    }
    Status append(uint64_t batch) {
        OwnedBatch rows(fragment_.build(0), batch * kBatch, kBatch);
        return opened_->join(0).append(rows.view(), batch * kBatch);
    }
    // The first rows of the batches that can be had from it.
    std::set<uint64_t> exported() {
        std::set<uint64_t> firsts;
        EXPECT_OK(opened_->join(0).export_build([&](const BatchView& batch, uint64_t first_row) {
            for (uint64_t row = 0; row < batch.rows; row += kBatch) firsts.insert(first_row + row);
            return Status{};
        }));
        return firsts;
    }

    RefusingEngine engines_[3];
    std::unique_ptr<Engine> replicated_ =
        make_replicated_engine({{&engines_[0], nullptr}, {&engines_[1], nullptr}, {&engines_[2], nullptr}});
    Ledger host_memory_{uint64_t{1} << 30};
    std::atomic<bool> cancel_{false};
    const Limits limits_{&host_memory_, nullptr, &cancel_};
    TestFragment fragment_{{{number_column(300)}}};
    std::unique_ptr<Fragment> opened_;
};

TEST_F(Replicated, ABatchThatOneRefusesIsLeftOut) {
    for (int refuser = 0; refuser < 3; refuser++) {
        engines_[refuser].refusal.row = 200;
        ASSERT_OK(replicated_->open_fragment(fragment_.view(), limits_, &opened_));
        for (uint64_t batch : {0, 2, 3}) EXPECT_EQ(append(batch).ok(), batch != 2) << refuser;
        EXPECT_EQ(exported(), (std::set<uint64_t>{0, 300})) << refuser;
        engines_[refuser].refusal.row = -1;
    }
}

// Batches that others refused, and that lie in the first ones only.
TEST_F(Replicated, SeveralMayRefuse) {
    engines_[0].refusal.row = 0;
    engines_[1].refusal.row = 100;
    engines_[2].refusal.row = 200;
    for (uint64_t batch = 0; batch < kBatches; batch++)
        EXPECT_EQ(append(batch).fault, batch < 3 ? Fault::DeviceMemory : Fault::None);
    EXPECT_EQ(exported(), (std::set<uint64_t>{300}));
}

TEST_F(Replicated, AllRowsComeBackWhereOneCannotBeSealed) {
    for (uint64_t batch = 0; batch < kBatches; batch++) ASSERT_OK(append(batch));
    engines_[1].refusal.seal = true;
    SealReport report;
    EXPECT_EQ(opened_->join(0).seal(&report).fault, Fault::DeviceMemory);
    EXPECT_EQ(exported(), (std::set<uint64_t>{0, 100, 200, 300}));
}

TEST_F(Replicated, RefusesWhatItCannotDo) {
    std::unique_ptr<Join> join;
    EXPECT_STREQ(replicated_->open(fragment_.stage(0).join, limits_, &join).sqlstate, "XX000");
    TestFragment right(Table{{number_column(3)}});
    right.join(JoinKind::Right, {{number_column(3)}}, {TestFragment::of_source(0)});
    EXPECT_FALSE(can_be_replicated(right.view()));
    std::unique_ptr<Fragment> opened;
    EXPECT_STREQ(replicated_->open_fragment(right.view(), limits_, &opened).sqlstate, "XX000");
    std::unique_ptr<Cursor> cursor;
    EXPECT_STREQ(opened_->join(0).probe({}, &cursor).sqlstate, "XX000");
    EXPECT_STREQ(opened_->join(0).scan_build(true, &cursor).sqlstate, "XX000");
    BatchView elsewhere;
    elsewhere.memory = Memory::Device;
    elsewhere.replica = 3;
    EXPECT_STREQ(opened_->run(elsewhere, &cursor).sqlstate, "XX000");
    EXPECT_STREQ(opened_->join(0).append(elsewhere, 0).sqlstate, "XX000");
}

// Batches are dealt out, and each replica tells what it had.
TEST_F(Replicated, BatchesGoToTheLeastBusy) {
    for (uint64_t batch = 0; batch < kBatches; batch++) ASSERT_OK(append(batch));
    SealReport report;
    ASSERT_OK(opened_->join(0).seal(&report));
    std::vector<std::unique_ptr<Cursor>> cursors(6);
    OwnedBatch rows(fragment_.source(), 0, 50);
    for (auto& cursor : cursors) ASSERT_OK(opened_->run(rows.view(), &cursor));
    for (int i = 0; i < 3; i++) EXPECT_EQ(opened_->sink_stats().replica[i].rows, 100u) << i;
    cursors.erase(cursors.begin() + 1);  // of the second one, which has fewest now
    cursors.emplace_back();
    ASSERT_OK(opened_->run(rows.view(), &cursors.back()));
    EXPECT_EQ(opened_->sink_stats().replica[1].rows, 150u);
    EXPECT_EQ(opened_->sink_stats().replica[3].rows, 0u);
}

// Readers of build rows of devices that are made up: rows of 100 numbers each, in batches of so many.
class DeviceReader final : public KeptBuildReader {
  public:
    // host_from: the batch from which on it has no room on its device.
    DeviceReader(uint64_t batches, uint64_t host_from) : batches_(batches), host_from_(host_from) {}

    Status next(BatchView* batch) override {
        if (!again_) next_++;
        again_ = false;
        const uint64_t rows = next_ > batches_ ? 0 : 100;
        *batch = {rows, columns_, next_ > host_from_ ? Memory::Host : Memory::Device};
        return {};
    }
    bool has_begun() const override { return next_ > 0; }
    void leave_device(bool again) override {
        again_ = again;
        host_from_ = 0;
    }

    uint64_t batches_read() const { return next_; }

  private:
    const uint64_t batches_;
    uint64_t host_from_;
    uint64_t next_ = 0;
    bool again_ = false;
    std::vector<ColumnView> columns_{1};
};

struct DeviceReaders {
    explicit DeviceReaders(std::vector<uint64_t> host_from) {
        std::vector<std::unique_ptr<KeptBuildReader>> readers;
        for (uint64_t from : host_from) readers.push_back(std::make_unique<DeviceReader>(4, from));
        first = static_cast<DeviceReader*>(readers.front().get());
        reader = std::make_unique<ReplicatedBuildReader>(std::move(readers));
    }
    // "D": a batch with a copy for each of two devices; "h": one in host memory.
    std::string all() {
        std::string places;
        for (BatchView batch; reader->next(&batch).ok() && batch.rows > 0;) {
            EXPECT_EQ(batch.rows, 100u);
            const bool is_on_devices = batch.memory == Memory::Device;
            EXPECT_EQ(batch.copies.size(), is_on_devices ? 2u : 0u);
            places += is_on_devices ? "D" : "h";
        }
        return places;
    }

    std::unique_ptr<KeptBuildReader> reader;
    DeviceReader* first;
};

TEST(ReplicatedBuildReader, BatchesHaveACopyForEachDevice) {
    EXPECT_EQ(DeviceReaders({9, 9}).all(), "DDDD");
}

TEST(ReplicatedBuildReader, AllGoOnInHostMemoryWhereOneHasNoRoom) {
    EXPECT_EQ(DeviceReaders({2, 9}).all(), "DDhh");
    EXPECT_EQ(DeviceReaders({9, 2}).all(), "DDhh");
    EXPECT_EQ(DeviceReaders({0, 0}).all(), "hhhh");
    EXPECT_EQ(DeviceReaders({1, 3}).all(), "Dhhh");
}

// What was given last comes again where it has not been appended.
TEST(ReplicatedBuildReader, LeavesItsDevices) {
    for (bool again : {false, true}) {
        DeviceReaders readers({9, 9});
        BatchView batch;
        EXPECT_FALSE(readers.reader->has_begun());
        for (int i = 0; i < 2; i++) ASSERT_OK(readers.reader->next(&batch));
        EXPECT_TRUE(readers.reader->has_begun());
        readers.reader->leave_device(again);
        EXPECT_EQ(readers.all(), again ? "hhh" : "hh");
    }
}

// Each replica is given the rows that lie in its own memory.
TEST_F(Replicated, BuildRowsOfDevicesHaveACopyForEach) {
    std::vector<OwnedBatch> rows;
    std::vector<BatchView> copies;
    for (uint64_t batch : {0, 1, 2}) rows.emplace_back(fragment_.build(0), batch * kBatch, kBatch);
    for (const OwnedBatch& batch : rows) copies.push_back(batch.view());
    BatchView on_devices = copies.front();
    on_devices.memory = Memory::Device;
    on_devices.copies = std::span(copies).first(2);
    EXPECT_STREQ(opened_->join(0).append(on_devices, 0).sqlstate, "XX000");
    on_devices.copies = copies;
    ASSERT_OK(opened_->join(0).append(on_devices, 0));
    EXPECT_EQ(exported(), (std::set<uint64_t>{0}));
}

}  // namespace
}  // namespace gpujoin::test
