// What a checkpoint of fit holds, and how a training goes on from one.
#include <charconv>
#include <map>

#include "tutti/base/text.h"
#include "tutti/exec/generator.h"
#include "tutti/mesh/world.h"
#include "tutti/ops/indexing.h"
#include "tutti/ops/manipulation.h"
#include "tutti/train/fit_run.h"
#include "tutti/train/safetensors.h"

namespace tutti::detail {

namespace {

template <class Number>
std::string numbers_text(const std::vector<Number>& numbers) {
  std::string out;
  for (const Number each : numbers) out += text(out.empty() ? "" : " ", each);
  return out;
}

[[noreturn]] void refuse(const std::string& path, const std::string& why, Site site) {
  throw FileError(text(path, " is no checkpoint that this training can go on from: ", why), site);
}

// Texts that stand beside the tensors.
class Notes {
 public:
  Notes(std::string path, Site site) : path_(std::move(path)), site_(site), notes_(load_metadata(path_, site)) {}

  template <class Number>
  [[nodiscard]] std::vector<Number> numbers(const std::string& name) const {
    const auto found = notes_.find(name);
    if (found == notes_.end()) refuse(path_, text("it has no ", name), site_);
    std::vector<Number> out;
    const char* from = found->second.data();
    const char* const end = from + found->second.size();
    while (from != end) {
      Number number{};
      const auto [to, error] = std::from_chars(from, end, number);
      if (error != std::errc() || (to != end && *to != ' ')) refuse(path_, text(name, " is ", printable(found->second)), site_);
      out.push_back(number);
      from = to == end ? to : to + 1;
    }
    return out;
  }
  template <class Number>
  [[nodiscard]] Number number(const std::string& name) const {
    const std::vector<Number> all = numbers<Number>(name);
    if (all.size() != 1) refuse(path_, text(name, " is ", all.size(), " numbers"), site_);
    return all[0];
  }
  [[nodiscard]] const FileMetadata& all() const noexcept { return notes_; }

 private:
  std::string path_;
  Site site_;
  FileMetadata notes_;
};

constexpr std::string_view history_prefix = "fit.history.";

}  // namespace

template <class Visit>
void FitRun::each_saved(Visit&& visit) {
  for (const auto& [name, variable] : trainer_.variables_) visit("model." + name, variable);
  for (const auto& [name, variable] : optimizer_variables_) visit("optimizer." + name, variable);
  if (position_.batch > 0) visit(std::string("fit.sums"), saved_sums_);  // a row for each replica
  for (std::size_t i = 0; i < options_.callbacks.size(); ++i) {
    options_.callbacks[i]->each_state(
        [&](const std::string& name, Tensor& state) { visit(text("fit.callbacks.", i, ".", name), state); });
  }
}

void FitRun::save(const std::string& path) {
  settle(true);
  if (!trainer_.is_of_one_process()) {
    if (position_.batch > 0)
      throw InvalidState("a checkpoint within an epoch is for models of one process; over several, write them at its end", site_);
    if (process_rank() != 0) return;
  }
  std::vector<Tensor> rows;
  trainer_.on_each_replica([&](std::size_t) { rows.push_back(trainer_.learnt_->value(site_)); });
  for (Tensor& each : rows) each = copy_to(each, trainer_.device_, site_);
  saved_sums_ = stack(rows, 0, site_);
  const Generator::Reserved draws = default_generator().position();
  FileMetadata notes{{"fit.epoch", text(position_.epoch)},
                     {"fit.batch", text(position_.batch)},
                     {"fit.steps", text(history_.steps)},
                     {"fit.examples", text(examples_)},
                     {"fit.data", text(data_.examples(), " ", data_.batches())},
                     {"fit.generator", text(draws.key, " ", draws.counter)},
                     {"fit.seconds", numbers_text(history_.seconds)}};
  for (const auto& [name, numbers] : history_.values) notes[std::string(history_prefix) + name] = numbers_text(numbers);
  NamedTensors tensors;
  each_saved([&](const std::string& name, auto& held) {
    if constexpr (std::same_as<std::remove_cvref_t<decltype(held)>, Variable>) {
      add_named(tensors, name, held.value(site_), site_);
    } else if (held.is_defined()) {
      add_named(tensors, name, held, site_);
    }
  });
  const AllowSync once("fit writes a checkpoint", site_);
  save_tensors(path, tensors, notes, site_);
}

void FitRun::restore_history(const std::string& path) {
  const Notes notes(path, site_);
  const auto data = notes.numbers<std::int64_t>("fit.data");
  if (data != std::vector{data_.examples(), data_.batches()}) {
    refuse(path,
           text("its data set had ", numbers_text(data), " examples and batches, this one has ", data_.examples(), " and ",
                data_.batches()),
           site_);
  }
  position_ = {.epoch = notes.number<std::int64_t>("fit.epoch"), .batch = notes.number<std::int64_t>("fit.batch")};
  if (position_.epoch < 0 || position_.batch < 0 || position_.batch > data_.batches())
    refuse(path, text("its place is batch ", position_.batch, " of epoch ", position_.epoch), site_);
  examples_ = notes.number<std::int64_t>("fit.examples");
  history_.steps = notes.number<std::int64_t>("fit.steps");
  history_.seconds = notes.numbers<double>("fit.seconds");
  for (const auto& [name, note] : notes.all()) {
    if (!name.starts_with(history_prefix)) continue;
    history_.values[name.substr(history_prefix.size())] = notes.numbers<double>(name);
  }
}

void FitRun::restore(const std::string& path) {
  std::map<std::string, LoadTarget> targets;
  each_saved([&](const std::string& name, auto& held) {
    if constexpr (std::same_as<std::remove_cvref_t<decltype(held)>, Variable>) {
      add_named(targets, name, {.variable = &held}, site_);
    } else {
      add_named(targets, name, {.tensor = &held}, site_);
    }
  });
  const auto draws = Notes(path, site_).numbers<std::uint64_t>("fit.generator");
  if (draws.size() != 2) refuse(path, text("its generator has ", draws.size(), " numbers"), site_);
  saved_sums_ = {};
  load_into(path, targets, site_);
  if (position_.batch > 0) {
    const Shape wanted{static_cast<std::int64_t>(trainer_.replicas()), static_cast<std::int64_t>(names_.size())};
    if (!saved_sums_.is_defined() || !(saved_sums_.shape() == wanted))
      refuse(path, text("it was written within an epoch, by a model of other replicas or metrics"), site_);
    trainer_.on_each_replica([&](std::size_t replica) {
      const auto row = static_cast<std::int64_t>(replica);
      trainer_.learnt_->assign(reshape(slice(saved_sums_, 0, {row, row + 1}, site_), {-1}, site_), site_);
    });
  }
  default_generator().set_position({draws[0], draws[1]});
}

}  // namespace tutti::detail
