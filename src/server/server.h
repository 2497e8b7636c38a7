// Server: accepts clients and runs the event loop. One thread (the one that calls run()) owns all state;
// engine calls run on worker threads. Nothing in the loop waits for a client or a device.
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "server/arena.h"
#include "server/devices.h"
#include "server/participant.h"
#include "server/reserver.h"
#include "server/session.h"
#include "server/workers.h"

namespace gpujoin {

struct ServerConfig {
    std::string socket;       // file name; must not exist but as a left-over
    uint64_t staging_memory;  // bytes
    uint64_t host_memory;     // bytes; what all joins, and blocks beyond the staging memory, may take
    uint64_t reserve;         // bytes; what their minimum working sets may take beyond that
    uint64_t keep_memory;     // bytes; what kept columns may take
};

class Server {
  public:
    // Listens, and has the staging memory pinned by the devices' engines.
    static Status create(const ServerConfig& config, std::unique_ptr<Devices> devices,
                         std::unique_ptr<Server>* server);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // Serves until stop() was called, or a Ping wants it to leave and nobody needs it, and every session is
    // wound down. A server that has run is destroyed after that, not before.
    void run();
    // From any thread.
    void stop();

  private:
    Server(const ServerConfig& config, std::unique_ptr<Devices> devices);
    Status listen();
    Status watch(int fd, uint64_t id);

    template <typename Action>
    void attempt(const Action& action);
    void advance_sessions();
    void handle_event(const epoll_event& event);
    void accept_clients();
    enum class Refusal { Told, NobodyWaits, Impossible };
    Refusal refuse_client();
    void admit(UniqueFd socket);
    void pause_accepting(bool pause);
    void receive(const std::shared_ptr<Participant>& participant);
    Status handle(const std::shared_ptr<Participant>& participant, const Message& message);
    Status welcome(Participant& participant, const HelloBody& hello);
    Status receive_open(const std::shared_ptr<Participant>& participant, const Message& message);
    Status receive_open_part(const std::shared_ptr<Participant>& participant, const Message& message);
    Status open_session(const std::shared_ptr<Participant>& participant, const OpenBody& body,
                        std::span<const std::byte> packed);
    Status attach(const std::shared_ptr<Participant>& participant, const Message& message);
    void calibrate(const std::shared_ptr<Participant>& participant, uint64_t sequence);
    struct Calibration;
    void start_calibration(const std::shared_ptr<Calibration>& calibration);
    Status measure(Calibration& calibration);
    void finish_calibration(const Calibration& calibration);
    void send_devices(Participant& participant, uint64_t sequence);
    void send_kept_tables(Participant& participant, uint64_t sequence);
    void fail(Participant& participant, const Status& status);
    void disconnect(uint64_t id);
    void disconnect_all();
    bool is_idle() const;
    void begin_to_stop();
    void erase_finished_sessions();
    void give_back_memory();

    const std::string socket_name_;
    Ledger host_memory_;
    Ledger reserve_;
    KeptStore kept_;
    std::unique_ptr<Arena> arena_;  // outlives the engines, which have it pinned
    std::unique_ptr<Devices> devices_;
    Mailbox mailbox_;
    UniqueFd epoll_;
    UniqueFd listener_;
    UniqueFd spare_;  // given up to tell a client that there are no descriptors
    bool accepting_paused_ = false;
    std::chrono::steady_clock::time_point paused_since_;
    bool stopping_ = false;
    bool leaves_when_idle_ = false;
    bool starved_ = false;  // something was left undone for want of memory
    uint64_t next_connection_;
    uint64_t next_session_ = 1;
    std::map<uint64_t, std::shared_ptr<Participant>> participants_;  // by connection, while it is open
    std::map<uint64_t, std::unique_ptr<Session>> sessions_;
    // Whoever waits for the calibration that is running: connection and sequence.
    std::vector<std::pair<std::weak_ptr<Participant>, uint64_t>> waiting_;
    std::atomic<bool> calibration_cancel_{false};
    std::unique_ptr<Reserver> reserver_;  // these two are destroyed first: no work is left then
    std::unique_ptr<WorkerThreads> workers_;
};

}  // namespace gpujoin
