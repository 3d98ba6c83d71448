#include "tools/coordinator_thread.h"

#include <exception>
#include <iostream>
#include <utility>

#include "tutti/base/text.h"

namespace tutti::tools {

CoordinatorThread::CoordinatorThread(std::unique_ptr<Coordinator> coordinator)
    : coordinator_(std::move(coordinator)), thread_([this] { serve(); }) {}

CoordinatorThread::~CoordinatorThread() {
  coordinator_->stop();
  thread_.join();
}

void CoordinatorThread::serve() {
  try {
    coordinator_->serve();
  } catch (const std::exception& error) {
    // The ranks learn that it is gone, from their connections.
    std::cerr << text("tutti: error: the coordinator ended: ", error.what(), "\n");
  }
}

}  // namespace tutti::tools
