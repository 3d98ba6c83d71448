// What the calling thread has set that decides how its ops run: one struct, found once per op.
#pragma once

#include <cstdint>

namespace tutti {

class Executor;
class LaunchListener;

enum class CopyPolicy : std::uint8_t {
  silent,         // copy inputs that are elsewhere
  warn,           // and say so
  explicit_only,  // refuse: throw CopyForbidden
};

namespace detail {

class Mirroring;
struct Replica;
struct ScopeEntry;
struct StreamScopeEntry;

struct ThreadSettings {
  CopyPolicy copy_policy = CopyPolicy::silent;
  bool synchronous = true;
  bool manual_order = false;
  bool evaluates = false;  // layers work as after training
};

struct ThreadState {
  Executor* top = nullptr;             // who sees the calls first; null: they run at once
  ScopeEntry* scope = nullptr;         // the innermost device scope; null: automatic placement
  StreamScopeEntry* stream = nullptr;  // the innermost stream scope; null: the devices' default streams
  ThreadSettings settings;
  LaunchListener* listener = nullptr;    // who hears of every launch: a capture, if one is being recorded
  const Mirroring* mirroring = nullptr;  // where variables are made; null: on one device
  const Replica* replica = nullptr;      // which one of a mirrored program runs; null: none does
};
extern constinit thread_local ThreadState thread_state;

}  // namespace detail

}  // namespace tutti
