#include "libtrain/job/start/preview.h"

#include "ckpt/run/near_folder.h"
#include "ckpt/store/media_watch.h"
#include "libtrain/job/metrics/status_place.h"
#include "libtrain/job/start/read_errors.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {
namespace {

Status open_alone(ckpt::Fs& fs, ckpt::Fs& watch, const StartInputs& inputs, bool prove_complete, Start& start) {
  // Weights are read after the watch has gone; only the step of a resume is watched.
  TITAN_RETURN_IF_ERROR(open_start(start.decision.mode == StartMode::kResume ? watch : fs, inputs, start));
  TITAN_RETURN_IF_ERROR(start.stored ? check_steps(start.loaded.config, start.decision.step) : ckpt::ok_status());
  return start.complete && prove_complete ? read_whole(fs, start.decision.path, start.id) : ckpt::ok_status();
}

}  // namespace

Result<StartPreview> preview_start(ckpt::Fs& fs, const StartInputs& inputs, bool prove_complete) {
  const recipe::Config& config = inputs.loaded.config;
  TITAN_ASSIGN_OR_RETURN(const recipe::Permission permission, recipe::read_permission(config, inputs.allow));
  TITAN_RETURN_IF_ERROR(recipe::make_run_mesh(config, inputs.world).status());
  TITAN_ASSIGN_OR_RETURN(StartRequest request, start_request(inputs, permission));
  if (config.checkpoint.near)
    TITAN_RETURN_IF_ERROR(
        ckpt::check_near(fs, *config.checkpoint.near, config.job.dump_folder, request.checkpoint_dir));
  TITAN_RETURN_IF_ERROR(check_status_place(fs, config));
  StartPreview preview;
  std::set<std::uint64_t> damaged;
  std::vector<std::string> said;
  while (true) {
    preview = {};
    TITAN_ASSIGN_OR_RETURN(preview.decision, decide_alone(fs, config, request, damaged, &said));
    ckpt::MediaWatch watch(fs);
    const std::uint64_t step = preview.decision.step;
    const Status status = open_alone(fs, watch, inputs, prove_complete, preview);
    // For a complete run, the step in its run folder counts.
    if (status.ok() && preview.complete && preview.decision.near && preview.decision.durable) {
      request.near_lost.insert(step);
      continue;
    }
    if (status.ok()) {
      if (preview.source) {
        if (std::string line = recipe::no_longer_given(inputs.loaded, preview.loaded, preview.source->manifest().config,
                                                       preview.stored->state);
            !line.empty())
          said.push_back(std::move(line));
      }
      preview.source.reset();  // it reads through `watch`, which is about to be destroyed
      break;
    }
    if (preview.decision.mode != StartMode::kResume) return status;
    if (status.code == ckpt::Code::kMediaError) {
      TITAN_ASSIGN_OR_RETURN(const std::uint64_t passed,
                             step_to_skip(config, request, status, watch.place(),
                                          [&](const ckpt::UnreadablePlace& place) { return read_again(fs, place); }));
      (is_near_place(request, *watch.place()) ? request.near_lost : request.unreadable).insert(passed);
      said.push_back(skipped_step_line(passed, status));
      continue;
    }
    if (status.code != ckpt::Code::kCorrupt || !preview.decision.may_fall_back) return status;
    (preview.decision.near ? request.near_lost : damaged).insert(step);
    said.push_back("step " + std::to_string(step) + " is damaged: " + status.message);
  }
  said.insert(said.end(), preview.decision.notes.begin(), preview.decision.notes.end());
  TITAN_RETURN_IF_ERROR(prepare_start(fs, inputs, permission, preview));
  if (preview.weight_source && preview.verdict.ok())
    preview.weights = match_lines(preview.match, preview.weight_source->tensors(), preview.plan.parameters);
  const auto add = [&](std::vector<std::string> lines) { said.insert(said.end(), lines.begin(), lines.end()); };
  add(preview.warnings);
  if (preview.dataset) {
    preview.validation_samples = preview.dataset->validation_samples();
    add(preview.dataset->warnings());
  }
  add(preview.continuation.warnings);
  preview.warnings = std::move(said);
  return preview;
}

}  // namespace titan::train
