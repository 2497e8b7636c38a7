// The order in which calls get their places.
#include <gtest/gtest.h>

#include <list>
#include <map>
#include <string>
#include <vector>

#include "server/schedule.h"

namespace gpujoin::test {

namespace {

using std::chrono::milliseconds;

// Plays calls with names, whose first letter is that of their share, at times of its own.
class ScheduleTest : public testing::Test {
  protected:
    struct NamedCall : Schedule::Call {
        std::string name;
    };

    void enter(const std::string& name, bool opens = false) {
        NamedCall& call = calls_.emplace_back();
        call.name = name;
        call.opens = opens;
        auto& share = shares_[name[0]];
        if (!share) share = std::make_shared<Schedule::Share>();
        call.share = share;
        schedule_.enter(&call, now_);
    }
    // The names of those that get places.
    std::string next(bool can_begin = true) {
        std::string names;
        while (Schedule::Call* call = schedule_.next(now_, [=] { return can_begin; })) {
            names += (names.empty() ? "" : " ") + static_cast<NamedCall*>(call)->name;
            running_.push_back(static_cast<NamedCall*>(call));
        }
        return names;
    }
    NamedCall* running(const std::string& name) {
        for (NamedCall* call : running_)
            if (call->name == name) return call;
        return nullptr;
    }
    // A call has run for so long, and perhaps goes on waiting at once.
    void leave(const std::string& name, milliseconds after = milliseconds(1), bool again = false) {
        NamedCall* call = running(name);
        ASSERT_TRUE(call) << name;
        now_ += after;
        schedule_.leave(call, now_);
        running_.remove(call);
        if (again) schedule_.enter(call, now_);
    }
    // Makes long ones of four shares at most.
    void use_up(const std::vector<std::string>& names) {
        for (const std::string& name : names) enter(name);
        next();
        now_ += milliseconds(200);
        for (const std::string& name : names) leave(name, milliseconds(0));
    }

    Schedule schedule_{2};  // two Quick places and two Long ones
    Schedule::Time now_{};
    std::list<NamedCall> calls_;
    std::list<NamedCall*> running_;
    std::map<char, std::shared_ptr<Schedule::Share>> shares_;
};

}  // namespace

TEST_F(ScheduleTest, SharesAreServedInTurn) {
    for (const char* name : {"a1", "a2", "a3", "a4", "b1", "b2", "c1", "d1", "e1"}) enter(name);
    EXPECT_EQ(next(), "a1 b1 c1 d1") << "one of each before a second of any";
    EXPECT_EQ(schedule_.waiting(), 5u);
    leave("c1");
    EXPECT_EQ(next(), "e1");
    leave("b1");
    EXPECT_EQ(next(), "b2") << "a has another call running";
    leave("d1");
    EXPECT_EQ(next(), "a2");
    leave("a1");
    leave("a2");
    EXPECT_EQ(next(), "a3 a4");
    EXPECT_EQ(schedule_.waiting(), 0u);
}

TEST_F(ScheduleTest, AShareHasAllPlacesOnlyWhileNobodyElseWantsThem) {
    for (const char* name : {"a1", "a2", "a3", "a4", "a5", "a6"}) enter(name);
    EXPECT_EQ(next(), "a1 a2 a3 a4");
    for (const char* name : {"b1", "b2", "b3"}) enter(name);
    EXPECT_EQ(next(), "");
    leave("a1");
    leave("a2");
    EXPECT_EQ(next(), "b1 b2");
    leave("a3");
    EXPECT_EQ(next(), "a5") << "of which fewer are running now";
    leave("b1");
    EXPECT_EQ(next(), "b3");
}

TEST_F(ScheduleTest, SharesThatHaveTakenLittleTimeDoNotWaitForTheOthers) {
    use_up({"a", "b", "c", "d"});
    for (const char* name : {"a", "b", "c", "d"}) enter(name);
    EXPECT_EQ(next(), "a b") << "Quick places are not for them";
    enter("x");
    EXPECT_EQ(next(), "x");
    leave("a", milliseconds(10), true);
    EXPECT_EQ(next(), "c");
    leave("x");
    enter("x2");
    EXPECT_EQ(next(), "x2");
    leave("b", milliseconds(10), true);
    EXPECT_EQ(next(), "d");
    leave("c", milliseconds(10), true);
    EXPECT_EQ(next(), "a");
}

TEST_F(ScheduleTest, LongOnesKeepTheirPlaces) {
    use_up({"a"});
    for (const char* name : {"u", "v", "w", "x", "y"}) enter(name);
    EXPECT_EQ(next(), "u v w x");
    enter("a2");
    leave("u");
    EXPECT_EQ(next(), "y");
    leave(running("w")->place == Schedule::Long ? "w" : "v");
    EXPECT_EQ(next(), "a2");
    EXPECT_EQ(running("a2")->place, Schedule::Long);

    // One that goes on from turn to turn becomes a long one.
    for (int turn = 0; turn < 20; turn++) {
        EXPECT_EQ(running("y")->place, Schedule::Quick);
        leave("y", milliseconds(10), true);
        next();
    }
    EXPECT_EQ(running("y"), nullptr) << "the other Long place is taken";
    leave("a2");
    EXPECT_EQ(next(), "y");
    EXPECT_EQ(running("y")->place, Schedule::Long);
}

TEST_F(ScheduleTest, CallsKnowWhetherTheirShareWasQuick) {
    use_up({"a"});
    for (const char* name : {"a2", "b", "c", "d"}) enter(name);
    next();
    EXPECT_FALSE(running("a2")->was_quick);
    EXPECT_TRUE(running("b")->was_quick);
    EXPECT_EQ(running("d")->place, Schedule::Long);
    EXPECT_TRUE(running("d")->was_quick) << "whatever place it has";
    leave("d", milliseconds(200), true);
    next();
    EXPECT_FALSE(running("d")->was_quick);
}

TEST_F(ScheduleTest, OpeningWaitsForNobodyElsesWork) {
    for (const char* name : {"a1", "a2", "b1", "b2", "c1"}) enter(name);
    next();
    for (const char* name : {"x", "y", "z"}) enter(name, true);
    EXPECT_EQ(next(), "x y");
    EXPECT_EQ(schedule_.waiting(), 1u) << "no turn ends for an opening";
    leave("x");
    EXPECT_EQ(next(), "z");
}

TEST_F(ScheduleTest, WithoutAThreadForNewCallsThoseThatHaveBegunGoOn) {
    for (const char* name : {"a1", "b1", "c1", "d1"}) enter(name);
    next();
    for (const char* name : {"e1", "f1"}) enter(name);
    enter("x", true);
    leave("c1", milliseconds(10), true);
    leave("a1", milliseconds(10), true);
    EXPECT_EQ(next(false), "c1 a1");
    leave("b1");
    EXPECT_EQ(next(false), "") << "the place stays free";
    EXPECT_EQ(schedule_.waiting(), 2u);
    EXPECT_EQ(next(), "x e1");
    leave("a1");
    EXPECT_EQ(next(), "f1");
}

TEST_F(ScheduleTest, TimeIsForgottenWhileThereIsNoWork) {
    use_up({"a"});
    now_ += milliseconds(50);
    enter("a2");
    EXPECT_EQ(shares_['a']->taken, milliseconds(150));
    EXPECT_EQ(next(), "a2");
    EXPECT_EQ(running("a2")->place, Schedule::Quick);
    leave("a2", milliseconds(10), true);
    EXPECT_EQ(shares_['a']->taken, milliseconds(160));
    next();
    leave("a2");
    now_ += std::chrono::hours(1);
    enter("a3");
    EXPECT_EQ(shares_['a']->taken, milliseconds(0));
}

}  // namespace gpujoin::test
