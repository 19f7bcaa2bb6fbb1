#pragma once
// What a start does about a step that the store cannot give back (checkpoint.on_read_error).
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/store/media_watch.h"
#include "libtrain/job/start/resume_point.h"
#include "recipe/keys/config.h"

namespace titan::train {

/// Reads a place a second time, as somebody else or past the cache: ok when it can be read there.
using SecondRead = std::function<ckpt::Status(const ckpt::UnreadablePlace& place)>;

/// Decides whether the step of `place`, where `error` (a media error) happened, is passed over; returns its number.
/// Only a step that a start chose by itself (--resume auto) is, and only where the configuration allows it, or the
/// place lies_near(), and `second` meets a media error too. \error `error`, with a hint that names the key or with what
/// the second reader found
ckpt::Result<std::uint64_t> step_to_pass_over(const recipe::Config& config, const StartRequest& request,
                                              const ckpt::Status& error,
                                              const std::optional<ckpt::UnreadablePlace>& place,
                                              const SecondRead& second);

/// Whether `place` lies in checkpoint.near, which costs its own steps alone.
bool lies_near(const StartRequest& request, const ckpt::UnreadablePlace& place);

/// decide_start by one process: steps whose manifests cannot be read are passed over by the same rule, confirmed by a
/// read past the cache; they are added to `request.unreadable` or `near_lost`, and a line for each to `said`.
ckpt::Result<StartDecision> decide_alone(ckpt::Fs& fs, const recipe::Config& config, StartRequest& request,
                                         const std::set<std::uint64_t>& damaged, std::vector<std::string>* said);

/// The line that says it: "step 40 cannot be read and is passed over (it is left as it is): ...".
std::string passed_over_line(std::uint64_t step, const ckpt::Status& error);

}  // namespace titan::train
