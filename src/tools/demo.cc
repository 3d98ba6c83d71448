#include "tools/demo.h"

#include <cmath>
#include <iomanip>
#include <iostream>
#include <numbers>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <tuple>
#include <vector>

#include "tools/demo_devices.h"
#include "tutti/base/human_time.h"
#include "tutti/base/paragraph.h"
#include "tutti/base/text.h"
#include "tutti/base/whole_file.h"
#include "tutti/tutti.h"

namespace tutti::tools {

namespace {

constexpr std::int64_t classes = 3;
constexpr std::int64_t batch_size = 128;
constexpr std::int64_t batches = 40;   // of an epoch
constexpr std::int64_t others = 1024;  // points that are not learnt from
constexpr double rate = 3e-3;

struct Classifier {
  Dense first{2, 128};
  Dense second{128, 128};
  Dense out{128, classes};
  Tensor operator()(const Tensor& x) const { return out(relu(second(relu(first(x))))); }
};

using Examples = std::tuple<Tensor, Tensor>;

// Points on the arms of a spiral, somewhat scattered, and which arm each is on.
Examples spiral(std::int64_t points) {
  const DeviceScope on("/CPU:0");
  const Tensor arm = remainder(arange(points), classes);
  const Tensor radius = sqrt(uniform({points}));
  const Tensor angle = radius * 5 + cast(arm, DType::f32) * (2 * std::numbers::pi / classes) + normal({points}) * 0.12;
  return {stack({cos(angle) * radius, sin(angle) * radius}, 1), arm};
}

Dataset<Examples> in_batches(const Examples& examples) { return Dataset(examples).shuffle(1).batch(batch_size); }

// What came of a training.
struct Trained {
  std::int64_t steps = 0;
  Nanoseconds taken = 0;
  std::uint64_t waits = 0;  // of the host, for values and devices
  Nanoseconds waited = 0;
  double accuracy = 0;
};

double accuracy_of(const Tensor& outputs, const Tensor& labels) {
  return item<double>(mean(cast(equal(argmax(outputs, 1), cast(labels, DType::i64)), DType::f64)));
}

std::string percent(double share) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << 100 * share << " %";
  return out.str();
}

// As a program of ours is written: fit captures the step and waits for nothing in it.
Trained train(const MirroredStrategy& strategy, const Examples& data, const Examples& test, const DemoOptions& options) {
  set_seed(1);
  const Model model(strategy, [] { return Classifier(); });
  model.compile({.optimizer = adam(rate), .loss = cross_entropy, .metrics = {accuracy()}});

  Trained out;
  const bool own_recording = !journal::is_recording();  // TUTTI_TRACE records all of the run
  const std::int64_t last_epoch = (std::int64_t{options.epochs} - 1) * batches;
  const auto before = sync_report().demand;
  auto submitted = before;
  const auto watch = on_step_end([&](Training& training) {
    if (training.step() == last_epoch && own_recording) journal::start();
    if (training.step() == last_epoch + batches) submitted = sync_report().demand;
  });
  const Nanoseconds begin = now();
  const History history =
      model.fit(in_batches(data),
                {.epochs = options.epochs, .callbacks = {watch}, .verbose = Verbosity::automatic, .stop_at_interrupt = false});
  out.taken = now() - begin;
  if (own_recording) journal::stop();
  out.steps = history.steps;
  out.waits = submitted.calls - before.calls;
  out.waited = submitted.blocked_time - before.blocked_time;
  out.accuracy = accuracy_of(model.predict(std::get<0>(test)), std::get<1>(test));
  return out;
}

// As it is often written: the loss read in every step, a check of it, a count of what was right, and a sync to be sure.
Trained train_with_syncs(const MirroredStrategy& strategy, const Examples& data, const Examples& test,
                         const DemoOptions& options) {
  set_seed(1);
  std::optional<Classifier> made;
  std::optional<Adam> optimizer;
  {
    const MirroredStrategy::Scope in(strategy);
    made.emplace();
    optimizer.emplace(parameters(*made), rate);
  }
  const Classifier& net = *made;

  Trained out;
  reset_sync_totals();
  const Nanoseconds begin = now();
  double right = 0;
  double total = 0;
  for (std::int64_t epoch = 0; epoch < std::int64_t{options.epochs}; ++epoch) {
    for (const Examples& batch : in_batches(data).epoch(epoch)) {
      const auto parts = strategy.split(batch);
      PerReplica<Tensor> losses(std::vector<Tensor>(strategy.replicas()));
      PerReplica<Tensor> hits = losses;
      PerReplica<std::vector<Tensor>> slopes(std::vector<std::vector<Tensor>>(strategy.replicas()));
      std::size_t replica = 0;
      strategy.run(
          [&](const Examples& part) {
            const auto& [x, y] = part;
            const auto step = value_and_grad([&](const Classifier& model) {
              const Tensor outputs = model(x);
              return std::tuple(cross_entropy(outputs, y), stop_gradient(outputs));
            });
            const auto [values, grads] = step(net);
            losses[replica] = std::get<0>(values);
            hits[replica] = sum(cast(equal(argmax(std::get<1>(values), 1), y), DType::f32));
            slopes[replica++] = grads;
          },
          parts);
      const auto reduced = strategy.all_reduce(slopes, Reduction::mean);
      strategy.run([&](const std::vector<Tensor>& grads) { optimizer->update(grads); }, reduced);

      const double loss = item<float>(strategy.reduce(losses, Reduction::mean), Intent::log);
      total += loss;
      if (!std::isfinite(item<float>(losses[0], Intent::branch))) throw InvalidState("the loss is not finite", {});
      right += item<float>(strategy.reduce(hits, Reduction::sum), Intent::log);
      sync_devices();
      ++out.steps;
    }
  }
  out.taken = now() - begin;
  const SyncSum demand = sync_report().demand;
  out.waits = demand.calls;
  out.waited = demand.blocked_time;
  std::ostringstream said;
  said << std::setprecision(3) << "Mean loss " << total / static_cast<double>(out.steps) << ", "
       << percent(right / static_cast<double>(out.steps * batch_size)) << " right on the way.";
  std::cout << paragraph(said.str());
  std::cout << '\n' << sync_report();
  const auto outputs = strategy.run([&](const Tensor& x) { return net(x); }, std::get<0>(test));
  out.accuracy = accuracy_of(outputs[0], std::get<1>(test));
  return out;
}

void print_beside(const Trained& ours, const Trained& naive) {
  const auto row = [](const char* what, const auto& left, const auto& right) {
    std::cout << std::left << std::setw(26) << what << std::right << std::setw(16) << left << std::setw(16) << right << '\n';
  };
  std::cout << '\n';
  row("", "without waits", "with syncs");
  row("steps", ours.steps, naive.steps);
  row("host waits in steps", ours.waits, naive.waits);
  row("time waited", human_time(ours.waited), human_time(naive.waited));
  row("a step", human_time(ours.taken / ours.steps), human_time(naive.taken / naive.steps));
  row("accuracy", percent(ours.accuracy), percent(naive.accuracy));
  std::cout << "ratio of the times" << std::fixed << std::setprecision(1) << std::setw(40)
            << (static_cast<double>(naive.taken) / static_cast<double>(naive.steps)) /
                   (static_cast<double>(ours.taken) / static_cast<double>(ours.steps))
            << '\n';
}

void write_page(const std::string& path) {
  try {
    WholeFile page(path);
    page.write(sync_report().to_html());
    page.finish();
  } catch (const std::system_error& error) {
    throw InvalidArgument(text("cannot write ", printable(path), ": ", error.code().message()), {});
  }
}

}  // namespace

void run_demo(const DemoOptions& options) {
  journal::name_this_thread("main");
  std::cout << "Tutti " << version() << ": a small classifier, trained on every GPU\n\n";
  show_devices(options.gpus);

  set_log_sink([](LogLevel, std::string_view line) { std::cout << paragraph(without_process(std::string(line))); });
  std::cout << '\n';
  const MirroredStrategy strategy;
  set_log_sink({});
  set_seed(7);
  const Examples data = spiral(batches * batch_size);
  const Examples test = spiral(others);
  std::cout << paragraph(text(batches * batch_size, " points on a spiral of ", classes, " arms, ", batch_size,
                              " in a step, shared by ", strategy.replicas(), strategy.replicas() == 1 ? " GPU." : " GPUs."))
            << std::endl;

  const Trained ours = train(strategy, data, test, options);
  // Before other waits come: the page is of this training.
  write_page(options.page);
  std::cout << '\n'
            << paragraph(text(percent(ours.accuracy), " of ", others, " other points are right. ", ours.waits, " host waits in ",
                              ours.steps, " steps of ", human_time(ours.taken / ours.steps), "."));
  std::cout << paragraph(text("Its last epoch as a timeline, for a browser: ", printable(options.page)));

  if (options.with_syncs) {
    std::cout << "\nThe same, with the usual waits in every step:" << std::endl;
    print_beside(ours, train_with_syncs(strategy, data, test, options));
  } else {
    std::cout << paragraph(
        "Next: 'tutti demo --with-syncs' does it with the usual waits, and shows what they cost; "
        "'tutti demo --guide' goes through the guide \"Use a GPU\".");
  }
}

}  // namespace tutti::tools
