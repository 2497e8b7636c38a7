// Aggregating rows block by block, and giving groups and escaped rows out.
#include "engine/fragment/host_groups.h"

#include <algorithm>
#include <bit>

#include "engine/counters.h"
#include "engine/fragment/group_merger.h"
#include "engine/fragment/host_top.h"
#include "engine/fragment/host_writer.h"
#include "engine/guard.h"

namespace gpujoin {

namespace {

// Rows between two looks at whether the turn is over.
constexpr uint32_t kRowsAtOnce = 4096;

std::vector<ResultColumn> input_columns(const SinkPlan& plan) {
    std::vector<ResultColumn> columns;
    for (const LiveColumn& input : plan.inputs)
        columns.push_back({input.spec.type, input.spec.nullable != 0});
    return columns;
}

std::vector<ResultColumn> group_columns(const SinkPlan& plan) {
    std::vector<ResultColumn> columns;
    for (const ColumnSpec& column : plan.group_columns)
        columns.push_back({column.type, column.nullable != 0});
    return columns;
}

// Writes the groups of a table, piece by piece, and empties it.
class GroupWriter {
  public:
    explicit GroupWriter(const SinkPlan& plan) : writer_(group_columns(plan), false) {}

    void start(GroupTable* table) {
        table->close();
        columns_ = table->columns();
        groups_ = table->groups();
        written_ = 0;
    }
    // The same, but of groups that can be among the first ones; of all where there is no memory for a list.
    void start_top(GroupTable* table, const TopPlan& top, TopKeys& keys, Ledger* ledger) {
        start(table);
        list_.reset();
        if (!list_.allocate(ledger, groups_ * sizeof(uint32_t)).ok()) return;
        auto* list = list_.as<uint32_t>();
        groups_ = select_top_rows(columns_[top.key.column], top.order, groups_, keys, list);
        for (HostColumn& column : columns_) column.rows = list;
    }
    // True: that was the last of it.
    bool write(GroupTable* table, const Sink& sink, SinkCounters* counters, ResultBatch* result) {
        if (written_ < groups_) writer_.write(columns_, nullptr, &written_, groups_, sink, result);
        counters->groups += result->rows;
        if (written_ < groups_) return false;
        counters->left_out += table->groups() - groups_;
        table->clear();
        return true;
    }

  private:
    HostWriter writer_;
    std::vector<HostColumn> columns_;
    cpu::HostArray list_;
    uint32_t groups_ = 0;
    uint32_t written_ = 0;
};

class GroupConsumer final : public RowConsumer {
  public:
    explicit GroupConsumer(HostGroups& groups)
        : groups_(groups),
          programs_(groups.plan()),
          group_writer_(groups.plan()),
          escaped_writer_(input_columns(groups.plan()), false),
          escaped_rows_(groups.plan().inputs.size()) {}
    ~GroupConsumer() override { end(); }

    Status begin() override;
    Status start(std::span<const PickedColumn> inputs, const uint32_t* source_rows, uint32_t rows) override;
    Status next(bool last, const Sink& sink, ResultBatch* result) override;
    void end() override;

  private:
    Status add();
    void note_escaped(uint64_t escaped);
    void write_escaped(const Sink& sink, ResultBatch* result);
    bool has_escaped() const { return escaped_written_ < escaped_count_; }

    HostGroups& groups_;
    SinkPrograms programs_;
    GroupTable* table_ = nullptr;
    GroupWriter group_writer_;
    bool gives_out_ = false;  // the table is full
    HostWriter escaped_writer_;

    std::vector<HostColumn> columns_;  // the current rows
    uint32_t rows_ = 0;
    uint32_t added_ = 0;

    // The rows that escaped when rows were added last, by column.
    std::vector<std::vector<uint32_t>> escaped_rows_;
    uint32_t escaped_count_ = 0;
    uint32_t escaped_written_ = 0;
};

Status GroupConsumer::begin() {
    rows_ = added_ = escaped_count_ = escaped_written_ = 0;
    gives_out_ = false;
    return groups_.take_table(&table_);
}

void GroupConsumer::end() {
    if (table_) groups_.give_back(table_);
    table_ = nullptr;
}

Status GroupConsumer::start(std::span<const PickedColumn> inputs, const uint32_t*, uint32_t rows) {
    columns_.clear();
    for (const PickedColumn& input : inputs) columns_.push_back(host_column(input));
    rows_ = rows;
    added_ = 0;
    return {};
}

Status GroupConsumer::next(bool, const Sink& sink, ResultBatch* result) {
    if (sink.kind == Memory::Device)
        return failure(Fault::Error, "XX000", "groups in host memory are not written to a device");
    *result = {};
    for (bool has_begun = false;; has_begun = true) {
        if (gives_out_) {
            gives_out_ = !group_writer_.write(table_, sink, &groups_.counters(), result);
            return {};
        }
        if (has_escaped()) {
            write_escaped(sink, result);
            result->done = added_ == rows_ && !has_escaped();
            return {};
        }
        result->done = added_ == rows_;
        if (result->done || (has_begun && turn_is_over())) return {};
        GPUJOIN_RETURN_IF_FAILED(add());
    }
}

// Aggregates some of the rows. A block is aggregated once the table has room for it, and not before.
Status GroupConsumer::add() {
    escaped_count_ = escaped_written_ = 0;
    for (std::vector<uint32_t>& rows : escaped_rows_) rows.clear();
    const uint32_t end = std::min(rows_, added_ + kRowsAtOnce);
    while (added_ < end) {
        const RowBlock block{columns_, added_, std::min(RowBlock::kMostLanes, end - added_)};
        const uint64_t escaped = programs_.run(block);
        const uint64_t rows = block.all() & ~escaped;
        uint32_t lanes = block.lanes;
        if (!table_->has_room(block, programs_))
            GPUJOIN_RETURN_IF_FAILED(table_->make_room(block, programs_, rows, &lanes));
        if (lanes == 0 && table_->is_at_limit() && table_->is_charged() && groups_.may_set_aside()) {
            GPUJOIN_RETURN_IF_FAILED(groups_.take_another_table(&table_));
            continue;
        }
        if (lanes == 0) {
            gives_out_ = true;
            groups_.note_given_out();
            group_writer_.start(table_);
            return {};
        }
        const RowBlock taken{columns_, added_, lanes};
        table_->add(taken, programs_, rows & taken.all());
        if (escaped != 0) note_escaped(escaped & taken.all());
        added_ += lanes;
    }
    return {};
}

void GroupConsumer::note_escaped(uint64_t escaped) {
    for (size_t i = 0; i < columns_.size(); i++)
        for_each_lane(escaped,
                      [&](uint32_t lane) { escaped_rows_[i].push_back(columns_[i].row(added_ + lane)); });
    const auto count = static_cast<uint32_t>(std::popcount(escaped));
    escaped_count_ += count;
    groups_.counters().escaped_rows += count;
}

void GroupConsumer::write_escaped(const Sink& sink, ResultBatch* result) {
    std::vector<HostColumn> columns;
    for (size_t i = 0; i < columns_.size(); i++)
        columns.push_back({columns_[i].source, escaped_rows_[i].data()});
    escaped_writer_.write(columns, nullptr, &escaped_written_, escaped_count_, sink, result);
    result->undecided = result->rows > 0;
}

// What is left: table by table; or, if complete groups are asked for and there is memory, part by part.
class FlushCursor final : public Cursor {
  public:
    explicit FlushCursor(HostGroups& groups) : groups_(groups), writer_(groups.plan()) {}

    Status start() {
        const auto& tables = groups_.tables();
        const auto filled =
            std::ranges::count_if(tables, [](const auto& table) { return table->groups() > 0; });
        // Sums of floats are rounded when a group is given out, which had better be once.
        const bool merges = groups_.plan().completes_groups || sums_floats(groups_.plan());
        if (merges && !groups_.gave_out()) {
            is_complete_ = filled <= 1;
            if (!is_complete_) GPUJOIN_RETURN_IF_FAILED(start_merging());
        }
        if (cuts_groups(groups_.plan(), is_complete_, groups_.counters().escaped_rows))
            keys_ = std::make_unique<TopKeys>(groups_.plan().top.count, &bound_);
        seek();
        return {};
    }

    Status next(const Sink& sink, ResultBatch* result) override {
        return guarded([&] { return write(sink, result); });
    }
    void skip(uint32_t) override {}

  private:
    Status start_merging() {
        if (!GroupMerger::stays_in_range(groups_.tables())) return {};
        merger_ = std::make_unique<GroupMerger>(groups_.plan(), groups_.ledger(), groups_.cancel());
        const Status status = merger_->start(groups_.tables());
        is_complete_ = status.ok();
        if (!is_complete_) merger_.reset();
        return status.fault == Fault::HostMemory ? Status{} : status;
    }

    Status write(const Sink& sink, ResultBatch* result);
    // Goes on to a table with groups; nullptr: there is none.
    void seek() {
        table_ = merger_ ? merger_->next() : next_table();
        if (table_ && keys_) writer_.start_top(table_, groups_.plan().top, *keys_, groups_.ledger());
        if (table_ && !keys_) writer_.start(table_);
        if (!table_ && merger_ && !groups_.is_cancelled()) groups_.clear();
    }
    GroupTable* next_table() {
        const auto& tables = groups_.tables();
        while (number_ < tables.size() && tables[number_]->groups() == 0) number_++;
        return number_ < tables.size() ? tables[number_].get() : nullptr;
    }

    HostGroups& groups_;
    GroupWriter writer_;
    std::unique_ptr<GroupMerger> merger_;  // nullptr: tables are given out as they are
    bool is_complete_ = false;
    TopBound bound_;
    std::unique_ptr<TopKeys> keys_;  // nullptr: all groups are given out
    GroupTable* table_ = nullptr;
    size_t number_ = 0;
};

Status FlushCursor::write(const Sink& sink, ResultBatch* result) {
    if (sink.kind == Memory::Device)
        return failure(Fault::Error, "XX000", "groups in host memory are not written to a device");
    *result = {};
    if (groups_.is_cancelled()) return cancelled_status();
    result->complete = is_complete_ && groups_.plan().completes_groups;
    while (table_ && result->rows == 0 && result->bytes_needed == 0) {
        AddTime timer(&groups_.counters().ns);
        if (writer_.write(table_, sink, &groups_.counters(), result)) seek();
        if (groups_.is_cancelled()) return cancelled_status();  // in the midst of merging, perhaps
        if (turn_is_over()) break;
    }
    result->done = !table_;
    return {};
}

}  // namespace

HostGroups::HostGroups(const SinkPlan& plan, const Limits& limits, SinkCounters* counters)
    : plan_(plan),
      layout_(plan),
      cancel_(limits.cancel),
      most_set_aside_(plan.completes_groups ? limits.host_memory->limit() / 2 : 0),
      ledger_(~uint64_t{0}, limits.host_memory),
      counters_(*counters) {}

std::unique_ptr<RowConsumer> HostGroups::make_consumer() {
    return std::make_unique<GroupConsumer>(*this);
}

Status HostGroups::take_table(GroupTable** table) {
    std::lock_guard lock(mutex_);
    if (free_.empty()) {
        add_table(table);
    } else {
        *table = free_.back();
        free_.pop_back();
    }
    return {};
}

Status HostGroups::take_another_table(GroupTable** table) {
    std::lock_guard lock(mutex_);
    add_table(table);
    return {};
}

// With the lock held.
void HostGroups::add_table(GroupTable** table) {
    free_.reserve(tables_.size() + 1);  // so that giving back does not fail
    tables_.push_back(std::make_unique<GroupTable>(plan_, layout_, &ledger_));
    *table = tables_.back().get();
}

void HostGroups::give_back(GroupTable* table) {
    std::lock_guard lock(mutex_);
    free_.push_back(table);
}

Status HostGroups::flush(std::unique_ptr<Cursor>* cursor) {
    return guarded([&]() -> Status {
        auto made = std::make_unique<FlushCursor>(*this);
        GPUJOIN_RETURN_IF_FAILED(made->start());
        *cursor = std::move(made);
        return {};
    });
}

void HostGroups::clear() {
    std::lock_guard lock(mutex_);
    gave_out_ = false;
    if (free_.size() == tables_.size()) {
        for (const auto& table : tables_) table->clear();
        return;
    }
    // The memory of tables that were set aside is others' again.
    free_.clear();
    tables_.clear();
}

}  // namespace gpujoin
