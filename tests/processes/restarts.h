// Ranks that go on step by step while others of them end and are started again.
#pragma once

#include <atomic>
#include <functional>

#include "processes/job.h"
#include "tutti/tutti.h"

namespace tutti::testing_processes {

// What the ranks and the test show each other.
struct Rounds {
  static constexpr int world = 3;

  std::atomic<int> joined;
  std::atomic<int> kills;
  std::atomic<int> is_last;
  std::atomic<int> steps[world];
  std::atomic<int> failures[world];
};

// For a rank that has joined the job: steps of a barrier and a sum. Who loses another on the way waits until that rank is taken
// again, and goes on.
void step_until_the_last(Rounds& rounds, int rank, const Mesh& mesh);

// So many times, at any moment of a step: kills a rank, after what `before_the_kill` does to it, and starts it again. Expects
// every loss to be told once to each of the others, and right sums to the end.
void kill_and_start_again(Job& job, Rounds& rounds, int times, const std::function<void(int victim)>& before_the_kill = {});

}  // namespace tutti::testing_processes
