// Jobs of random ranks that meet and sum while they are killed, stopped and restarted and their links fail, for as long as it is
// told. Ends with what was counted, or with the seed and round of the first thing that was wrong.
//   soak [--seconds N] [--seed S] [--round R] [--no-restarts] [--no-faults] [--keep-going]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "soak/round.h"

namespace {

using namespace tutti::soak;

struct Arguments {
  std::chrono::seconds length{1'800};
  std::uint64_t seed = std::random_device()();
  std::optional<std::uint64_t> round;  // only this
  bool keeps_going = false;
  Options options;
};

std::optional<Arguments> arguments_from(int count, char** words) {
  Arguments out;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    const auto number = [&] { return i + 1 < count ? std::strtoull(words[++i], nullptr, 10) : 0; };
    if (word == "--seconds") {
      out.length = std::chrono::seconds(number());
    } else if (word == "--seed") {
      out.seed = number();
    } else if (word == "--round") {
      out.round = number();
    } else if (word == "--no-restarts") {
      out.options.restarts = false;
    } else if (word == "--no-faults") {
      out.options.has_faults = false;
    } else if (word == "--keep-going") {
      out.keeps_going = true;
    } else {
      return std::nullopt;
    }
  }
  return out;
}

void print(const Arguments& arguments, const Counts& counts, std::int64_t wrong) {
  std::cout << "soak: seed " << arguments.seed << ": " << counts.rounds << " rounds, " << counts.barriers << " barriers, "
            << counts.all_reduces << " all_reduces, " << counts.faults << " faults, " << counts.deaths << " deaths, "
            << counts.restarts << " restarts; calls";
  const char* between = " ";
  for (std::size_t i = 0; i < outcome_count; ++i) {
    if (counts.outcomes[i] == 0) continue;
    std::cout << between << outcome_words[i] << ' ' << counts.outcomes[i];
    between = ", ";
  }
  std::cout << "; coordinator at most " << counts.coordinator_kib << " KiB; a warm rank's growth at most "
            << counts.more_descriptors << " descriptors, " << counts.more_kib << " KiB; " << counts.starvations
            << " times no core for the driver; " << wrong << " rounds with violations" << std::endl;
}

int run(const Arguments& arguments) {
  keep_to_itself();
  std::cout << "soak: seed " << arguments.seed << ", " << arguments.length.count() << " s" << std::endl;
  const auto end = std::chrono::steady_clock::now() + arguments.length;
  Counts counts;
  std::int64_t wrong = 0;
  for (std::uint64_t number = arguments.round.value_or(0); std::chrono::steady_clock::now() < end; ++number) {
    Round round(arguments.seed * 1'000'003 + number, arguments.options);
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<std::string> violations = round.run(counts);
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
    std::cout << "round " << number << ": " << round.plan().to_string() << ", " << counts.faults << " faults so far; it took "
              << took.count() << " ms" << std::endl;
    if (!violations.empty()) {
      ++wrong;
      std::cout << "VIOLATION in round " << number << " (" << round.plan().to_string() << "); again with: soak --seed "
                << arguments.seed << " --round " << number << (arguments.options.restarts ? "" : " --no-restarts") << '\n';
      constexpr std::size_t most = 12;
      for (std::size_t i = 0; i < std::min(most, violations.size()); ++i) std::cout << "  " << violations[i] << '\n';
      if (violations.size() > most) std::cout << "  and " << violations.size() - most << " more\n";
      std::cout << round.story() << std::endl;
      if (!arguments.keeps_going) break;
    }
    if (arguments.round) break;
  }
  print(arguments, counts, wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  const std::optional<Arguments> arguments = arguments_from(count, words);
  if (!arguments) {
    std::cerr << "usage: soak [--seconds N] [--seed S] [--round R] [--no-restarts] [--no-faults] [--keep-going]\n";
    return 2;
  }
  try {
    return run(*arguments);
  } catch (const std::exception& e) {
    std::cerr << "soak: " << e.what() << std::endl;
    return 2;
  }
}
