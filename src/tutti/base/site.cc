#include "tutti/base/site.h"

namespace tutti {

std::string Site::to_string() const { return std::string(file()) + ":" + std::to_string(line()); }

}  // namespace tutti
