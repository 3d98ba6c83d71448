// A forked child must not hold its parent's connections open: the coordinator would not see the parent die.
#pragma once

namespace tutti::control {

// From now on every fork closes this descriptor in the child.
void close_in_forked_child(int fd);
void keep_in_forked_child(int fd) noexcept;

}  // namespace tutti::control
