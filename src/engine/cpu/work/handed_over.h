// HandedOver: a function that oneTBB calls on other threads. What was written before it was handed over is
// seen by every call, and what the calls have written is seen once it has gone out of scope. That is oneTBB's
// doing; ThreadSanitizer, which cannot look into a library that is not instrumented, is told so here. Calls
// are not ordered among each other.
#pragma once

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace gpujoin::cpu {

template <typename Function>
class HandedOver {
  public:
    explicit HandedOver(const Function& function) : function_(function) { release(&begin_); }
    ~HandedOver() { acquire(&end_); }
    HandedOver(const HandedOver&) = delete;  // the threads meet at its address
    HandedOver& operator=(const HandedOver&) = delete;

    template <typename... Arguments>
    void operator()(Arguments... arguments) const {
        acquire(&begin_);
        function_(arguments...);
        release(&end_);
    }

  private:
#ifdef __SANITIZE_THREAD__
    static void acquire(const char* where) {
        __tsan_acquire(const_cast<char*>(where));
    }
    static void release(const char* where) {
        __tsan_release(const_cast<char*>(where));
    }
#else
    static void acquire(const char*) {}
    static void release(const char*) {}
#endif

    const Function& function_;
    char begin_ = 0, end_ = 0;
};

}  // namespace gpujoin::cpu
