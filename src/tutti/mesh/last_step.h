// After which step the processes of a mesh stop, once one of them wants to. For the module that trains.
#pragma once

#include <cstdint>
#include <memory>

#include "tutti/mesh/mesh.h"
#include "tutti/ops/reading.h"

namespace tutti::detail {

// All make the same steps in the same order, each at its own pace, and one may wait for the others in the midst of a step. So
// they stop after the last step that any of them had begun when all had heard that one wants to. Nothing of this waits, but
// may_begin() where the answer is not known yet; what has to be heard is heard by the member's thread.
class LastStep {
 public:
  // `made`: so many steps were, before. All processes of the mesh make one, as they make a collective.
  LastStep(const Mesh& mesh, std::int64_t made, Site site);
  LastStep(const LastStep&) = delete;
  LastStep& operator=(const LastStep&) = delete;
  ~LastStep();

  // This process wants to stop.
  void ask();
  // False: all stop before this one, which follows the last one begun.
  [[nodiscard]] bool may_begin(std::int64_t step);

 private:
  class Watch;

  // Whether it is known by now what this one is called among all processes; listens from then on.
  bool is_listening();

  Site site_;
  Pending<std::int64_t> name_;
  std::shared_ptr<Watch> watch_;
  bool is_listening_ = false;
  bool wants_to_stop_ = false;
  bool has_asked_ = false;
};

}  // namespace tutti::detail
