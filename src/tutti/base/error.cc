#include "tutti/base/error.h"

#include "tutti/base/text.h"

namespace tutti {

Error::Error(const std::string& message, Site site)
    : std::runtime_error(text(message, " [at ", site.to_string(), "]")), site_(site), length_(message.size()) {}

}  // namespace tutti
