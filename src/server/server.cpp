// The event loop: accepting, receiving, and what a connection may ask before it is in a session.
#include "server/server.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <thread>
#include <tuple>
#include <utility>

#include "server/calibration.h"
#include "server/log.h"
#include "fault/fault.h"

namespace gpujoin {

namespace {

// What epoll events are about; connections count up from kFirstConnection.
enum : uint64_t { kListener, kMailbox, kFirstConnection };

constexpr int kPacketsAtATime = 16;  // of one client, before others get their turn
constexpr std::chrono::milliseconds kGiveBackTime{5};
constexpr int kAgainAfterMs = 100;  // when there were no descriptors, or no memory, left

Status system_failure(const char* what) {
    return failure(Fault::Error, "58000", "could not %s: %s", what, strerror(errno));
}

UniqueFd spare_descriptor() {
    return UniqueFd(eventfd(0, EFD_CLOEXEC));
}

Status out_of_descriptors() {
    return failure(Fault::Error, "53000", "the gpujoin server has no file descriptor left for another join")
        .with_hint(
            "Run fewer joins at the same time, or raise the limit on open files (ulimit -n) that PostgreSQL "
            "is started with.");
}

// How many calls may run at once. Those on a GPU spend their time waiting for it.
size_t worker_places(Devices& devices) {
    if (devices.gpus() > 0) return std::clamp<size_t>(2 * std::thread::hardware_concurrency(), 8, 64);
    return std::max<size_t>(devices.cpu().description.processors, 1);
}

}  // namespace

Server::Server(const ServerConfig& config, std::unique_ptr<Devices> devices)
    : socket_name_(config.socket),
      host_memory_(config.host_memory),
      reserve_(config.reserve),
      kept_(config.keep_memory),
      devices_(std::move(devices)),
      next_connection_(kFirstConnection) {}

Server::~Server() {
    if (listener_) unlink(socket_name_.c_str());
}

Status Server::create(const ServerConfig& config, std::unique_ptr<Devices> devices,
                      std::unique_ptr<Server>* server) {
    std::unique_ptr<Server> made(new Server(config, std::move(devices)));
    GPUJOIN_RETURN_IF_FAILED(
        Arena::create(config.staging_memory, &made->host_memory_, &made->reserve_, &made->arena_));
    // Pinning for a GPU touches it all; else pages are set aside for blocks that are granted.
    Status pinned = made->devices_->gpus() == 0 || made->arena_->reserve_staging()
                        ? made->devices_->pin(made->arena_->at(0), made->arena_->staging_bytes())
                        : out_of_machine_memory();
    if (pinned.ok())
        made->arena_->set_pinned();
    else
        log_line(LogLevel::Warning, "staging memory is not pinned: %s", pinned.message);
    made->epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
    if (!made->epoll_) return system_failure("create an event queue");
    GPUJOIN_RETURN_IF_FAILED(made->watch(made->mailbox_.fd(), kMailbox));
    GPUJOIN_RETURN_IF_FAILED(made->listen());
    made->spare_ = spare_descriptor();
    made->reserver_ = std::make_unique<Reserver>(made->arena_.get(), &made->mailbox_);
    made->workers_ = std::make_unique<WorkerThreads>(worker_places(*made->devices_));
    *server = std::move(made);
    return {};
}

Status Server::watch(int fd, uint64_t id) {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = id}};
    return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0 ? Status{}
                                                                   : system_failure("watch events");
}

Status Server::listen() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket_name_.copy(address.sun_path, sizeof address.sun_path - 1);
    unlink(socket_name_.c_str());
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return system_failure("create a socket");
    // Nobody else may connect, not even before the mode is set.
    mode_t previous = umask(0177);
    int bound = bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
    umask(previous);
    if (bound != 0) return system_failure("bind the socket");
    listener_ = std::move(socket);
    if (::listen(listener_.get(), SOMAXCONN) != 0) return system_failure("listen on the socket");
    return watch(listener_.get(), kListener);
}

void Server::run() {
    epoll_event events[64];
    while (!stopping_ || !sessions_.empty()) {
        bool accepts_again = accepting_paused_ && !stopping_;
        int timeout = arena_->has_to_give_back() ? 0 : accepts_again || starved_ ? kAgainAfterMs : -1;
        int count = epoll_wait(epoll_.get(), events, std::size(events), timeout);
        auto now = std::chrono::steady_clock::now();
        if (accepts_again && now - paused_since_ >= std::chrono::milliseconds(kAgainAfterMs))
            pause_accepting(false);
        if (starved_) advance_sessions();
        for (int i = 0; i < count; i++) attempt([&] { handle_event(events[i]); });
        erase_finished_sessions();
        if (leaves_when_idle_ && !stopping_ && is_idle()) begin_to_stop();
        give_back_memory();
    }
}

// Nobody is connected but the one who pings. Whoever has just been about to connect finds the next server.
bool Server::is_idle() const {
    return sessions_.empty() && waiting_.empty() && participants_.size() <= 1;
}

// Of what was released: a little between events.
void Server::give_back_memory() {
    auto end = std::chrono::steady_clock::now() + kGiveBackTime;
    while (arena_->give_back_piece() && std::chrono::steady_clock::now() < end) continue;
}

// Whoever an action was for has been told or cut off where there was no memory for it; what was left undone
// of a session is done later.
template <typename Action>
void Server::attempt(const Action& action) {
    try {
        action();
    } catch (const std::exception& exception) {
        log_line(LogLevel::Warning, "an event was not handled: %s", exception.what());
        starved_ = true;
    }
}

void Server::advance_sessions() {
    starved_ = false;
    for (const auto& [id, session] : sessions_) attempt([&session = *session] { session.advance(); });
}

void Server::stop() {
    mailbox_.post([this] { begin_to_stop(); });
}

void Server::begin_to_stop() {
    stopping_ = true;
    calibration_cancel_ = true;
    pause_accepting(true);
    disconnect_all();
}

void Server::handle_event(const epoll_event& event) {
    if (event.data.u64 == kMailbox) return mailbox_.deliver();
    if (event.data.u64 == kListener) return accept_clients();
    // A connection may be gone that has another event in the same bunch.
    auto found = participants_.find(event.data.u64);
    if (found == participants_.end()) return;
    std::shared_ptr<Participant> participant = found->second;
    if (event.events & (EPOLLHUP | EPOLLERR)) return disconnect(event.data.u64);
    if (event.events & EPOLLOUT) participant->connection.flush();
    if (event.events & EPOLLIN) receive(participant);
}

void Server::accept_clients() {
    while (!stopping_) {
        UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (socket) {
            admit(std::move(socket));
            continue;
        }
        if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
        // Where not even the spare descriptor helps, the next attempt is due when a connection is closed, or
        // after a while: those that are missing may be another process's.
        Refusal refusal = refuse_client();
        if (refusal == Refusal::Impossible) return pause_accepting(true);
        if (refusal == Refusal::NobodyWaits) return;
    }
}

// Accepts a client with the spare descriptor, to tell it why it cannot be served. Without a descriptor
// accept() fails also where nobody waits.
Server::Refusal Server::refuse_client() {
    spare_.reset();
    UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    Refusal refusal = socket ? Refusal::Told : errno == EAGAIN ? Refusal::NobodyWaits : Refusal::Impossible;
    if (socket) {
        Connection connection(std::move(socket), epoll_.get(), next_connection_++);
        Status status = out_of_descriptors();
        connection.send(MessageType::Failed, 0, 0, &status);
    }
    spare_ = spare_descriptor();
    return spare_ ? refusal : Refusal::Impossible;
}

void Server::admit(UniqueFd socket) {
    uint64_t id = next_connection_++;
    auto participant = std::make_shared<Participant>(std::move(socket), epoll_.get(), id, arena_.get());
    if (participant->connection.peer_user() != geteuid()) {
        log_line(LogLevel::Warning, "refused a connection of process %d of user %u",
                 participant->connection.peer_process(), participant->connection.peer_user());
        return;
    }
    if (!participant->connection.is_watched()) {
        Status status = out_of_machine_memory();
        return participant->connection.send(MessageType::Failed, 0, 0, &status);
    }
    participants_.emplace(id, std::move(participant));
}

void Server::pause_accepting(bool pause) {
    if (accepting_paused_ == pause) return;
    accepting_paused_ = pause;
    paused_since_ = std::chrono::steady_clock::now();
    epoll_event event{.events = pause ? 0u : EPOLLIN, .data = {.u64 = kListener}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener_.get(), &event);
}

void Server::receive(const std::shared_ptr<Participant>& participant) {
    alignas(8) static thread_local std::byte packet[kMaxMessageBytes];
    for (int i = 0; i < kPacketsAtATime; i++) {
        ssize_t bytes = participant->connection.receive(packet);
        if (bytes == 0) return disconnect(participant->connection.id());
        if (bytes < 0) return;
        Message message;
        // A packet longer than the buffer was cut, and is refused for its size.
        size_t held = std::min<size_t>(static_cast<size_t>(bytes), kMaxMessageBytes);
        Status status = decode({packet, held}, &message);
        if (status.ok()) status = without_exceptions([&] { return handle(participant, message); });
        if (!status.ok()) return fail(*participant, status);
    }
}

Status Server::handle(const std::shared_ptr<Participant>& participant, const Message& message) {
    MessageType type = message.header->type;
    size_t stages = participant->session ? participant->session->stages() : 0;
    if (message.header->stage >= std::max<size_t>(stages, 1))
        return unexpected("It names a stage that does not exist.");
    if (participant->unfinished_open) return receive_open_part(participant, message);
    if (type == MessageType::GetDevices) {
        send_devices(*participant, message.header->sequence);
        return {};
    }
    if (type == MessageType::Calibrate) {
        calibrate(participant, message.header->sequence);
        return {};
    }
    if (type == MessageType::GetKept || type == MessageType::ForgetKept) {
        if (type == MessageType::ForgetKept) kept_.forget(message.as<ForgetKeptBody>().table);
        send_kept_tables(*participant, message.header->sequence);
        return {};
    }
    if (type == MessageType::Ping) {
        FaultPause pause;
        leaves_when_idle_ = message.as<PingBody>().leave_when_idle != 0;
        participant->connection.send(MessageType::Pong, 0, message.header->sequence, nullptr);
        return {};
    }
    if (participant->session) return participant->session->receive(*participant, message);
    if (type == MessageType::Hello) return welcome(*participant, message.as<HelloBody>());
    if (participant->greeted && type == MessageType::Open) return receive_open(participant, message);
    if (participant->greeted && type == MessageType::Attach) return attach(participant, message);
    return unexpected("A session must be opened first.");
}

Status Server::welcome(Participant& participant, const HelloBody& hello) {
    participant.greeted = true;
    WelcomeBody body{arena_->id(), arena_->bytes(), Arena::kBlockBytes};
    int fd = hello.mapped_arena == arena_->id() ? -1 : arena_->fd();
    participant.connection.send(MessageType::Welcome, 0, 0, &body, {}, 0, fd);
    return {};
}

// What comes whole is not kept.
Status Server::receive_open(const std::shared_ptr<Participant>& participant, const Message& message) {
    const auto& body = message.as<OpenBody>();
    if (message.packed.size() == body.bytes) return open_session(participant, body, message.packed);
    participant->unfinished_open = std::make_unique<UnfinishedOpen>(body, &host_memory_, &reserve_);
    return participant->unfinished_open->add(message.packed);
}

Status Server::receive_open_part(const std::shared_ptr<Participant>& participant, const Message& message) {
    if (message.header->type != MessageType::OpenPart)
        return unexpected("The session is not opened completely yet.");
    GPUJOIN_RETURN_IF_FAILED(participant->unfinished_open->add(message.packed));
    if (!participant->unfinished_open->is_complete()) return {};
    auto open = std::move(participant->unfinished_open);
    return open_session(participant, open->body(), open->packed());
}

Status Server::open_session(const std::shared_ptr<Participant>& participant, const OpenBody& body,
                            std::span<const std::byte> packed) {
    OwnedFragment fragment(body.stages);
    GPUJOIN_RETURN_IF_FAILED(unpack(packed, fragment.spec.get(), fragment.stages));
    GPUJOIN_RETURN_IF_FAILED(validate(fragment.view()));
    uint64_t id = next_session_++;
    Resources resources{arena_.get(),   &host_memory_,   &reserve_, devices_.get(),
                        workers_.get(), reserver_.get(), &mailbox_, &kept_};
    auto session = std::make_unique<Session>(id, resources, std::move(fragment), body);
    auto entry = sessions_.emplace(id, std::move(session)).first;
    Status status = without_exceptions([&] { return entry->second->open(participant); });
    if (!status.ok() && !participant->session) sessions_.erase(entry);
    return status;
}

Status Server::attach(const std::shared_ptr<Participant>& participant, const Message& message) {
    uint64_t id = message.header->session;
    auto found = sessions_.find(id);
    if (found == sessions_.end()) return session_is_over(id);
    return found->second->attach(participant, message.as<AttachBody>().secret);
}

void Server::send_devices(Participant& participant, uint64_t sequence) {
    DevicesBody body{};
    body.staging_used = arena_->staging_used();
    body.staging_bytes = arena_->staging_bytes();
    body.host_used = host_memory_.used() + reserve_.used();
    body.host_bytes = host_memory_.limit();
    body.keep_bytes = kept_.limit();
    devices_->describe(host_memory_, &body);
    participant.connection.send(MessageType::Devices, 0, sequence, &body);
}

void Server::send_kept_tables(Participant& participant, uint64_t sequence) {
    KeptTablesBody body{};
    kept_.describe(&body);
    participant.connection.send(MessageType::KeptTables, 0, sequence, &body);
}

// One calibration: its blocks, and what it found.
struct Server::Calibration {
    std::optional<BlockRange> input, output;
    Status status;
    std::vector<EngineRates> rates;
};

// Whoever asks while a calibration is running waits for that one.
void Server::calibrate(const std::shared_ptr<Participant>& participant, uint64_t sequence) {
    auto calibration = std::make_shared<Calibration>();
    waiting_.emplace_back(participant, sequence);
    if (waiting_.size() > 1) return;
    try {
        start_calibration(calibration);
    } catch (const std::bad_alloc&) {
        calibration->status = out_of_machine_memory();
        finish_calibration(*calibration);
    }
}

void Server::start_calibration(const std::shared_ptr<Calibration>& calibration) {
    calibration->input = arena_->grant(Arena::kBlockBytes, getpid());
    calibration->output = arena_->grant(Arena::kBlockBytes, getpid());
    Mailbox::Letters report;
    report.emplace_back([this, calibration] { finish_calibration(*calibration); });
    workers_->run(WorkerThreads::make_share(), [this, calibration, report = std::move(report)]() mutable {
        calibration->status = without_exceptions([&] { return measure(*calibration); });
        mailbox_.post(std::move(report));
    });
}

Status Server::measure(Calibration& calibration) {
    const auto& [input, output] = std::tie(calibration.input, calibration.output);
    if (!input || !output) return out_of_host_memory();
    if (!arena_->reserve(*input) || !arena_->reserve(*output)) return out_of_machine_memory();
    for (const auto& device : devices_->usable()) {
        Ledger memory(device->memory.limit(), &device->memory);
        Limits limits{&host_memory_, device->is_cpu() ? nullptr : &memory, &calibration_cancel_};
        CalibrationSpace space{arena_->at(input->offset), arena_->at(output->offset), Arena::kBlockBytes,
                               arena_->kind_of(*input)};
        Status status = measure_rates(*device->engine, limits, space, &calibration.rates.emplace_back());
        if (status.fault == Fault::DeviceLost) leave_for(*device, status, "when it was measured");
        GPUJOIN_RETURN_IF_FAILED(status);
    }
    return {};
}

void Server::finish_calibration(const Calibration& calibration) {
    const Status& status = calibration.status;
    for (const auto& block : {calibration.input, calibration.output}) {
        if (!block) continue;
        if (status.ok()) arena_->set_backed(*block, block->bytes);
        arena_->release(*block, getpid());
    }
    for (size_t i = 0; status.ok() && i < calibration.rates.size(); i++)
        devices_->usable()[i]->rates = calibration.rates[i];
    for (const auto& [waiting, sequence] : std::exchange(waiting_, {})) {
        std::shared_ptr<Participant> participant = waiting.lock();
        if (!participant) continue;
        if (status.ok())
            send_devices(*participant, sequence);
        else
            participant->connection.send(MessageType::Failed, 0, sequence, &status);
    }
}

void Server::fail(Participant& participant, const Status& status) {
    if (participant.session) return participant.session->fail(status);
    participant.unfinished_open.reset();
    participant.connection.send(MessageType::Failed, 0, 0, &status);
    participant.connection.finish();
}

void Server::disconnect(uint64_t id) {
    auto node = participants_.extract(id);
    if (Session* session = node.mapped()->session) session->disconnect(*node.mapped());
    if (!stopping_) pause_accepting(false);
}

void Server::disconnect_all() {
    while (!participants_.empty()) disconnect(participants_.begin()->first);
}

void Server::erase_finished_sessions() {
    std::erase_if(sessions_, [](const auto& entry) { return entry.second->is_finished(); });
}

}  // namespace gpujoin
