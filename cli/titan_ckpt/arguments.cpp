// Values of flags that several verbs share.
#include <charconv>

#include "cli/titan_ckpt/verbs.h"

namespace titan::cli {

ckpt::Result<unsigned> thread_count(const Request& request) {
  const std::optional<std::string> text = request.command.value("threads");
  if (!text) return 0u;
  unsigned count = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), count);
  if (error != std::errc() || end != text->data() + text->size() || count == 0 || count > 1024)
    return ckpt::invalid("`--threads` is `" + *text + "`, expected a whole number from 1 to 1024");
  return count;
}

}  // namespace titan::cli
