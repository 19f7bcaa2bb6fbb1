#include "libtrain/job/start/read_errors.h"

#include "ckpt/base/path.h"
#include "ckpt/format/member_names.h"
#include "ckpt/run/run_folder.h"
#include "ckpt/store/media_watch.h"
#include "recipe/keys/config.h"

namespace titan::train {
namespace {

using ckpt::Result;
using ckpt::Status;

// The path of `place` relative to `folder`; empty if it is elsewhere.
std::string below(const std::string& folder, const ckpt::UnreadablePlace& place) {
  const std::string start = ckpt::without_slashes(folder) + "/", path = ckpt::join_path(place.folder, place.member);
  return path.starts_with(start) ? path.substr(start.size()) : "";
}

// The step of the run folder or the near folder that contains `place`.
std::optional<std::uint64_t> step_of(const StartRequest& request, const ckpt::UnreadablePlace& place) {
  std::string rest = below(request.checkpoint_dir, place);
  if (is_near_place(request, place)) {
    rest = below(request.near_root, place);
    rest.erase(0, rest.find('/') + 1);
  }
  return ckpt::parse_step_name(rest.substr(0, rest.find('/')));
}

}  // namespace

bool is_near_place(const StartRequest& request, const ckpt::UnreadablePlace& place) {
  return !request.near_root.empty() && !below(request.near_root, place).empty();
}

Result<std::uint64_t> step_to_skip(const recipe::Config& config, const StartRequest& request, const Status& error,
                                   const std::optional<ckpt::UnreadablePlace>& place, const SecondRead& second) {
  if (request.resume != "auto" || request.load_step >= 0 || !place) return error;
  const std::optional<std::uint64_t> step = step_of(request, *place);
  if (!step) return error;
  if (config.checkpoint.on_read_error != "fallback" && !is_near_place(request, *place))
    return error.with_hint(
        "checkpoint.on_read_error = \"fallback\" continues from the next older step when a second reader cannot read "
        "this place either; step " +
        std::to_string(*step) + " is left as it is");
  const Status again = second(*place);
  if (again.code == ckpt::Code::kMediaError) return *step;
  Status unconfirmed = error;
  if (again.ok()) {
    unconfirmed.causes.push_back("a second reader could read the same place: step " + std::to_string(*step) +
                                 " is not skipped");
    return unconfirmed.with_hint(
        "start again; if it comes back, look at the disk, the memory or the mount of the node that met the error");
  }
  unconfirmed.causes.push_back("the second reader met another error: " + again.message);
  return unconfirmed;
}

Result<StartDecision> decide_alone(ckpt::Fs& fs, const recipe::Config& config, StartRequest& request,
                                   const std::set<std::uint64_t>& damaged, std::vector<std::string>* said) {
  while (true) {
    ckpt::MediaWatch watch(fs);
    Result<StartDecision> decision = decide_start(watch, request, damaged);
    if (decision.status().code != ckpt::Code::kMediaError) return decision;
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t step,
                           step_to_skip(config, request, decision.status(), watch.place(),
                                        [&](const ckpt::UnreadablePlace& place) { return read_again(fs, place); }));
    if (!(is_near_place(request, *watch.place()) ? request.near_lost : request.unreadable).insert(step).second)
      return decision;
    if (said) said->push_back(skipped_step_line(step, decision.status()));
  }
}

std::string skipped_step_line(std::uint64_t step, const Status& error) {
  return "step " + std::to_string(step) + " cannot be read and is skipped (it is not changed): " + error.message;
}

}  // namespace titan::train
