// Gathering of what an Open does not hold.
#include "server/unfinished_open.h"

#include "server/resources.h"

namespace gpujoin {

Status UnfinishedOpen::add(std::span<const std::byte> part) {
    if (part.size() > body_.bytes - packed_.size())
        return malformed("message").with_detail(
            "The parts of an Open are longer than the %u bytes that it announced.", body_.bytes);
    if (memory_.used() == 0 && !memory_.charge(body_.bytes)) return out_of_host_memory();
    packed_.reserve(body_.bytes);
    packed_.insert(packed_.end(), part.begin(), part.end());
    return {};
}

}  // namespace gpujoin
