#include "tools/demo.h"

#include <array>
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

// What the host has waited so far.
struct Waited {
  std::uint64_t times = 0;  // that the program asked for: a value, or a device to be done
  Nanoseconds asked = 0;    // in those
  Nanoseconds held_back = 0;
};

Waited waited_so_far() {
  Waited out;
  for (const SyncTotals& each : sync_totals()) {
    if (is_demand(each.reason)) {
      out.times += each.calls;
      out.asked += each.blocked_time;
    } else if (each.reason == SyncReason::back_pressure) {
      out.held_back += each.blocked_time;
    }
  }
  return out;
}

// What came of a training.
struct Trained {
  std::int64_t steps = 0;
  Nanoseconds taken = 0;
  Waited in_steps = {};
  Nanoseconds at_end = 0;  // when all steps were submitted
  double accuracy = 0;

  void set_waits(const Waited& before, const Waited& submitted, const Waited& after) {
    in_steps = {submitted.times - before.times, submitted.asked - before.asked, submitted.held_back - before.held_back};
    at_end = after.asked - submitted.asked;
  }
  [[nodiscard]] Nanoseconds step() const { return taken / steps; }
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
  const Waited before = waited_so_far();
  Waited submitted;
  const auto watch = on_step_end([&](Training& training) {
    if (training.step() == last_epoch && own_recording) journal::start();
    if (training.step() == last_epoch + batches) submitted = waited_so_far();
  });
  if (last_epoch == 0 && own_recording) journal::start();
  const Nanoseconds begin = now();
  const History history =
      model.fit(in_batches(data),
                {.epochs = options.epochs, .callbacks = {watch}, .verbose = Verbosity::automatic, .stop_at_interrupt = false});
  out.taken = now() - begin;
  if (own_recording) journal::stop();
  out.set_waits(before, submitted, waited_so_far());
  out.steps = history.steps;
  out.accuracy = accuracy_of(model.predict(std::get<0>(test)), std::get<1>(test));
  return out;
}

// The same by hand, op by op. As it is often written it waits: the loss read in every step, a check of it, a count of what was
// right, and a sync to be sure. Else the same values are sent for, and looked at when all steps are submitted.
Trained train_by_hand(const MirroredStrategy& strategy, const Examples& data, const Examples& test, const DemoOptions& options,
                      bool waits) {
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
  if (waits) reset_sync_totals();  // the report is of this loop
  const Waited before = waited_so_far();
  const Nanoseconds begin = now();
  double right = 0;
  double total = 0;
  const auto check = [](double loss) {
    if (!std::isfinite(loss)) throw InvalidState("the loss is not finite", {});
  };
  std::vector<std::array<Pending<float>, 3>> sent_for;
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

      const Tensor loss = strategy.reduce(losses, Reduction::mean);
      const Tensor hit = strategy.reduce(hits, Reduction::sum);
      if (waits) {
        total += item<float>(loss, Intent::log);
        check(item<float>(losses[0], Intent::branch));
        right += item<float>(hit, Intent::log);
        sync_devices();
      } else {
        sent_for.push_back({read_async<float>(loss), read_async<float>(losses[0]), read_async<float>(hit)});
      }
      ++out.steps;
    }
  }
  const Waited submitted = waited_so_far();
  if (!waits) sync_devices();
  for (const auto& [loss, first, hit] : sent_for) {
    total += loss.get();
    check(first.get());
    right += hit.get();
  }
  out.taken = now() - begin;
  out.set_waits(before, submitted, waited_so_far());
  if (waits) {
    std::ostringstream said;
    said << std::setprecision(3) << "Mean loss " << total / static_cast<double>(out.steps) << ", "
         << percent(right / static_cast<double>(out.steps * batch_size)) << " right on the way.";
    std::cout << paragraph(said.str()) << '\n' << sync_report();
  }
  const auto outputs = strategy.run([&](const Tensor& x) { return net(x); }, std::get<0>(test));
  out.accuracy = accuracy_of(outputs[0], std::get<1>(test));
  return out;
}

void print_beside(const Trained& fit, const Trained& loop, const Trained& waiting) {
  const auto row = [&](const char* what, const auto& of) {
    std::cout << std::left << std::setw(29) << what << std::right;
    for (const Trained* each : {&fit, &loop, &waiting}) std::cout << std::setw(16) << of(*each);
    std::cout << '\n';
  };
  const auto ratio = [&](const Trained& of) {
    std::ostringstream out;
    out << std::fixed << std::setprecision(2) << static_cast<double>(of.step()) / static_cast<double>(loop.step());
    return out.str();
  };
  std::cout << '\n'
            << std::setw(45) << "fit, captured" << std::setw(16) << "loop, no waits" << std::setw(16) << "loop, waits" << '\n';
  row("steps", [](const Trained& of) { return of.steps; });
  row("waits for values and devices", [](const Trained& of) { return of.in_steps.times; });
  row("time in these", [](const Trained& of) { return human_time(of.in_steps.asked); });
  row("held back, being far ahead", [](const Trained& of) { return human_time(of.in_steps.held_back); });
  row("wait for the last steps", [](const Trained& of) { return human_time(of.at_end); });
  row("a step", [](const Trained& of) { return human_time(of.step()); });
  row("a step, loop no waits = 1", ratio);
  row("accuracy", [](const Trained& of) { return percent(of.accuracy); });
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
            << paragraph(text(percent(ours.accuracy), " of ", others, " other points are right. ", ours.steps, " steps of ",
                              human_time(ours.step()), ", ", ours.in_steps.times,
                              " waits for values in them. The host was held back for ", human_time(ours.in_steps.held_back),
                              ", being far ahead, and waited ", human_time(ours.at_end), " for the last steps."));
  std::cout << paragraph(text("Its last epoch as a timeline, for a browser: ", printable(options.page)));

  if (options.with_syncs) {
    std::cout << "\nThe same as a loop by hand, without and with the usual waits in every step:" << std::endl;
    const Trained loop = train_by_hand(strategy, data, test, options, false);
    print_beside(ours, loop, train_by_hand(strategy, data, test, options, true));
  } else {
    std::cout << paragraph(
        "Next: 'tutti demo --with-syncs' does it with the usual waits, and shows what they cost; "
        "'tutti demo --guide' goes through the guide \"Use a GPU\".");
  }
}

}  // namespace tutti::tools
