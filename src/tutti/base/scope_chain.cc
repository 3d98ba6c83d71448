#include "tutti/base/scope_chain.h"

#include "tutti/base/log.h"
#include "tutti/base/text.h"

namespace tutti::detail {

void log_left_on_another_thread(const char* what, Site opened_at) noexcept {
  log(LogLevel::error,
      text("the ", what, " opened at ", opened_at.to_string(), " was left on another thread; a scope belongs to its thread"));
}

void log_left_out_of_order(const char* what, Site opened_at) noexcept {
  log(LogLevel::error, text("the ", what, " opened at ", opened_at.to_string(),
                            " was left before one opened inside it; leave scopes in reverse order"));
}

}  // namespace tutti::detail
