#include "tutti/train/history.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"

namespace tutti {

const std::vector<double>& History::at(const std::string& name, Site site) const {
  const auto found = values.find(name);
  if (found != values.end()) return found->second;
  std::string names;
  for (const auto& [each, numbers] : values) names += text(names.empty() ? "" : ", ", each);
  throw InvalidArgument(text("there is no \"", printable(name), "\" in the history of this training; there are: ",
                             names.empty() ? "none, since no epoch was finished" : names),
                        site);
}

}  // namespace tutti
