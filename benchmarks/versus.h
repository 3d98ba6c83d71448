// Side-by-side timing: both sides in one run, sample by sample in turn, so that what disturbs one disturbs the other.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "options.h"

namespace bench {

using Clock = std::chrono::steady_clock;

inline double nanoseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

struct Summary {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
};

inline Summary summarise(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    return samples[static_cast<std::size_t>(share * static_cast<double>(samples.size() - 1))];
  };
  return {at(0.5), at(0.1), at(0.9)};
}

// Nanoseconds per call, one sample of `calls` calls.
template <class F>
double sample(int calls, F&& body) {
  const auto start = Clock::now();
  for (int i = 0; i < calls; ++i) body();
  return nanoseconds_since(start) / calls;
}

class Report {
 public:
  explicit Report(std::string name) : name_(std::move(name)) {}

  // `target` is what the ratio peer / ours should reach, or, without a peer, the most nanoseconds ours should take.
  template <class Ours, class Theirs>
  void versus(const std::string& what, const std::string& peer, double target, int samples, int calls, Ours&& ours,
              Theirs&& theirs) {
    std::vector<double> mine;
    std::vector<double> other;
    sample(calls, ours);  // warm-up
    sample(calls, theirs);
    for (int i = 0; i < samples; ++i) {
      mine.push_back(sample(calls, ours));
      other.push_back(sample(calls, theirs));
    }
    sides(what, peer, target, mine, other, calls);
  }
  // The same of samples that were taken in turn elsewhere.
  void sides(const std::string& what, const std::string& peer, double target, const std::vector<double>& mine,
             const std::vector<double>& other, int calls = 1) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < mine.size(); ++i) ratios.push_back(other[i] / mine[i]);
    const Summary a = summarise(mine);
    const Summary b = summarise(other);
    const Summary r = summarise(ratios);
    std::printf("%-44s %12.1f %12.1f %8.2fx %7.2fx  %s\n", what.c_str(), a.median, b.median, r.median, target,
                r.median >= target ? "met" : "NOT MET");
    rows_.push_back({{"what", what},
                     {"peer", peer},
                     {"tutti_ns", a.median},
                     {"tutti_p10", a.p10},
                     {"tutti_p90", a.p90},
                     {"peer_ns", b.median},
                     {"peer_p10", b.p10},
                     {"peer_p90", b.p90},
                     {"ratio", r.median},
                     {"ratio_p10", r.p10},
                     {"ratio_p90", r.p90},
                     {"target_ratio", target},
                     {"samples", mine.size()},
                     {"calls", calls}});
  }
  void absolute(const std::string& what, double most, std::vector<double> samples) {
    const Summary a = summarise(std::move(samples));
    std::printf("%-44s %12.1f %12s %9s %5.0f ns  %s\n", what.c_str(), a.median, "", "", most,
                a.median <= most ? "met" : "NOT MET");
    rows_.push_back({{"what", what}, {"tutti_ns", a.median}, {"tutti_p10", a.p10}, {"tutti_p90", a.p90}, {"target_ns", most}});
  }
  void note(const std::string& what, const nlohmann::json& value) { rows_.push_back({{"what", what}, {"value", value}}); }

  static void heading(const char* peer) {
    std::printf("%-44s %12s %12s %9s %8s\n", "nanoseconds per call, medians", "tutti", peer, "ratio", "target");
  }
  // Empty: nowhere.
  void write(const std::string& path) const {
    if (path.empty()) return;
    std::ofstream(path) << nlohmann::json{{"benchmark", name_}, {"rows", rows_}}.dump(2) << '\n';
    std::printf("written to %s\n", path.c_str());
  }

 private:
  std::string name_;
  std::vector<nlohmann::json> rows_;
};

}  // namespace bench
