#include "tutti/exec/launch_listener.h"

#include <algorithm>
#include <mutex>
#include <vector>

namespace tutti {

constinit std::atomic<int> detail::listeners{0};

namespace {

struct AllListeners {
  std::mutex mutex;
  std::vector<LaunchListener*> listeners;
};
AllListeners& all_listeners() {
  static AllListeners out;
  return out;
}

}  // namespace

void detail::tell_all_listeners(const KernelCall& call, std::span<const LaunchListener::Use> uses) {
  AllListeners& all = all_listeners();
  const std::lock_guard lock(all.mutex);
  for (LaunchListener* each : all.listeners) each->launched_elsewhere(call, uses);
}

Heard::Heard(LaunchListener& listener) : listener_(listener) {
  AllListeners& all = all_listeners();
  const std::lock_guard lock(all.mutex);
  all.listeners.push_back(&listener);
  detail::listeners.fetch_add(1, std::memory_order_relaxed);
  detail::thread_state.listener = &listener;
}

Heard::~Heard() {
  detail::thread_state.listener = nullptr;
  AllListeners& all = all_listeners();
  const std::lock_guard lock(all.mutex);
  all.listeners.erase(std::find(all.listeners.begin(), all.listeners.end(), &listener_));
  detail::listeners.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace tutti
