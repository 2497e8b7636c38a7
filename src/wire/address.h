// Where the server listens: a name in Linux's abstract namespace. There is no file, which copies of a data
// directory would come across, and nothing to remove when a server was killed. Everybody may connect to such
// a name, so both ends see to it that the other is of their user.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <string_view>

namespace gpujoin {

inline constexpr size_t kMaxSocketName = sizeof(sockaddr_un::sun_path) - 1;

// The address of that name, of at most that many bytes, and how many bytes of *address it takes.
inline socklen_t socket_address(std::string_view name, sockaddr_un* address) {
    *address = {};
    address->sun_family = AF_UNIX;
    name.copy(address->sun_path + 1, kMaxSocketName);
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

}  // namespace gpujoin
