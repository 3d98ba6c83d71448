#include "tutti/train/fit_run.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <span>

#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/exec/stream.h"
#include "tutti/hal/door.h"
#include "tutti/mesh/world.h"
#include "tutti/ops/manipulation.h"
#include "tutti/ops/variable_cell.h"
#include "tutti/place/scope.h"
#include "tutti/train/parameters.h"

namespace tutti::detail {

namespace {

constexpr const char* reads_epoch = "fit reads the values of an epoch";

std::ostream& output_of(const FitOptions& options) { return options.out != nullptr ? *options.out : std::cout; }

Verbosity verbosity_of(const FitOptions& options) {
  if (options.verbose != Verbosity::automatic) return options.verbose;
  return process_rank() == 0 ? usual_verbosity(output_of(options)) : Verbosity::quiet;
}

Batches validation_of(const Trainer& trainer, const FitOptions& options, Site site,
                      Batches (Trainer::*at_hand)(const Batches&, const char*, Site) const) {
  return options.validation.is_defined() ? (trainer.*at_hand)(options.validation, "fit's validation", site) : Batches();
}

}  // namespace

FitRun::FitRun(Trainer& trainer, const Batches& data, const FitOptions& options, Site site)
    : trainer_(trainer),
      options_(options),
      site_(site),
      data_(trainer.at_hand(data, "fit", site)),
      validation_(validation_of(trainer, options, site, &Trainer::at_hand)),
      progress_(output_of(options), verbosity_of(options), usual_columns()),
      // Processes would stop after different steps, and wait for each other.
      interrupts_(options.stop_at_interrupt && trainer.is_of_one_process()),
      names_(trainer.names()),
      optimizer_variables_(named_variables(*trainer.optimizer_)),
      position_{.epoch = options.first_epoch} {
  if (options.first_epoch < 0 || options.epochs < options.first_epoch) {
    throw InvalidArgument(text("fit: ", options.epochs, " epochs, of which the first is number ", options.first_epoch), site);
  }
}

History FitRun::run() {
  if (!options_.resume.empty()) restore_history(options_.resume);
  epoch_ = position_.epoch;
  each_callback(&Callback::on_begin);
  if (!options_.resume.empty()) restore(options_.resume);
  last_end_ = Clock::now();
  done_ = {.epoch = position_.epoch, .step = position_.batch};
  while (position_.epoch < options_.epochs && !is_over()) run_epoch();
  settle(true);
  check_interrupt();
  each_callback(&Callback::on_end);
  return std::move(history_);
}

void FitRun::run_epoch() {
  epoch_ = position_.epoch;
  began_ = Clock::now();
  timed_ = 0;
  values_.clear();
  next_sample_ = began_;
  if (position_.batch == 0) {
    trainer_.learnt_->assign(0, site_);
    examples_ = 0;
    examples_here_ = 0;
  }
  {
    Destination::Feed feed(trainer_.destination_, data_, position_, site_);
    while (!is_over()) {
      const std::optional<SharedBatch> batch = feed.next();
      if (!batch || is_over()) break;
      trainer_.learn(*batch);
      examples_ += batch->rows;
      examples_here_ += batch->rows_here();
      ++position_.batch;
      ++history_.steps;
      ++timed_;
      look();
      each_callback(&Callback::on_step_end);
    }
  }
  if (position_.batch == data_.batches() && !history_.was_interrupted) end_epoch();
}

void FitRun::end_epoch() {
  std::int64_t validated = 0;
  Tensor sums = trainer_.all_sums(*trainer_.learnt_);
  if (validation_.is_defined()) {
    validated = trainer_.judge_all(validation_, [this] {
      check_interrupt();
      return history_.was_interrupted;
    });
    if (history_.was_interrupted) return;
    const DeviceScope there(trainer_.device_, site_);
    sums = concat(std::vector{sums, trainer_.all_sums(*trainer_.judged_)}, 0, site_);
  }
  submitted_.push_back({epoch_, read_async<double>(sums, site_), examples_, validated, timed_, began_});
  sample_.reset();
  position_ = {.epoch = epoch_ + 1};
  const auto reads = [](const auto& callback) { return callback->reads_epochs(); };
  // Processes decide whether to stop where all of them are at the same step.
  const bool decides = options_.stop_at_nan && !trainer_.is_of_one_process();
  settle(decides || std::any_of(options_.callbacks.begin(), options_.callbacks.end(), reads));
  each_callback(&Callback::on_epoch_end);
}

void FitRun::look() {
  if (!submitted_.empty()) settle(false);
  const Clock::time_point now = Clock::now();
  if (sample_) {
    if (const std::optional<std::vector<double>> sums = sample_->sums.try_get_all()) {
      for (std::size_t i = 0; i < names_.size(); ++i) values_[names_[i]] = (*sums)[i] / static_cast<double>(sample_->examples);
      sample_.reset();
      check_finite(values_["loss"], trainer_.is_of_one_process());
    }
  } else if (now >= next_sample_) {
    sample_ = Sample{read_async<double>(trainer_.sums_here(*trainer_.learnt_), site_), examples_here_};
    next_sample_ = now + Progress::apart;
  }
  if (!progress_.has_bar()) return;
  marks_.push_back({epoch_, position_.batch, timed_, current_stream(trainer_.variables_[0].second.cell()->on()).last()});
  if (progress_.is_due(now)) draw_bar(now);
}

void FitRun::draw_bar(Clock::time_point now) {
  while (!marks_.empty() && ask_done(marks_.front().point)) {
    done_ = marks_.front();
    marks_.pop_front();
  }
  const Submitted* const first = submitted_.empty() ? nullptr : &submitted_.front();
  const std::int64_t epoch = first != nullptr ? first->epoch : epoch_;
  ProgressState state = progress_of(epoch, epoch == epoch_ ? values_ : NamedValues());
  if (done_.epoch == epoch) {
    state.step = done_.step;
    state.timed = done_.timed;
  } else if (done_.epoch > epoch) {
    state.step = state.steps;
    state.timed = first->timed;
  }
  const Clock::time_point began = std::max(first != nullptr ? first->began : began_, last_end_);
  state.seconds = std::chrono::duration<double>(now - began).count();
  progress_.draw(state, now);
}

ProgressState FitRun::progress_of(std::int64_t epoch, const NamedValues& values) const {
  ProgressState out{.epoch = epoch, .epochs = options_.epochs, .steps = data_.batches()};
  for (const char* before : {"", "val_"}) {
    for (const std::string& name : names_) {
      if (const auto found = values.find(before + name); found != values.end())
        out.values.emplace_back(found->first, found->second);
    }
  }
  return out;
}

// Nothing can be drawn in a wait for the values, which may be one for hundreds of steps.
void FitRun::await_steps() {
  const AllowSync once(reads_epoch, site_);
  BlockingRegion waiting(SyncReason::value_read, site_);
  while (!marks_.empty()) {
    waiting.await(std::span(&marks_.front().point, 1), std::nullopt);
    done_ = marks_.front();
    marks_.pop_front();
    const Clock::time_point now = Clock::now();
    if (!progress_.is_due(now)) continue;
    settle(false);
    if (!submitted_.empty()) draw_bar(now);
  }
}

void FitRun::settle(bool waits) {
  if (waits && !submitted_.empty() && !marks_.empty()) await_steps();
  std::vector<std::vector<double>> came;
  for (const Submitted& each : submitted_) {
    std::optional<std::vector<double>> sums = each.sums.try_get_all();
    if (!sums && !waits) break;
    if (waits) {
      const AllowSync once(reads_epoch, site_);
      sums = each.sums.get_all(Intent::store, site_);
    }
    came.push_back(std::move(*sums));
  }
  if (came.empty()) return;
  // Epochs that are found to be over at the same time share it.
  const Clock::time_point now = Clock::now();
  const std::chrono::duration<double> all = now - std::max(submitted_.front().began, last_end_);
  last_end_ = now;
  for (const std::vector<double>& sums : came) {
    const Submitted done = std::move(submitted_.front());
    submitted_.pop_front();
    take(done, sums, all.count() / static_cast<double>(came.size()));
  }
}

void FitRun::take(const Submitted& done, const std::vector<double>& sums, double seconds) {
  NamedValues values;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const bool is_validation = i >= names_.size();
    const std::string name = is_validation ? "val_" + names_[i - names_.size()] : names_[i];
    values[name] = sums[i] / static_cast<double>(is_validation ? done.validated : done.examples);
    history_.values[name].push_back(values[name]);
  }
  history_.seconds.push_back(seconds);
  ProgressState state = progress_of(done.epoch, values);
  state.timed = done.timed;
  state.seconds = seconds;
  progress_.tell(state);
  check_finite(values["loss"], true);
  if (done.epoch == epoch_) values_ = std::move(values);  // else another has begun
}

void FitRun::check_finite(double loss, bool is_of_all) {
  if (std::isfinite(loss)) return;
  if (!has_told_of_nan_) {
    has_told_of_nan_ = true;
    progress_.make_room();
    log(LogLevel::warning, text("fit: the loss is ", loss, " in epoch ", epoch_ + 1, ", after at most ", history_.steps,
                                " steps; FindNonFinite tells which op made the first value that is not finite"));
  }
  if (options_.stop_at_nan && is_of_all) stop(text("the loss is ", loss));
}

void FitRun::check_interrupt() {
  if (history_.was_interrupted || !interrupts_.came()) return;
  history_.was_interrupted = true;
  if (position_.epoch < options_.epochs) stop("Ctrl-C");
}

bool FitRun::is_over() {
  check_interrupt();
  return is_stopped_;
}

void FitRun::stop(std::string why) {
  if (!is_stopped_) history_.stopped = std::move(why);
  is_stopped_ = true;
}

void FitRun::each_callback(void (Callback::*told)(Training&)) {
  for (const std::shared_ptr<Callback>& each : options_.callbacks) ((*each).*told)(*this);
}

}  // namespace tutti::detail
