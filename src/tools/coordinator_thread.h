// A coordinator inside the launcher: it serves in a thread, for as long as this object lives.
#pragma once

#include <memory>
#include <thread>

#include "tutti/mesh/control/coordinator.h"

namespace tutti::tools {

class CoordinatorThread {
 public:
  explicit CoordinatorThread(std::unique_ptr<Coordinator> coordinator);
  CoordinatorThread(const CoordinatorThread&) = delete;
  CoordinatorThread& operator=(const CoordinatorThread&) = delete;
  ~CoordinatorThread();

 private:
  void serve();

  std::unique_ptr<Coordinator> coordinator_;
  std::thread thread_;
};

}  // namespace tutti::tools
