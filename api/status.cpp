#include "titan/ckpt/status.h"

namespace titan {

std::string Status::text() const {
  std::string lines = what;
  for (const std::string& cause : causes) lines += "\ncaused by: " + cause;
  if (!hint.empty()) lines += "\nhint: " + hint;
  return lines;
}

}  // namespace titan
