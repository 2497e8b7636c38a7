// Schedule: which of the calls that wait for a worker runs next. A policy alone, without threads or a clock.
//
// Calls belong to shares, one a session, however many participants it has. A call that runs has one of the
// schedule's places, of which there are three kinds:
//
//   Opening  for the opening of sessions, so that connecting waits for nobody's work
//   Quick    for shares that have taken little time lately
//   Long     for all others; for quick ones too where none of those waits
//
// A place that is free goes to the share with the fewest calls running, among equals to the one that has
// waited longest. So a session has more than its share of the places only while nobody else wants them, and a
// small join hardly notices how many large ones there are.
//
// The time that a share has taken is forgotten while it has no work, as fast as it was taken.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>

namespace gpujoin {

class Schedule {
  public:
    using Duration = std::chrono::steady_clock::duration;
    using Time = std::chrono::steady_clock::time_point;
    enum Place { Opening, Quick, Long, kPlaces };

    static constexpr Duration kQuick =
        std::chrono::milliseconds(200);  // what a quick share has taken at most
    static constexpr size_t kOpeningPlaces = 2;

    struct Call;
    struct Share;
    // A place in a line, which is moved from line to line: nobody who waits needs memory for that.
    template <typename Element>
    using Line = std::list<Element*>;

    // What calls have in common that take turns as one.
    struct Share {
        Line<Call> waiting;
        uint32_t running = 0;
        Duration taken{0};
        Time idle_since{};
        Line<Share> entry{this};
    };
    struct Call {
        std::shared_ptr<Share> share;
        bool opens = false;     // may have an Opening place, and no other
        Place place = Quick;    // while it runs,
        Time since{};           // since when,
        bool was_quick = true;  // and whether its share was quick then
        bool has_begun = false;
        Line<Call> entry{this};
    };

    // places: of Quick and of Long ones, each.
    explicit Schedule(size_t places) : free_{kOpeningPlaces, places, places} {}

    // A call that is not the schedule's yet, or has left, wants a place. It stays where it is.
    void enter(Call* call, Time now);
    // The next call that gets a place, nullptr while there is none for any. can_begin: asked where that would
    // be one that has not begun; where it cannot, it goes on waiting, and those that have begun come first.
    Call* next(Time now, const std::function<bool()>& can_begin);
    // Gives the call's place back.
    void leave(Call* call, Time now);

    // Calls that wait for Quick and Long places.
    size_t waiting() const { return waiting_; }

  private:
    static bool is_quick(const Share& share) { return share.taken < kQuick; }
    static bool is_long(const Share& share) { return !is_quick(share); }
    // A call that may have a place, if there is one.
    struct Choice {
        Call* call = nullptr;
        Place place = Quick;
    };
    enum class Among { All, Begun };
    static Call* first_call(const Share& share, Among among);
    Choice choose(Among among) const;
    Choice choose(Place place, Among among, bool (*is_wanted)(const Share&)) const;
    Call* begin(const Choice& choice, Time now);

    std::array<size_t, kPlaces> free_;
    size_t waiting_ = 0;
    Line<Call> opening_;
    Line<Share> shares_;  // those with calls that wait, in the order in which they have waited
};

}  // namespace gpujoin
