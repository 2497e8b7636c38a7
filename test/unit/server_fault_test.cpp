// Injected faults (make FAULTS=1): whichever grant or send fails, one client is told or cut off, and the
// server serves the next one with nothing left behind.
#ifdef GPUJOIN_FAULTS

#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "server_test_client.h"

namespace gpujoin::test {

namespace {

void join_once(TestServer* server) {
    TestClient client = server->connect_and_open(key_payload_spec());
    client.append_and_wait({{1, int_payload(1)}});
    client.seal();
    if (client.results(client.probe(client.opened.input[0], {1})).size() != 1)
        throw std::runtime_error("rows");
}

// In a process of its own, since faults are counted from the start of a process. Exits with 0 when all is
// well.
void run_with_fault(const std::string& fault) {
    setenv("GPUJOIN_FAULT", fault.c_str(), 1);
    bool failed = false, clean = false;
    {
        TestServer server;
        try {
            join_once(&server);
        } catch (const std::runtime_error&) {
            failed = true;
        }
        join_once(&server);
        clean = server.becomes_clean();
    }
    _exit(failed && clean ? 0 : 1);
}

}  // namespace

TEST(ServerFault, TheServerSurvivesThem) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    // Four grants for a participant; a send each for Welcome, Opened, Appended, Sealed and Result.
    for (const char* fault :
         {"grant:1", "grant:2", "grant:3", "grant:4", "send:1", "send:2", "send:3", "send:4", "send:5"})
        EXPECT_EXIT(run_with_fault(fault), testing::ExitedWithCode(0), "") << fault;
}

}  // namespace gpujoin::test

#endif
