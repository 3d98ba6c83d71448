#include "tutti/mesh/wire/random_bytes.h"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/wire/fields.h"

namespace tutti::wire {

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t filled = 0; filled < count;) {
    const ssize_t got = getrandom(bytes.data() + filled, count - filled, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw InvalidState(text("the kernel gives no random bytes: ", std::strerror(errno)), Site());
    filled += static_cast<std::size_t>(got);
  }
  return bytes;
}

std::uint64_t random_number() { return FieldReader(random_bytes(sizeof(std::uint64_t))).u64(); }

}  // namespace tutti::wire
