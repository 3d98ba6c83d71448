// How far a training is: a bar in a terminal, a line for each epoch elsewhere, or nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "tutti/base/clock.h"

namespace tutti {

enum class Verbosity : std::uint8_t {
  automatic,  // a bar where the output is a terminal, else lines
  quiet,
  lines,  // one for each epoch
  bar,
};

// In the order in which they are told.
using ToldValues = std::vector<std::pair<std::string, double>>;

struct ProgressState {
  std::int64_t epoch = 0;  // from 0
  std::int64_t epochs = 0;
  std::int64_t step = 0;  // of this epoch, done
  std::int64_t steps = 0;
  double seconds = 0;      // of this epoch
  std::int64_t timed = 0;  // steps that took them: not those before a checkpoint
  ToldValues values = {};
};
// "Epoch 3/10 [=====>    ] 180/400  loss 0.1234  812 steps/s 0:03 left", in at most so many columns. Without a pace in an epoch's
// first 100 ms.
std::string bar_text(const ProgressState& state, std::size_t columns);
// "Epoch 3/10: loss 0.1234, accuracy 0.987; 400 steps in 0.52 s"
std::string epoch_text(const ProgressState& state);

class Progress {
 public:
  static constexpr std::chrono::milliseconds apart{100};  // between two bars

  Progress(std::ostream& out, Verbosity verbosity, std::size_t columns);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  [[nodiscard]] bool has_bar() const noexcept { return has_bar_; }
  [[nodiscard]] bool is_due(Clock::time_point now) const noexcept { return has_bar_ && now >= next_; }
  // When the next bar is to be drawn.
  [[nodiscard]] Clock::time_point due() const noexcept { return next_; }
  void draw(const ProgressState& state, Clock::time_point now);
  // The epoch is over.
  void tell(const ProgressState& state);
  // Before a message of another kind.
  void make_room();

 private:
  std::ostream& out_;
  bool has_bar_;
  bool has_lines_;
  std::size_t columns_;
  bool is_drawn_ = false;
  Clock::time_point next_;
};

// What `automatic` means for this output, and the columns of its terminal, 80 at most.
Verbosity usual_verbosity(const std::ostream& out);
std::size_t usual_columns();

}  // namespace tutti
