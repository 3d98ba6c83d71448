// A program that follows from a seed: every kind of call over several devices and streams, on whatever its inputs hold.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tutti/tutti.h"

namespace tutti::conformance {

struct ProgramOptions {
  std::int64_t side = 6;          // of its tensors, which are square, so that any op takes any of them
  std::uint64_t most_steps = 50;  // at least ten
};

// Two of one seed do the same, each with variables and streams of its own.
class Program {
 public:
  Program(std::uint64_t seed, std::vector<std::string> devices, const ProgramOptions& options = {});

  // Two inputs or more, of which the first has one element between 0 and 0.05.
  [[nodiscard]] std::vector<Tensor> run(const std::vector<Tensor>& inputs);
  [[nodiscard]] std::vector<Tensor> variables() const;
  // Gives all variables their first values, those of the optimizers too.
  void begin_again();
  // Other values for every key; how they lie in memory and where they are depends on `layout` alone.
  [[nodiscard]] std::vector<Tensor> inputs(std::uint64_t key, std::uint64_t layout) const;

 private:
  using Random = std::mt19937_64;
  [[nodiscard]] const Tensor& any(Random& random) const { return pool_[random() % pool_.size()]; }
  void step(Random& random, std::size_t at);
  void chain(Random& random);
  void train(Random& random);
  void call_any_function(Random& random);

  std::uint64_t seed_;
  std::vector<std::string> devices_;
  ProgramOptions options_;
  std::vector<Stream> streams_;
  std::vector<Variable> variables_;
  std::unique_ptr<Sgd> sgd_;
  std::unique_ptr<Adam> adam_;
  // Of one run.
  std::vector<Tensor> pool_;
  std::vector<Tensor> others_;  // of any shape and dtype
  std::vector<Event> events_;
  Tensor little_;
};

}  // namespace tutti::conformance
