// What a checkpoint of fit holds, and how a training goes on from one.
#include <array>
#include <bit>
#include <charconv>
#include <map>

#include "tutti/base/text.h"
#include "tutti/exec/generator.h"
#include "tutti/mesh/collectives.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/indexing.h"
#include "tutti/ops/manipulation.h"
#include "tutti/ops/variable_cell.h"
#include "tutti/train/fit_run.h"
#include "tutti/train/safetensors.h"
#include "tutti/train/safetensors_header.h"

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
  for (auto& [name, rows] : rows_) visit("fit." + name, rows);
  for (std::size_t i = 0; i < options_.callbacks.size(); ++i) {
    options_.callbacks[i]->each_state(
        [&](const std::string& name, Tensor& state) { visit(text("fit.callbacks.", i, ".", name), state); });
  }
}

template <class F>
Tensor FitRun::rows_of_all(F&& of_replica) const {
  std::vector<Tensor> rows;
  trainer_.on_each_replica([&](std::size_t) { rows.push_back(expand_dims(of_replica(), 0, site_)); });
  if (!trainer_.is_of_one_process()) {
    const Mesh& mesh = trainer_.strategy_->mesh();
    return all_gather(rows, mesh, mesh.dims()[0].name, 0, site_)[0];
  }
  for (Tensor& each : rows) each = copy_to(each, trainer_.device_, site_);
  const DeviceScope first(trainer_.device_, site_);
  return concat(rows, 0, site_);
}

Trainer::NamedVariables FitRun::own_variables() const {
  Trainer::NamedVariables out;
  for (const auto& [name, variable] : trainer_.variables_) {
    if (!variable.cell()->is_trainable_by_itself()) out.emplace_back("replicas." + name, variable);
  }
  return out;
}

void FitRun::save(const std::string& path) {
  settle(true);
  const Generator::Reserved draws = default_generator().position();
  const std::array here{std::bit_cast<std::int64_t>(draws.key), std::bit_cast<std::int64_t>(draws.counter), examples_here_};
  rows_ = {{"host", rows_of_all([&] { return constant(std::span(here), site_); })}};
  if (position_.batch > 0) rows_["sums"] = rows_of_all([&] { return trainer_.learnt_->value(site_); });
  if (trainer_.replicas_in_sync() > 1) {
    for (const auto& [name, variable] : own_variables())
      rows_[name] = rows_of_all([&v = variable, this] { return v.value(site_); });
  }
  if (trainer_.position(0) != 0) return;  // another process writes
  FileMetadata notes{{"fit.epoch", text(position_.epoch)},
                     {"fit.batch", text(position_.batch)},
                     {"fit.steps", text(history_.steps)},
                     {"fit.examples", text(examples_)},
                     {"fit.data", text(data_.examples(), " ", data_.batches())},
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
  rows_ = {{"host", {}}, {"sums", {}}};
  for (const auto& [name, variable] : own_variables()) rows_[name] = {};
  std::map<std::string, LoadTarget> targets;
  each_saved([&](const std::string& name, auto& held) {
    if constexpr (std::same_as<std::remove_cvref_t<decltype(held)>, Variable>) {
      add_named(targets, name, {.variable = &held}, site_);
    } else {
      add_named(targets, name, {.tensor = &held}, site_);
    }
  });
  const auto replicas = static_cast<std::int64_t>(trainer_.replicas_in_sync());
  // All before anything is changed.
  const auto stored = load_header(path, site_).tensors;
  for (const auto& [name, tensor] : stored) {
    if (name.starts_with("fit.callbacks.") && !targets.contains(name))
      refuse(path, text("it has ", printable(name), "; give the callbacks that it was written with, in their order"), site_);
  }
  const auto host = stored.find("fit.host");
  if (host == stored.end() || host->second.dtype != DType::i64 || host->second.shape.size() != 2 || host->second.shape[0] == 0 ||
      host->second.shape[1] != 3)
    refuse(path, "it does not say where the random numbers were", site_);
  const auto sums = stored.find("fit.sums");
  const Shape per_replica{replicas, static_cast<std::int64_t>(names_.size())};
  if (position_.batch > 0 && (sums == stored.end() || !(sums->second.shape == per_replica)))
    refuse(path, "it was written within an epoch, by a model of other replicas or metrics", site_);
  load_into(path, targets, site_);
  // Of other replicas there is nothing to take over at the end of an epoch: those here begin with what the first had.
  const auto assign_rows = [&](const Variable& variable, const Tensor& rows) {
    if (!rows.is_defined() || rows.shape()[0] != replicas) return;
    trainer_.on_each_replica([&](std::size_t replica) {
      const auto row = static_cast<std::int64_t>(trainer_.position(replica));
      variable.assign(squeeze(slice(rows, 0, {row, row + 1}, site_), 0, site_), site_);
    });
  };
  for (const auto& [name, variable] : own_variables()) assign_rows(variable, rows_[name]);
  if (position_.batch > 0) assign_rows(*trainer_.learnt_, rows_["sums"]);
  const AllowSync once("fit goes on from a checkpoint", site_);
  const Tensor& host_rows = rows_["host"];
  const std::vector<std::int64_t> of_host = read<std::int64_t>(host_rows, site_);
  const std::size_t row = host_rows.shape()[0] == replicas ? trainer_.position(0) : 0;
  default_generator().set_position(
      {std::bit_cast<std::uint64_t>(of_host[3 * row]), std::bit_cast<std::uint64_t>(of_host[3 * row + 1])});
  examples_here_ = of_host[3 * row + 2];
}

}  // namespace tutti::detail
