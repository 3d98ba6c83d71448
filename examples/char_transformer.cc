// A small transformer learns a text, character by character, and writes some of its own. The host never waits for a step: losses
// are read while later steps run.
#include <tutti/tutti.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "char_model.h"

namespace tt = tutti;

namespace {

constexpr std::string_view usage =
    "usage: char_transformer TEXT_FILE [--steps N] [--seed N] [--write N]\n"
    "Learns the characters of the file for so many steps (300) and writes so many of its own (200).\n"
    "The same seed (1) gives the same run.\n";

struct Options {
  std::string file;
  std::int64_t steps = 300;
  std::int64_t seed = 1;
  std::int64_t write = 200;
};

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

Options parse(const std::vector<std::string>& words) {
  Options out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    std::int64_t* const number = word == "--steps"   ? &out.steps
                                 : word == "--seed"  ? &out.seed
                                 : word == "--write" ? &out.write
                                                     : nullptr;
    if (number == nullptr) {
      if (word.starts_with("--")) throw UsageError("there is no option " + word);
      if (!out.file.empty()) throw UsageError("one text at a time: " + out.file + " and " + word);
      out.file = word;
      continue;
    }
    const std::string value = i + 1 < words.size() ? words[++i] : "";
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), *number);
    if (error != std::errc() || end != value.data() + value.size() || *number < 0)
      throw UsageError(word + " takes a number from 0 on, not '" + value + "'");
  }
  if (out.file.empty()) throw UsageError("a text to learn is needed");
  return out;
}

std::string content_of(const std::string& path, std::size_t least) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file.is_open() || file.bad()) throw std::runtime_error(path + " cannot be read: " + std::strerror(errno));
  if (text.size() < least) {
    throw std::runtime_error(path + " has " + std::to_string(text.size()) + " characters; at least " + std::to_string(least) +
                             " are needed");
  }
  return text;
}

// The text as numbers: places in the sorted list of its characters.
struct Characters {
  std::string known;
  std::vector<std::int64_t> text;

  explicit Characters(const std::string& content) : known(content) {
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    for (const char c : content) text.push_back(std::lower_bound(known.begin(), known.end(), c) - known.begin());
  }
  // Pieces that begin anywhere.
  [[nodiscard]] tt::Tensor batch(std::int64_t pieces, std::int64_t length, std::mt19937_64& random) const {
    std::vector<std::int64_t> out;
    for (std::int64_t i = 0; i < pieces; ++i) {
      const auto begin = static_cast<std::ptrdiff_t>(random() % (text.size() - static_cast<std::size_t>(length) + 1));
      out.insert(out.end(), text.begin() + begin, text.begin() + begin + length);
    }
    return tt::constant(out, {pieces, length});
  }
};

// Draws each next character by its likelihood, on the device; the host waits once, for all of them.
std::string written(const CharModel& model, const Characters& characters, std::int64_t length, std::int64_t count) {
  const tt::Evaluation evaluation;
  tt::Tensor seen =
      tt::constant(std::vector<std::int64_t>(characters.text.begin(), characters.text.begin() + length), {1, length});
  std::vector<tt::Tensor> all;
  for (std::int64_t i = 0; i < count; ++i) {
    const tt::Tensor logits = tt::slice(model(seen), 1, {length - 1, length});
    const tt::Tensor noise = -tt::log(-tt::log(tt::uniform(logits.shape(), {.low = 1e-7, .high = 1})));
    const tt::Tensor next = tt::argmax(logits + noise, 2);
    seen = tt::concat({tt::slice(seen, 1, {1, length}), next}, 1);
    all.push_back(next);
  }
  std::string out;
  if (all.empty()) return out;
  for (const std::int64_t place : tt::read<std::int64_t>(tt::concat(all, 1)))
    out += characters.known[static_cast<std::size_t>(place)];
  return out;
}

void run(const Options& options) {
  constexpr std::int64_t pieces = 16;
  CharModelSize size{.characters = 0};
  const Characters characters(content_of(options.file, static_cast<std::size_t>(size.length + 1)));
  size.characters = static_cast<std::int64_t>(characters.known.size());

  tt::set_seed(static_cast<std::uint64_t>(options.seed));
  std::mt19937_64 random(static_cast<std::uint64_t>(options.seed));
  const CharModel model(size);
  std::int64_t parameters = 0;
  for (const tt::Variable& each : tt::parameters(model)) parameters += tt::element_count(each.shape()).value_or(0);
  std::cout << characters.text.size() << " characters, " << size.characters << " different; " << parameters << " parameters\n";

  const std::int64_t warm_up = std::min<std::int64_t>(20, options.steps / 2);
  tt::Adam optimizer(tt::parameters(model), tt::warmup_cosine(3e-3, warm_up, std::max<std::int64_t>(warm_up + 1, options.steps)),
                     tt::adamw());
  const auto step = tt::value_and_grad(char_loss);
  const std::int64_t every = std::max<std::int64_t>(1, options.steps / 10);
  std::optional<tt::Pending<float>> before;  // a loss on its way to the host
  std::int64_t of_step = 0;
  const auto report = [&] {
    if (before) std::cout << "step " << of_step << ": loss " << before->get() << '\n';
  };
  const auto waits = tt::sync_counts();
  for (std::int64_t i = 0; i < options.steps; ++i) {
    const auto [loss, gradients] = step(model, characters.batch(pieces, size.length + 1, random));
    optimizer.update(tt::clip_by_global_norm(gradients, 1));
    if (i % every != 0 && i + 1 != options.steps) continue;
    report();
    before = tt::read_async<float>(loss);
    of_step = i;
  }
  report();
  std::cout << "the host asked for " << tt::sync_counts().demand - waits.demand << " values in " << options.steps << " steps\n"
            << written(model, characters, size.length, options.write) << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (std::find(words.begin(), words.end(), "--help") != words.end()) {
    std::cout << usage;
    return 0;
  }
  try {
    run(parse(words));
  } catch (const UsageError& error) {
    std::cerr << "char_transformer: " << error.what() << '\n' << usage;
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "char_transformer: " << error.what() << '\n';
    return 1;
  }
}
