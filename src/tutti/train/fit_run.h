// One call of fit: the loop over epochs and steps, and all that is told of it.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tutti/exec/stream.h"
#include "tutti/hal/point.h"
#include "tutti/mesh/last_step.h"
#include "tutti/ops/reading.h"
#include "tutti/train/interrupts.h"
#include "tutti/train/trainer.h"

namespace tutti::detail {

class FitRun final : public Training {
 public:
  FitRun(Trainer& trainer, const Batches& data, const FitOptions& options, Site site);

  History run();

  [[nodiscard]] std::int64_t epoch() const override { return epoch_; }
  [[nodiscard]] std::int64_t step() const override { return history_.steps; }
  [[nodiscard]] const NamedValues& values() const override { return values_; }
  [[nodiscard]] const History& history() const override { return history_; }
  [[nodiscard]] const Trainer::NamedVariables& variables() const override { return trainer_.variables_; }
  void stop(std::string why) override;
  void save(const std::string& path) override;

 private:
  // Sums that are on their way to the host.
  struct Sample {
    std::int64_t epoch;
    Pending<double> sums;
    std::int64_t examples;
  };
  // Means over an epoch so far, the last that came.
  struct Seen {
    std::int64_t epoch = -1;
    NamedValues values = {};
  };
  // How far an epoch is once all before a point is done.
  struct Mark {
    std::int64_t epoch = 0;
    std::int64_t step = 0;
    std::int64_t timed = 0;  // of the steps, those that were made here
    TimelinePoint point = {};
  };
  // An epoch that was submitted, and whose values are on their way.
  struct Submitted {
    std::int64_t epoch;
    Pending<double> sums;  // of the training, and of the validation
    std::int64_t examples;
    std::int64_t validated;
    std::int64_t timed;     // steps
    Event::Recorded begin;  // on the device
    Event::Recorded end;
  };

  void run_epoch();
  // Submits the end of the epoch, and with it the validation.
  void end_epoch();
  // Takes what has reached the host and asks for more, ten times a second.
  void look();
  void take_samples();
  [[nodiscard]] bool wants_sample(Clock::time_point now) const;
  // Writes down the epochs whose values are there; `waits`: all of them.
  void settle(bool waits);
  void take(const Submitted& done, const std::vector<double>& sums);
  // `is_of_all`: every process has the same loss at the same place.
  void check_finite(double loss, std::int64_t epoch, bool is_of_all);
  void check_interrupt();
  // A program that ends leaves the work that others wait for undone.
  void await_others();
  // No further step; asks whether Ctrl-C came.
  [[nodiscard]] bool is_over();
  // Of the next step: over processes, Ctrl-C at one of them stops all before the same.
  [[nodiscard]] bool may_begin();
  // Until the device has done all that was submitted, with the bar.
  void await_steps();
  // Of the first epoch whose values have not come, with the steps that the device has done.
  void draw_bar(Clock::time_point now);
  // When the first device gets there.
  [[nodiscard]] Event::Recorded moment() const;
  [[nodiscard]] ProgressState progress_of(std::int64_t epoch, const NamedValues& values) const;
  void each_callback(void (Callback::*told)(Training&));

  void restore(const std::string& path);
  void restore_history(const std::string& path);
  // Calls visit(name, variable or tensor) for all that a checkpoint holds.
  template <class Visit>
  void each_saved(Visit&& visit);
  // of_replica() of every replica of all processes, a row for each, on the first device of this one.
  template <class F>
  [[nodiscard]] Tensor rows_of_all(F&& of_replica) const;
  // The model's variables that replicas assign on their own: the statistics of batches.
  [[nodiscard]] Trainer::NamedVariables own_variables() const;

  Trainer& trainer_;
  const FitOptions& options_;
  const Site site_;
  const Batches data_;
  const Batches validation_;
  Progress progress_;
  Interrupts interrupts_;
  std::optional<LastStep> last_step_;  // over processes
  const std::vector<std::string> names_;
  const Trainer::NamedVariables optimizer_variables_;

  DatasetPosition position_;        // of the next batch
  std::int64_t epoch_ = 0;          // that is told of
  std::int64_t examples_ = 0;       // in the sums
  std::int64_t examples_here_ = 0;  // of those, in this process's
  std::int64_t timed_ = 0;          // steps of this epoch that were made here
  Event::Recorded begin_;           // of this epoch
  Clock::time_point next_sample_;
  std::deque<Sample> samples_;
  Seen seen_;
  std::deque<Submitted> submitted_;
  std::deque<Mark> marks_;              // of steps that were not done when the bar was drawn
  Mark done_;                           // the last that was
  std::map<std::string, Tensor> rows_;  // what a checkpoint has of each replica
  NamedValues values_;
  History history_;
  bool is_stopped_ = false;
  bool has_told_of_nan_ = false;
};

}  // namespace tutti::detail
