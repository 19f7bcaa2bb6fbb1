#include "cli/titan_ckpt/verbs.h"

#include <vector>

#include "ckpt/ops/pin.h"
#include "cli/kit/json_out.h"
#include "cli/kit/text.h"

namespace titan::cli {
namespace {

std::string pin_text(const std::vector<ckpt::PinnedStep>& steps, bool pinned) {
  std::string out;
  for (const ckpt::PinnedStep& step : steps)
    out += std::string(step.changed ? (pinned ? "pinned " : "unpinned ")
                                    : (pinned ? "was pinned: " : "was not pinned: ")) +
           escape(step.path) + "\n";
  return out;
}

std::string pin_json(const std::vector<ckpt::PinnedStep>& steps, bool pinned) {
  JsonOut json("titan.pin/1");
  json.each("steps", steps, [&](const ckpt::PinnedStep& step) {
    json.path("path", step.path);
    json.members("pinned", pinned, "changed", step.changed);
  });
  return json.document();
}

}  // namespace

ckpt::Result<Answer> run_pin(const Request& request) {
  const bool pinned = request.verb.name == "pin";
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::PinnedStep> steps,
                         ckpt::pin_steps(request.fs, request.command.positionals, pinned));
  return Answer{.text = request.json ? pin_json(steps, pinned) : pin_text(steps, pinned)};
}

}  // namespace titan::cli
