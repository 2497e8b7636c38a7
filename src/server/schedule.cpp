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

Schedule::Call* Schedule::next(Time now, const std::function<bool()>& can_begin) {
    Choice choice = choose(Among::All);
    if (choice.call && !choice.call->has_begun && !can_begin()) choice = choose(Among::Begun);
    return choice.call ? begin(choice, now) : nullptr;
}

Schedule::Choice Schedule::choose(Among among) const {
    if (among == Among::All && !opening_.empty() && free_[Opening] > 0) return {opening_.front(), Opening};
    Choice choice = choose(Quick, among, is_quick);
    if (!choice.call) choice = choose(Long, among, is_long);
    return choice.call ? choice : choose(Long, among, is_quick);
}

// The first call of the share that comes first of those that are wanted, if the place is free.
Schedule::Choice Schedule::choose(Place place, Among among, bool (*is_wanted)(const Share&)) const {
    Choice choice{nullptr, place};
    if (free_[place] == 0) return choice;
    for (const Share* share : shares_) {
        if (!is_wanted(*share) || (choice.call && share->running >= choice.call->share->running)) continue;
        if (Call* call = first_call(*share, among)) choice.call = call;
    }
    return choice;
}

Schedule::Call* Schedule::first_call(const Share& share, Among among) {
    auto call = std::find_if(share.waiting.begin(), share.waiting.end(),
                             [=](const Call* each) { return among == Among::All || each->has_begun; });
    return call == share.waiting.end() ? nullptr : *call;
}

Schedule::Call* Schedule::begin(const Choice& choice, Time now) {
    Call* call = choice.call;
    Share& share = *call->share;
    Line<Call>& line = call->opens ? opening_ : share.waiting;
    call->entry.splice(call->entry.end(), line, std::find(line.begin(), line.end(), call));
    call->place = choice.place;
    call->since = now;
    call->was_quick = is_quick(share);
    call->has_begun = true;
    free_[choice.place]--;
    if (call->opens) return call;
    waiting_--;
    share.running++;
    Line<Share>& to = share.waiting.empty() ? share.entry : shares_;  // which is the end of the line
    to.splice(to.end(), shares_, std::find(shares_.begin(), shares_.end(), &share));
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
