// The choice of the next call.
#include "server/schedule.h"

#include <algorithm>

namespace gpujoin {

void Schedule::enter(Call* call, Time now) {
    if (call->opens) return opening_.splice(opening_.end(), call->entry);
    Share& share = *call->share;
    if (share.waiting.empty()) {
        if (share.running == 0) share.taken -= std::min(share.taken, now - share.idle_since);
        shares_.splice(shares_.end(), share.entry);
    }
    share.waiting.splice(share.waiting.end(), call->entry);
    waiting_++;
}

Schedule::Call* Schedule::next(Time now) {
    if (!opening_.empty() && free_[Opening] > 0) return begin(&opening_, Opening, now);
    Call* call = take(Quick, now, is_quick);
    if (!call) call = take(Long, now, is_long);
    return call ? call : take(Long, now, is_quick);
}

// Has the share that comes first of those that are wanted run its next call, if the place is free.
Schedule::Call* Schedule::take(Place place, Time now, bool (*is_wanted)(const Share&)) {
    if (free_[place] == 0) return nullptr;
    auto chosen = shares_.end();
    for (auto share = shares_.begin(); share != shares_.end(); ++share)
        if (is_wanted(**share) && (chosen == shares_.end() || (*share)->running < (*chosen)->running))
            chosen = share;
    if (chosen == shares_.end()) return nullptr;
    Share& share = **chosen;
    Call* call = begin(&share.waiting, place, now);
    share.running++;
    waiting_--;
    Line<Share>& line = share.waiting.empty() ? share.entry : shares_;
    line.splice(line.end(), shares_, chosen);
    return call;
}

Schedule::Call* Schedule::begin(Line<Call>* line, Place place, Time now) {
    Call* call = line->front();
    call->entry.splice(call->entry.end(), *line, line->begin());
    call->place = place;
    call->since = now;
    call->was_quick = is_quick(*call->share);
    free_[place]--;
    return call;
}

void Schedule::leave(Call* call, Time now) {
    free_[call->place]++;
    if (call->opens) return;
    Share& share = *call->share;
    share.taken += now - call->since;
    if (--share.running == 0) share.idle_since = now;
}

}  // namespace gpujoin
