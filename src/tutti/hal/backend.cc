#include "tutti/hal/backend.h"

#include <algorithm>

namespace tutti {

namespace {

std::vector<Backend*>& list() {
  static auto& instance = *new std::vector<Backend*>;
  return instance;
}

}  // namespace

bool register_backend(Backend& backend) {
  list().push_back(&backend);
  // Static initialisers run in any order; the enumeration does not depend on it.
  std::sort(list().begin(), list().end(), [](const Backend* a, const Backend* b) { return a->kind() < b->kind(); });
  return true;
}

std::span<Backend* const> registered_backends() noexcept { return list(); }

}  // namespace tutti
