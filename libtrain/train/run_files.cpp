#include "libtrain/train/run_files.h"

#include "libtrain/metrics/board_tags.h"
#include "libtrain/metrics/log.h"
#include "recipe/keys/writer.h"

namespace titan::train {

using ckpt::Result;
using ckpt::Status;

Status replace_file(ckpt::Fs& fs, const std::string& dir, const std::string& name, const std::string& text) {
  const std::string path = ckpt::join_path(dir, name), temporary = path + ".tmp";
  if (fs.stat(temporary).ok()) TITAN_RETURN_IF_ERROR(fs.remove_file(temporary));
  TITAN_RETURN_IF_ERROR(ckpt::write_new_file(fs, temporary, std::as_bytes(std::span(text))));
  TITAN_RETURN_IF_ERROR(fs.rename(temporary, path));
  return fs.sync_dir(dir);
}

Result<std::unique_ptr<RunFiles>> RunFiles::open(ckpt::Fs& fs, const recipe::Config& config,
                                                 const std::string& checkpoint_dir) {
  std::unique_ptr<RunFiles> files(new RunFiles(fs));
  files->run_dir_ = config.job.dump_folder;
  // A run that saves nothing makes no folder for it.
  const bool without = !config.checkpoint.enable && fs.stat(checkpoint_dir).status().code == ckpt::Code::kNotFound;
  TITAN_ASSIGN_OR_RETURN(ckpt::OpenRun run,
                         ckpt::open_run(fs, files->run_dir_, without ? files->run_dir_ : checkpoint_dir));
  for (const std::string& path : run.restored)
    log_warn("put back " + path + ", which an interrupted tool had moved aside");
  for (const std::string& warning : run.warnings) log_warn("leftover: " + warning);
  files->locks_ = std::move(run.locks);
  return files;
}

Status RunFiles::start(const recipe::Config& config, std::uint64_t step, const ckpt::Attempt& attempt,
                       const std::string& resumed_from) {
  recipe::Config lasting = config;
  lasting.debug.stop_at_step.reset();  // of one start: a run from this file would end where it began
  TITAN_RETURN_IF_ERROR(replace_file(fs_, run_dir_, "config.toml", recipe::config_toml(lasting)));
  TITAN_ASSIGN_OR_RETURN(metrics,
                         MetricsFile::open(fs_, ckpt::join_path(run_dir_, "metrics.jsonl"), step, attempt.number));
  if (config.metrics.enable_tensorboard) {
    board_folder_ = ckpt::join_path(run_dir_, config.metrics.save_tb_folder);
    TITAN_ASSIGN_OR_RETURN(board_, EventFile::open(fs_, board_folder_, step));
  }
  EventFields fields{{"dp", std::uint64_t{attempt.dp}},
                     {"pp", std::uint64_t{attempt.pp}},
                     {"schedule", attempt.schedule},
                     {"version", attempt.version}};
  if (!resumed_from.empty()) fields.emplace_back("from", resumed_from);
  return metrics->event(step, resumed_from.empty() ? "start" : "resume", fields);
}

template <typename Metrics>
Status RunFiles::show(const Metrics& metrics) {
  return board_ ? board_->add(metrics.step, board_scalars(metrics)) : ckpt::ok_status();
}

Status RunFiles::step(const StepMetrics& values, bool due) {
  TITAN_RETURN_IF_ERROR(metrics->step(values));
  return due ? show(values) : ckpt::ok_status();
}

Status RunFiles::validated(const ValidationMetrics& values) {
  TITAN_RETURN_IF_ERROR(metrics->validation(values));
  return show(values);
}

Status RunFiles::saved(const SaveMetrics& values, EventFields fields) {
  const EventFields costs = {{"bytes", values.bytes},           {"seconds", values.seconds},
                             {"snapshot_s", values.snapshot_s}, {"stall_s", values.stall_s},
                             {"write_s", values.write_s},       {"publish_s", values.publish_s},
                             {"durable_s", values.durable_s},   {"gb_per_s", values.gb_per_s}};
  fields.insert(fields.end(), costs.begin(), costs.end());
  TITAN_RETURN_IF_ERROR(metrics->event(values.step, "save_commit", fields));
  return show(values);
}

Status RunFiles::trace(const std::string& folder, std::uint64_t step, const std::string& text) {
  const std::string path = ckpt::join_path(run_dir_, folder);
  TITAN_RETURN_IF_ERROR(ckpt::make_dirs(fs_, path));
  return replace_file(fs_, path, "step-" + std::to_string(step) + ".json", text);
}

Status RunFiles::sync() {
  TITAN_RETURN_IF_ERROR(metrics->sync());
  return board_ ? board_->sync() : ckpt::ok_status();
}

Status RunFiles::close() {
  const Status lines = metrics ? metrics->close() : ckpt::ok_status();
  const Status curves = board_ ? board_->close() : ckpt::ok_status();
  return lines.ok() ? curves : lines;
}

Status RunFiles::back_to(std::uint64_t step, std::uint32_t attempt) {
  TITAN_RETURN_IF_ERROR(metrics->close());
  TITAN_ASSIGN_OR_RETURN(metrics, MetricsFile::open(fs_, ckpt::join_path(run_dir_, "metrics.jsonl"), step, attempt));
  if (!board_) return ckpt::ok_status();
  TITAN_RETURN_IF_ERROR(board_->close());
  TITAN_ASSIGN_OR_RETURN(board_, EventFile::open(fs_, board_folder_, step));
  return ckpt::ok_status();
}

}  // namespace titan::train
