// Objects in PostgreSQL's memory contexts, which free them without a word: at the end of a query, or when an
// error jumps over whoever made them. The compiler refuses types with a destructor here; test/structure.py
// sees to it that src/pg allocates in no other way. What holds more than memory, as Client, is closed by a
// callback of its context.
#pragma once

#include <type_traits>

#include "pg/compat.h"

extern "C" {
#include "utils/memutils.h"
}

namespace gpujoin {

// `count` objects of this type and `tail` bytes behind them; flags as MCXT_ALLOC_ZERO.
template <typename T>
T* allocate(MemoryContext context, Size count, Size tail, int flags) {
    static_assert(std::is_trivially_destructible_v<T>, "nobody would call the destructor");
    static_assert(alignof(T) <= MAXIMUM_ALIGNOF, "memory contexts do not align better");
    const Size bytes = sizeof(T) * count + tail;  // NOLINT(bugprone-sizeof-expression): T may be a pointer
    return static_cast<T*>(MemoryContextAllocExtended(context, bytes, flags));
}

template <typename T>
T* zeroed(Size count = 1) {
    return allocate<T>(CurrentMemoryContext, count, 0, MCXT_ALLOC_ZERO);
}

template <typename T>
T* zeroed_in(MemoryContext context, Size count = 1) {
    return allocate<T>(context, count, 0, MCXT_ALLOC_ZERO);
}

// For what is written before it is read.
template <typename T>
T* unset(Size count = 1) {
    return allocate<T>(CurrentMemoryContext, count, 0, 0);
}

template <typename T>
T* unset_in(MemoryContext context, Size count = 1) {
    return allocate<T>(context, count, 0, 0);
}

}  // namespace gpujoin
