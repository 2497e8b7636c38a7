// What a session does with kept columns: finds chunks for its participants and holds them as long as it
// lives, has new ones filled, and probes with them or appends them to build sides.
#include <algorithm>
#include <cstring>
#include <utility>

#include "server/session.h"

namespace gpujoin {

namespace {

constexpr size_t kMostHandles = 1u << 16;  // of a session

}  // namespace

Status Session::receive_kept(Participant& participant, const Message& message) {
    switch (message.header->type) {
        case MessageType::FindKept:
            return find_kept(participant, message);
        case MessageType::MakeKept:
            return make_kept(participant, message);
        case MessageType::AppendKept:
            return append_kept(participant, message);
        case MessageType::SealKept:
            return seal_kept(participant, message);
        case MessageType::RenewKept:
            return renew_kept(message);
        default:
            return scan_kept(participant, message);
    }
}

void Session::send_found(Participant& participant, uint64_t sequence, const FoundKeptBody& body) {
    participant.connection.send(MessageType::FoundKept, id_, sequence, &body);
}

// A scan that starts again and again finds the same.
uint32_t Session::hold(const ChunkKey& chunk, KeptView view) {
    auto held = std::ranges::find_if(
        kept_, [&](const KeptHandle& kept) { return kept.key == chunk && kept.view == view; });
    if (held == kept_.end()) held = kept_.insert(held, {chunk, std::move(view), nullptr, nullptr, false});
    return static_cast<uint32_t>(held - kept_.begin()) + 1;
}

FoundChunk Session::find_chunk(const ChunkKey& key, std::span<const ChunkColumn> columns) {
    KeptStore::Found found = resources_.kept->find(key, columns);
    FoundChunk answer{};
    answer.exists = found.exists;
    answer.proof = found.proof;
    if (found.map) answer.map = *found.map;
    for (size_t i = 0; i < found.has.size(); i++)
        if (found.has[i]) answer.has[i / 8] |= static_cast<uint8_t>(1u << (i % 8));
    if (!found.view.chunks.empty()) {
        answer.rows = found.view.rows_of().rows();
        answer.handle = hold(key, std::move(found.view));
    }
    return answer;
}

Status Session::find_kept(Participant& participant, const Message& message) {
    const auto& body = message.as<ChunkBody>();
    if (body.chunks == 0 || body.chunks > kMaxFoundChunks)
        return unexpected("The number of chunks is out of range.");
    if (kept_.size() + body.chunks > kMostHandles) return unexpected("The session holds too many chunks.");
    std::vector<FoundChunk> found;
    found.reserve(body.chunks);
    ChunkKey key = body.chunk;
    for (; found.size() < body.chunks; key.number++) found.push_back(find_chunk(key, message.kept_columns));
    const FoundChunksBody answer{body.chunks, 0};
    participant.connection.send(MessageType::FoundChunks, id_, message.header->sequence, &answer,
                                std::as_bytes(std::span(found)));
    return {};
}

Status Session::make_kept(Participant& participant, const Message& message) {
    const auto& body = message.as<ChunkBody>();
    if (kept_.size() >= kMostHandles) return unexpected("The session holds too many chunks.");
    std::vector<ColumnSpec> specs;
    for (const ChunkColumn& column : message.kept_columns) specs.push_back(column.spec);
    GPUJOIN_RETURN_IF_FAILED(validate_columns(specs));
    FoundKeptBody answer{};
    if (auto chunk = resources_.kept->make(body.chunk, message.kept_columns, body.bytes)) {
        chunk->expect(body.rows);
        kept_.push_back({body.chunk, {}, std::move(chunk), &participant, false});
        answer.handle = static_cast<uint32_t>(kept_.size());
    }
    send_found(participant, message.header->sequence, answer);
    return {};
}

// A chunk that the participant fills; nullptr where the handle is of none.
Session::KeptHandle* Session::find_making(const Participant& participant, uint32_t handle) {
    if (handle == 0 || handle > kept_.size()) return nullptr;
    KeptHandle& kept = kept_[handle - 1];
    return kept.making && kept.maker == &participant && !kept.is_complete ? &kept : nullptr;
}

Status Session::append_kept(Participant& participant, const Message& message) {
    const auto& body = message.as<AppendKeptBody>();
    KeptHandle* kept = find_making(participant, body.handle);
    if (!kept) return unexpected("There is no such chunk to be filled.");
    if (body.block_rows % sizeof(uint16_t) != 0 || body.block_rows > body.block.bytes ||
        body.blocks > (body.block.bytes - body.block_rows) / sizeof(uint16_t))
        return unexpected("The numbers of rows are outside of the block.");
    auto task = make_task(message);
    task->making = kept->making;
    task->kept_rows = body;
    task->batch.block = body.block;
    task->batch.rows = body.rows;
    std::vector<ColumnSpec> columns;
    for (const KeptValues& values : kept->making->columns()) columns.push_back(values.column.spec);
    GPUJOIN_RETURN_IF_FAILED(validate_buffers(columns, message.columns, body.rows, body.block.bytes));
    GPUJOIN_RETURN_IF_FAILED(participant.hand_over(body.block));
    task->buffers.assign(message.columns.begin(), message.columns.end());
    return queue(participant, std::move(task));
}

Status Session::seal_kept(Participant& participant, const Message& message) {
    const auto& body = message.as<SealKeptBody>();
    KeptHandle* kept = find_making(participant, body.handle);
    if (!kept) return unexpected("There is no such chunk to be filled.");
    auto task = make_task(message);
    task->making = kept->making;
    task->kept_seal = body;
    if (message.map) task->map = *message.map;
    task->parts = resources_.kept->parts_to_cut(kept->key, body.proof, task->map, *kept->making);
    kept->is_complete = true;
    return queue(participant, std::move(task));
}

Status Session::renew_kept(const Message& message) {
    const auto& body = message.as<RenewKeptBody>();
    resources_.kept->renew(body.chunk, body.version_before, body.proof, body.map);
    return {};
}

void Session::answer_seal_kept(Participant& participant, const Task& task) {
    KeptHandle& kept = kept_[task.kept_seal.handle - 1];
    FoundKeptBody answer{};
    if (task.kept_seal.keep && !kept.making->has_failed()) {
        resources_.kept->put(kept.key, task.kept_seal.proof, task.map, std::move(kept.making), task.parts,
                             task.cut_parts);
        answer.handle = task.kept_seal.handle;
    } else {
        resources_.kept->give_up(kept.key);
    }
    kept.making.reset();
    send_found(participant, task.sequence, answer);
}

namespace {

bool names_source_rows(const FragmentView& fragment) {
    if (fragment.spec->sink == SinkKind::Groups) return false;
    return fragment.is_plain_join() ? fragment.stages[0].join.names_probe_rows
                                    : fragment.spec->source_is_unnamed == 0;
}

}  // namespace

// A scan whose rows the source is probed with, or which a build side is made of.
Status Session::scan_kept(Participant& participant, const Message& message) {
    if (message.scanned.empty()) return unexpected("No chunk is to be scanned.");
    auto task = make_task(message);
    if (task->probes() && names_source_rows(spec_.view()))
        return unexpected("Rows of the source are wanted, which kept columns do not have.");
    task->scan = std::make_unique<KeptScan>();
    task->scan->conditions.assign(message.conditions.begin(), message.conditions.end());
    for (const ScannedChunk& chunk : message.scanned) {
        if (chunk.handle == 0 || chunk.handle > kept_.size() || kept_[chunk.handle - 1].view.chunks.empty())
            return unexpected("There is no such chunk to be scanned.");
        const KeptHandle& kept = kept_[chunk.handle - 1];
        task->scan->add(kept.view, chunk.map, kept.key.number);
    }
    std::span<const ColumnSpec> wanted(spec_.spec->source, spec_.spec->source_columns);
    if (task->builds()) {
        const JoinSpec& join = spec_.stages[task->stage].join;
        wanted = {join.build, join.build_columns};
    }
    GPUJOIN_RETURN_IF_FAILED(validate_kept_scan(*task->scan, wanted));
    (task->builds() ? stages_[task->stage].skipped_rows : skipped_rows_) += task->scan->skip_stretches();
    return queue(participant, std::move(task));
}

void Session::answer_build_kept(Participant& participant, const Task& task) {
    FoundKeptBody answer{};
    answer.rows = task.build->rows_appended();
    send_found(participant, task.sequence, answer);
}

// A round: each of the works is done once, several at a time; then() gets the first failure.
void Session::run_round(Participant& participant, const std::vector<std::function<Status()>>& works,
                        const std::function<void(const Status&)>& then) {
    struct Round {
        size_t running = 0;
        Status status;
    };
    auto round = std::make_shared<Round>();
    for (const auto& work : works) {
        run(work, [round, then](const Status& status) {
            if (round->status.ok()) round->status = status;
            if (--round->running == 0) then(round->status);
        });
        round->running++;
        participant.running = true;
    }
}

void Session::start_lanes(Participant& participant, Task& task) {
    if (!task.lanes) {
        KeptMeasure most = device_->engine->kept_measure();
        most.readers =
            std::min({most.readers, resources_.workers->places(), task.scan->rows() / most.rows + 1});
        Status status = KeptLanes::make(most, *task.scan, *device_->engine, limits_on(*device_),
                                        spec_.spec->sink == SinkKind::Rows, &task.lanes);
        if (!status.ok()) return fail(status);
    }
    if (!deliver_lanes(participant, task)) return;
    if (!task.lanes->are_done()) return start_round(participant, task);
    Delivery last;
    last.batch.done = true;
    deliver(participant, task, last);
    pop_task(participant);
}

void Session::start_round(Participant& participant, Task& task) {
    const std::span<const ColumnSpec> source(spec_.spec->source, spec_.spec->source_columns);
    std::vector<std::function<Status()>> works;
    for (KeptLane& lane : task.lanes->all())
        if (lane.is_ready())
            works.emplace_back(
                [this, &task, &lane, source] { return task.lanes->execute(lane, *fragment_, source); });
    run_round(participant, works,
              [this, &participant](const Status& status) { finish_round(participant, status); });
}

void Session::finish_round(Participant& participant, const Status& status) {
    Task& task = *participant.tasks.front();
    const Status settled = status.ok() ? task.lanes->settle() : status;
    if (!settled.ok()) return finish_task(participant, settled);
    participant.running = false;
    if (phase_ == Phase::Over || participant.gone || is_lost(task)) return;
    if (task.dropped) pop_task(participant);
}

void Session::start_build(Participant& participant, Task& task) {
    const JoinSpec& spec = spec_.stages[task.stage].join;
    if (!task.build)
        task.build =
            std::make_unique<KeptBuild>(*task.scan, std::span(spec.build, spec.build_columns),
                                        *device_->engine, limits_on(*device_), resources_.workers->places());
    std::vector<std::function<Status()>> works;
    for (KeptBuild::Lane& lane : task.build->lanes())
        if (!lane.is_done)
            works.emplace_back(
                [&lane, &join = fragment_->join(task.stage), &next_row = stages_[task.stage].next_row] {
                    return KeptBuild::execute(lane, join, next_row);
                });
    run_round(participant, works,
              [this, &participant](const Status& status) { finish_task(participant, status); });
}

// Results go to blocks that the client has given back. False where some wait for one.
bool Session::deliver_lanes(Participant& participant, Task& task) {
    for (KeptLane& lane : task.lanes->all()) {
        if (!lane.has_rows()) continue;
        std::vector<ResultBlock> blocks;
        Status status = participant.take_result_blocks(0, &blocks);
        auto fits = [&](const ResultBlock& block) { return block.range.bytes >= lane.result.bytes; };
        auto block = std::ranges::find_if(blocks, fits);
        const bool is_larger = status.ok() && block == blocks.end() && !blocks.empty();
        if (is_larger) {
            blocks.clear();
            status = participant.take_result_blocks(lane.result.bytes, &blocks);
            block = blocks.begin();
        }
        if (!status.ok()) {
            fail(status);
            return false;
        }
        if (block == blocks.end()) {
            participant.return_result_blocks();
            park(participant);
            return false;
        }
        memcpy(block->sink.memory, lane.memory.data(), lane.result.bytes);
        ResultBatch result = std::exchange(lane.result, {});
        result.done = false;
        deliver(participant, task, {block->range, std::move(result)});
        participant.return_result_blocks();
    }
    return true;
}

// What a participant leaves unfinished.
void Session::give_up_making(const Participant& participant) {
    for (KeptHandle& kept : kept_) {
        if (!kept.making || kept.maker != &participant) continue;
        resources_.kept->give_up(kept.key);
        kept.making.reset();
    }
}

}  // namespace gpujoin
