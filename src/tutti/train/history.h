// What became of a training: the values of every epoch, and why it ended.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tutti/base/site.h"

namespace tutti {

// By name: "loss", the metrics' names, and with "val_" before them those of the validation data.
using NamedValues = std::map<std::string, double>;

struct History {
  std::map<std::string, std::vector<double>> values;  // one for each epoch that was finished
  std::vector<double> seconds;                        // that each of them took on the device
  std::int64_t steps = 0;                             // of all epochs, also those before a checkpoint that was gone on from
  bool was_interrupted = false;                       // by Ctrl-C, perhaps when all steps were made
  std::string stopped;                                // why it ended before its last epoch; empty: it did not

  [[nodiscard]] std::int64_t epochs() const noexcept { return static_cast<std::int64_t>(seconds.size()); }
  // InvalidArgument for a name that is not there, with those that are.
  const std::vector<double>& at(const std::string& name, Site site = {}) const;
};

}  // namespace tutti
