// The reserver's thread. It asks for no memory itself.
#include "server/reserver.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "fault/fault.h"

namespace gpujoin {

Reserver::Reserver(Arena* arena, Mailbox* mailbox)
    : arena_(arena), mailbox_(mailbox), thread_([this] { serve(); }) {}

Reserver::~Reserver() {
    {
        std::lock_guard lock(mutex_);
        closing_ = true;
    }
    wake_.notify_all();
    thread_.join();
}

void Reserver::reserve(std::shared_ptr<std::vector<Backing>> backings, const std::atomic<bool>* is_unwanted,
                       Mailbox::Letters letter) {
    std::list<Request> request;
    request.push_back({std::move(backings), is_unwanted, std::move(letter), fault_due(FaultPoint::Reserve)});
    {
        std::lock_guard lock(mutex_);
        requests_.splice(requests_.end(), request);
    }
    wake_.notify_one();
}

void Reserver::serve() {
    for (;;) {
        std::list<Request> request;
        {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [this] { return closing_ || !requests_.empty(); });
            if (requests_.empty()) return;
            request.splice(request.end(), requests_, requests_.begin());
        }
        if (reserve_piece(request.front())) {
            std::lock_guard lock(mutex_);
            requests_.splice(requests_.end(), request);
        } else {
            mailbox_->post(std::move(request.front().letter));
        }
    }
}

// Where the machine has little left, each range gets some of it. False when there is nothing more to do: all
// is backed, the machine has no more, or nobody wants it.
bool Reserver::reserve_piece(Request& request) {
    if (*request.is_unwanted) return false;
    Backing* shortest = nullptr;
    for (Backing& backing : *request.backings)
        if (backing.bytes < backing.range.bytes && (!shortest || backing.bytes < shortest->bytes))
            shortest = &backing;
    if (!shortest || request.is_refused || !arena_->reserve_piece(shortest->range, shortest->bytes))
        return false;
    shortest->bytes = std::min(shortest->bytes + Arena::kOverflowUnit, shortest->range.bytes);
    return true;
}

}  // namespace gpujoin
