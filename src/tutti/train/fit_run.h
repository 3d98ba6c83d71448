// One call of fit: the loop over epochs and steps, and all that is told of it.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

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
    Pending<double> sums;
    std::int64_t examples;
  };
  // An epoch that was submitted, and whose values are on their way.
  struct Submitted {
    std::int64_t epoch;
    Pending<double> sums;  // of the training, and of the validation
    std::int64_t examples;
    std::int64_t validated;
    std::int64_t timed;  // steps
    Clock::time_point began;
  };

  void run_epoch();
  // Submits the end of the epoch, and with it the validation.
  void end_epoch();
  // Takes what has reached the host and asks for more, ten times a second.
  void look();
  // Writes down the epochs whose values are there; `waits`: all of them.
  void settle(bool waits);
  void take(const Submitted& done, const std::vector<double>& sums, double seconds);
  void check_finite(double loss);
  void check_interrupt();
  [[nodiscard]] ProgressState progress_of(std::int64_t epoch) const;
  void each_callback(void (Callback::*told)(Training&));

  void restore(const std::string& path);
  void restore_history(const std::string& path);
  // Calls visit(name, variable or tensor) for all that a checkpoint holds.
  template <class Visit>
  void each_saved(Visit&& visit);

  Trainer& trainer_;
  const FitOptions& options_;
  const Site site_;
  const Batches data_;
  const Batches validation_;
  Progress progress_;
  Interrupts interrupts_;
  const std::vector<std::string> names_;
  const Trainer::NamedVariables optimizer_variables_;

  DatasetPosition position_;        // of the next batch
  std::int64_t epoch_ = 0;          // that is told of
  std::int64_t examples_ = 0;       // in the sums
  std::int64_t examples_here_ = 0;  // of those, in this process's
  std::int64_t timed_ = 0;          // steps of this epoch that were made here
  Clock::time_point began_;         // this epoch
  Clock::time_point last_end_;      // of an epoch whose values came
  Clock::time_point next_sample_;
  std::optional<Sample> sample_;
  std::deque<Submitted> submitted_;
  Tensor saved_sums_;  // of a checkpoint within an epoch
  NamedValues values_;
  History history_;
  bool is_stopped_ = false;
  bool has_told_of_nan_ = false;
};

}  // namespace tutti::detail
