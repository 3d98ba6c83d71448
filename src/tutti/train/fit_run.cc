#include "tutti/train/fit_run.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iostream>
#include <span>

#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/exec/order_calls.h"
#include "tutti/hal/door.h"
#include "tutti/mesh/world.h"
#include "tutti/ops/manipulation.h"
#include "tutti/ops/variable_cell.h"
#include "tutti/place/scope.h"
#include "tutti/train/parameters.h"

namespace tutti::detail {

namespace {

constexpr const char* reads_epoch = "fit reads the values of an epoch";
constexpr std::size_t most_samples = 32;  // on their way

// What the device took, or has taken until now; 0 where it has not begun, or was cancelled.
double seconds_between(const Event::Recorded& begin, const Event::Recorded& end) {
  const auto is_past = [](const Event::Recorded& each) { return each.mark && ask_done(each.point) && each.mark->has_passed(); };
  if (!is_past(begin)) return 0;
  const Nanoseconds taken = is_past(end) ? end.mark->since(*begin.mark) : now() - begin.mark->time();
  return static_cast<double>(std::max(taken, Nanoseconds{0})) / 1e9;
}

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
      interrupts_(options.stop_at_interrupt),
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
  if (!trainer_.is_of_one_process()) last_step_.emplace(trainer_.strategy_->mesh(), history_.steps, site_);
  done_ = {.epoch = position_.epoch, .step = position_.batch};
  while (position_.epoch < options_.epochs && !is_over()) run_epoch();
  settle(true);
  if (!last_step_) check_interrupt();
  each_callback(&Callback::on_end);
  if (last_step_ && is_stopped_) await_others();
  // One that came last; over processes, callbacks would take it for a word to all.
  if (interrupts_.came()) history_.was_interrupted = true;
  return std::move(history_);
}

void FitRun::run_epoch() {
  epoch_ = position_.epoch;
  begin_ = moment();
  timed_ = 0;
  values_.clear();
  next_sample_ = Clock::now();
  if (position_.batch == 0) {
    trainer_.learnt_->assign(0, site_);
    examples_ = 0;
    examples_here_ = 0;
  }
  {
    Destination::Feed feed(trainer_.destination_, data_, position_, site_);
    while (!is_over()) {
      const std::optional<SharedBatch> batch = feed.next();
      if (!batch || is_over() || !may_begin()) break;
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
  const Event::Recorded end = moment();
  submitted_.push_back({epoch_, read_async<double>(sums, site_), examples_, validated, timed_, begin_, end});
  position_ = {.epoch = epoch_ + 1};
  const auto reads = [](const auto& callback) { return callback->reads_epochs(); };
  // Processes decide whether to stop where all of them are at the same step.
  const bool decides = options_.stop_at_nan && !trainer_.is_of_one_process();
  settle(decides || std::any_of(options_.callbacks.begin(), options_.callbacks.end(), reads));
  each_callback(&Callback::on_epoch_end);
  each_callback(&Callback::after_epoch);
}

void FitRun::look() {
  take_samples();
  if (!submitted_.empty()) settle(false);
  const Clock::time_point now = Clock::now();
  if (wants_sample(now)) {
    samples_.push_back({epoch_, read_async<double>(trainer_.sums_here(*trainer_.learnt_), site_), examples_here_});
    next_sample_ = now + Progress::apart;
  }
  if (!progress_.has_bar()) return;
  marks_.push_back({epoch_, position_.batch, timed_, current_stream(trainer_.variables_[0].second.cell()->on()).last()});
  if (progress_.is_due(now)) draw_bar(now);
}

void FitRun::take_samples() {
  while (!samples_.empty()) {
    const std::optional<std::vector<double>> sums = samples_.front().sums.try_get_all();
    if (!sums) return;
    seen_.epoch = samples_.front().epoch;
    for (std::size_t i = 0; i < names_.size(); ++i)
      seen_.values[names_[i]] = (*sums)[i] / static_cast<double>(samples_.front().examples);
    samples_.pop_front();
    if (seen_.epoch == epoch_) values_ = seen_.values;
    check_finite(seen_.values["loss"], seen_.epoch, trainer_.is_of_one_process());
  }
}

// The host may submit an epoch in less time than lies between two samples, and the device be long about it: a bar then has values
// of at least half of the steps it shows.
bool FitRun::wants_sample(Clock::time_point now) const {
  if (samples_.size() >= most_samples || examples_here_ == 0) return false;
  return now >= next_sample_ || (progress_.has_bar() && std::has_single_bit(static_cast<std::uint64_t>(position_.batch)));
}

void FitRun::draw_bar(Clock::time_point now) {
  while (!marks_.empty() && ask_done(marks_.front().point)) {
    done_ = marks_.front();
    marks_.pop_front();
  }
  const Submitted* const first = submitted_.empty() ? nullptr : &submitted_.front();
  const std::int64_t epoch = first != nullptr ? first->epoch : epoch_;
  ProgressState state = progress_of(epoch, epoch == seen_.epoch ? seen_.values : NamedValues());
  if (done_.epoch == epoch) {
    state.step = done_.step;
    state.timed = done_.timed;
  } else if (done_.epoch > epoch) {
    state.step = state.steps;
    state.timed = first->timed;
  }
  state.seconds = first != nullptr ? seconds_between(first->begin, first->end) : seconds_between(begin_, {});
  progress_.draw(state, now);
}

Event::Recorded FitRun::moment() const {
  LogicalDevice& device = trainer_.variables_[0].second.cell()->on();
  const RecordData taken(Stream(current_stream(device), device), RecordData::What::time);
  taken.run(site_);
  return taken.recorded();
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

// Nothing can be drawn in a wait for the values, which may be one for hundreds of steps; so steps are waited for, until a bar is
// due.
void FitRun::await_steps() {
  const AllowSync once(reads_epoch, site_);
  BlockingRegion waiting(SyncReason::value_read, site_);
  while (!marks_.empty()) {
    if (waiting.await(std::span(&marks_.front().point, 1), progress_.due()) == WaitResult::done) {
      done_ = marks_.front();
      marks_.pop_front();
    }
    const Clock::time_point now = Clock::now();
    if (!progress_.is_due(now)) continue;
    take_samples();
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
  for (const std::vector<double>& sums : came) {
    const Submitted done = std::move(submitted_.front());
    submitted_.pop_front();
    take(done, sums);
  }
}

void FitRun::take(const Submitted& done, const std::vector<double>& sums) {
  NamedValues values;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const bool is_validation = i >= names_.size();
    const std::string name = is_validation ? "val_" + names_[i - names_.size()] : names_[i];
    values[name] = sums[i] / static_cast<double>(is_validation ? done.validated : done.examples);
    history_.values[name].push_back(values[name]);
  }
  const double seconds = seconds_between(done.begin, done.end);
  history_.seconds.push_back(seconds);
  ProgressState state = progress_of(done.epoch, values);
  state.timed = done.timed;
  state.seconds = seconds;
  progress_.tell(state);
  check_finite(values["loss"], done.epoch, true);
  if (done.epoch == epoch_) values_ = std::move(values);  // else another has begun
}

void FitRun::check_finite(double loss, std::int64_t epoch, bool is_of_all) {
  if (std::isfinite(loss)) return;
  if (!has_told_of_nan_) {
    has_told_of_nan_ = true;
    progress_.make_room();
    log(LogLevel::warning, text("fit: the loss is ", loss, " in epoch ", epoch + 1, ", after at most ", history_.steps,
                                " steps; FindNonFinite tells which op made the first value that is not finite"));
  }
  if (options_.stop_at_nan && is_of_all) stop(text("the loss is ", loss));
}

void FitRun::check_interrupt() {
  if (history_.was_interrupted || !interrupts_.came()) return;
  if (last_step_) return last_step_->ask();
  history_.was_interrupted = true;
  if (position_.epoch < options_.epochs) stop("Ctrl-C");
}

void FitRun::await_others() {
  const AllowSync once("fit waits until all processes have stopped", site_);
  static_cast<void>(read_async<double>(trainer_.all_sums(*trainer_.learnt_), site_).get_all(Intent::store, site_));
}

bool FitRun::may_begin() {
  if (!last_step_ || last_step_->may_begin(history_.steps + 1)) return true;
  history_.was_interrupted = true;
  stop("Ctrl-C");
  return false;
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
