// Renewal: how settings reach the server while the cluster runs. A server keeps those that it was started
// with. When a reload changes them the supervisor says so in the log, and asks the server with every ping to
// leave as soon as nobody uses it: no join ends for it, and none has to wait for another. The next server is
// started with the settings of then.
//
// Whether a machine has what they ask for is seen when a server is started. Where one does not get ready with
// new settings, they are refused until they change again, and the next one has those under which a server was
// ready last. (Of a cluster that has just been started there are none: then the new ones are tried on.)
#pragma once

#include "pg/settings.h"

namespace gpujoin {

struct Renewal {
    ServerSettings running;    // of the server that was started last
    ServerSettings proven;     // with which one was ready
    ServerSettings refused;    // with which one did not get ready
    ServerSettings announced;  // that the next one is to have, as the log tells
    bool has_proven;
    bool has_refused;
    bool is_announced;  // a server that ends now makes room for the next one
};

// A server is about to be started: what with.
ServerSettings begin_with_settings(Renewal* renewal);

// It is ready.
void note_ready(Renewal* renewal);

// It has ended before it was. Is the next one to have other settings, so that it need not be waited with?
bool has_to_go_back(Renewal* renewal, const char* last_words);

// Should the running server make room for one with other settings? Tells the log when that changes; that it
// need not after all, once it cannot leave any more (may_leave: it may still do what it was asked to).
bool is_renewal_due(Renewal* renewal, int server_pid, bool may_leave);

}  // namespace gpujoin
