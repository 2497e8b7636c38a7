// What the server process owes to the world around it: it inherits nothing from the process that started it,
// and never outlives it.
#pragma once

#include <functional>
#include <string>

namespace gpujoin {

// Makes this process independent of what started it: a session of its own, no inherited descriptor but 0 and
// 2, default signal dispositions, the first to go when memory runs out, umask 077. Blocks SIGTERM and SIGINT
// for watch_parent(). Before any thread exists.
void detach_from_parent();

// Sets what CUDA reads from the environment, where the user has not: as many work queues as a device can
// have, since streams that share one wait for each other, whatever their priorities. Has the C library keep
// what batches are gathered in, since the system takes long to provide it anew. Before any thread exists.
void prepare_environment();

// Starts a thread that watches standard input, a pipe whose only writer is the supervisor: at its end the
// process leaves at once. SIGTERM and SIGINT call on_terminate; if the process is still there 5 seconds later
// it leaves all the same.
void watch_parent(std::function<void()> on_terminate);

// The socket that leave_at_once() unlinks.
void set_socket_to_unlink(const std::string& name);

// Ends the process without running destructors: what is left is the kernel's to free.
[[noreturn]] void leave_at_once(int code);

}  // namespace gpujoin
