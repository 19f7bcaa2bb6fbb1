#pragma once
// How a start handles a step that cannot be read from the store (checkpoint.on_read_error).
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libtrain/job/start/resume_point.h"

namespace titan::recipe {
struct Config;
}

namespace titan::ckpt {
class Fs;
struct UnreadablePlace;
}  // namespace titan::ckpt

namespace titan::train {

/// Reads a place a second time, on another rank or past the cache. Returns ok if it can be read.
using SecondRead = std::function<ckpt::Status(const ckpt::UnreadablePlace& place)>;

/// Decides whether to skip the step of `place`, where `error` (a media error) happened; returns its number. Three
/// conditions: the start chose the step by itself (--resume auto); the configuration allows it, or the place
/// is_near_place(); and `second` also gets a media error. \error `error`, with a hint that names the key, or with the
/// result of the second read
ckpt::Result<std::uint64_t> step_to_skip(const recipe::Config& config, const StartRequest& request,
                                         const ckpt::Status& error, const std::optional<ckpt::UnreadablePlace>& place,
                                         const SecondRead& second);

/// Whether `place` is in checkpoint.near, where an error only costs near steps.
bool is_near_place(const StartRequest& request, const ckpt::UnreadablePlace& place);

/// decide_start() in one process. Steps whose manifests cannot be read are skipped by the rule of step_to_skip(),
/// with a second read past the cache. They are added to `request.unreadable` or `request.near_lost`, and a line for
/// each to `said`.
ckpt::Result<StartDecision> decide_alone(ckpt::Fs& fs, const recipe::Config& config, StartRequest& request,
                                         const std::set<std::uint64_t>& damaged, std::vector<std::string>* said);

/// The log line about a skipped step: "step 40 cannot be read and is skipped (it is not changed): ...".
std::string skipped_step_line(std::uint64_t step, const ckpt::Status& error);

}  // namespace titan::train
