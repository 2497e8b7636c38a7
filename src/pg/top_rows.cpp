// See top_rows.h.
#include "pg/top_rows.h"

#include <initializer_list>

extern "C" {
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
}

namespace gpujoin {

namespace {

enum Slot { kCount, kColumn, kOrdering, kCollation, kHasNullsFirst, kIsAll, kSlots };

}  // namespace

// What a finished SubPlan calls is not seen from here.
bool has_effects_on_rows(List* targetlist) {
    auto* node = reinterpret_cast<Node*>(targetlist);
    return contain_volatile_functions(node) || contain_subplans(node);
}

List* append_top_rows(List* integers, const TopRowsPlan& top) {
    for (int value : {top.count, int{top.column}, static_cast<int>(top.ordering),
                      static_cast<int>(top.collation), int{top.has_nulls_first}, int{top.is_all}})
        integers = lappend_int(integers, value);
    return integers;
}

bool top_rows_behind(const List* integers, int fixed, TopRowsPlan* top) {
    *top = {};
    if (list_length(integers) == fixed) return true;
    if (list_length(integers) != fixed + kSlots) return false;
    auto slot = [=](Slot which) { return list_nth_int(integers, fixed + which); };
    *top = {slot(kCount),
            static_cast<AttrNumber>(slot(kColumn)),
            static_cast<Oid>(slot(kOrdering)),
            static_cast<Oid>(slot(kCollation)),
            slot(kHasNullsFirst) != 0,
            slot(kIsAll) != 0};
    return true;
}

}  // namespace gpujoin
