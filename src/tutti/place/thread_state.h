// What the calling thread has set that decides how its ops run: one struct, found once per op.
#pragma once

#include <cstdint>

namespace tutti {

class Executor;

enum class CopyPolicy : std::uint8_t {
  silent,         // copy inputs that are elsewhere
  warn,           // and say so
  explicit_only,  // refuse: throw CopyForbidden
};

namespace detail {

struct ScopeEntry;
struct StreamScopeEntry;

struct ThreadSettings {
  CopyPolicy copy_policy = CopyPolicy::silent;
  bool synchronous = true;
  bool manual_order = false;
};

struct ThreadState {
  Executor* top = nullptr;             // who sees the calls first; null: they run at once
  ScopeEntry* scope = nullptr;         // the innermost device scope; null: automatic placement
  StreamScopeEntry* stream = nullptr;  // the innermost stream scope; null: the devices' default streams
  ThreadSettings settings;
};
extern constinit thread_local ThreadState thread_state;

}  // namespace detail

}  // namespace tutti
