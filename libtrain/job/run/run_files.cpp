#include "libtrain/job/run/run_files.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/store/put_file.h"
#include "ckpt/store/store_probe.h"
#include "libtrain/job/metrics/board_tags.h"
#include "libtrain/job/metrics/log.h"
#include "libtrain/job/metrics/status_place.h"
#include "recipe/keys/config.h"
#include "recipe/keys/writer.h"
#include "recipe/model/rope_scaling.h"

namespace titan::train {

using ckpt::Result;
using ckpt::Status;

constexpr std::chrono::milliseconds kAgain{500};  // between queries to a store that refuses

Status replace_file(ckpt::Fs& fs, const std::string& dir, const std::string& name, const std::string& text) {
  const std::string path = ckpt::join_path(dir, name);
  TITAN_RETURN_IF_ERROR(ckpt::remove_stale_temporaries(fs, path));
  return ckpt::put_file(fs, path, text, ckpt::Lasting::kYes);
}

Result<std::unique_ptr<RunFiles>> RunFiles::open(ckpt::Fs& fs, const recipe::Config& config,
                                                 const std::string& checkpoint_dir) {
  std::unique_ptr<RunFiles> files(new RunFiles(fs));
  files->run_dir_ = config.job.dump_folder;
  // A run without checkpoints creates no folder for them.
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
                       const std::string& resumed_from, bool durable) {
  TITAN_RETURN_IF_ERROR(check_status_place(fs_, config));
  recipe::Config lasting = config;
  lasting.debug.stop_at_step.reset();  // applies to one start only: with it, a start from this file would stop at once
  if (!lasting.model.rope_scaling)
    lasting.model.rope_scaling = recipe::kPlainRope;  // explicit, for readers of the model from this file
  TITAN_RETURN_IF_ERROR(replace_file(fs_, run_dir_, "config.toml", recipe::config_toml(lasting)));
  if (config.metrics.enable_tensorboard) board_folder_ = ckpt::join_path(run_dir_, config.metrics.save_tb_folder);
  TITAN_RETURN_IF_ERROR(open_at(step, attempt.number));
  EventFields fields{{"dp", std::uint64_t{attempt.dp}},
                     {"pp", std::uint64_t{attempt.pp}},
                     {"schedule", attempt.schedule},
                     {"version", attempt.version}};
  if (!resumed_from.empty()) fields.emplace_back("from", resumed_from);
  TITAN_RETURN_IF_ERROR(metrics_->event(step, resumed_from.empty() ? "start" : "resume", fields));
  background_ = std::make_unique<BackgroundWriter>(BackgroundWriter::Options{
      .what = ckpt::join_path(run_dir_, "metrics.jsonl") + (board_ ? " or " + board_folder_ : ""), .say = log_warn});
  metrics_->write_through(background_.get());
  if (board_) board_->write_through(background_.get());
  if (const auto& name = config.metrics.status_file) {
    RunStatus status{run_dir_, attempt.number};
    if (!resumed_from.empty() && durable) status.durable = step;
    const std::string path = status_path(run_dir_, *name);
    if (!name->starts_with('/')) TITAN_RETURN_IF_ERROR(ckpt::make_dirs(fs_, ckpt::parent_path(path)));
    status_ = std::make_shared<StatusFile>(fs_, path, std::move(status), *background_);
    status_->write_soon();
  }
  return ckpt::ok_status();
}

Status RunFiles::open_at(std::uint64_t step, std::uint32_t attempt) {
  TITAN_ASSIGN_OR_RETURN(metrics_, MetricsFile::open(fs_, ckpt::join_path(run_dir_, "metrics.jsonl"), step, attempt));
  metrics_->write_through(background_.get());
  if (board_folder_.empty()) return ckpt::ok_status();
  TITAN_ASSIGN_OR_RETURN(board_, EventFile::open(fs_, board_folder_, step));
  board_->write_through(background_.get());
  return ckpt::ok_status();
}

template <typename Metrics>
void RunFiles::show(const Metrics& metrics) {
  if (board_) (void)board_->add(metrics.step, board_scalars(metrics));
}

void RunFiles::step(const StepMetrics& values, bool due) {
  (void)metrics_->step(values);
  if (status_) status_->step(values);
  if (due) show(values);
}

void RunFiles::validated(const ValidationMetrics& values) {
  (void)metrics_->validation(values);
  show(values);
}

void RunFiles::saved(const SaveMetrics& values, EventFields fields) {
  const EventFields costs = {{"bytes", values.bytes},           {"seconds", values.seconds},
                             {"snapshot_s", values.snapshot_s}, {"stall_s", values.stall_s},
                             {"write_s", values.write_s},       {"publish_s", values.publish_s},
                             {"durable_s", values.durable_s},   {"gb_per_s", values.gb_per_s}};
  fields.insert(fields.end(), costs.begin(), costs.end());
  event(values.step, "save_commit", fields);
  if (status_) status_->saved(values.step);
  show(values);
  background_->add(BackgroundWriter::Keep::kAlways, 0, [metrics = metrics_] { return metrics->sync(); });
}

void RunFiles::event(std::uint64_t step, std::string_view name, const EventFields& fields) {
  (void)metrics_->event(step, name, fields);
  if (status_) status_->event(name, fields);
}

void RunFiles::parameter_norms(std::uint64_t step, const std::vector<std::string>& names,
                               const std::vector<double>& norms) {
  (void)metrics_->parameter_norms(step, names, norms);
}

void RunFiles::trace(const std::string& folder, std::uint64_t step, std::string text) {
  const std::string path = ckpt::join_path(run_dir_, folder);
  const std::size_t bytes = text.size();
  background_->add(BackgroundWriter::Keep::kWhileThereIsRoom, bytes, [&fs = fs_, path, step, text = std::move(text)] {
    Status status = ckpt::make_dirs(fs, path);
    if (status.ok()) status = replace_file(fs, path, "step-" + std::to_string(step) + ".json", text);
    // A refused trace is not retried, since log lines wait for it in the queue.
    if (!status.ok()) log_warn("no trace of step " + std::to_string(step) + ": " + log_text(status));
    return ckpt::ok_status();
  });
}

std::shared_ptr<const std::atomic<StoreAnswer>> RunFiles::ask_store(const std::string& folder, std::uint64_t bytes) {
  const auto answer = std::make_shared<std::atomic<StoreAnswer>>(StoreAnswer::kNoneYet);
  background_->add(BackgroundWriter::Keep::kAlways, 0, [&fs = fs_, folder, bytes, answer] {
    const auto free = fs.free_bytes(folder);
    const bool takes = free.ok() && *free >= bytes && ckpt::probe_store(fs, folder).ok();
    *answer = takes ? StoreAnswer::kYes : StoreAnswer::kNo;
    return ckpt::ok_status();
  });
  return answer;
}

Status RunFiles::sync(std::chrono::milliseconds timeout) {
  return background_->sync(
      [metrics = metrics_, board = board_] {
        TITAN_RETURN_IF_ERROR(metrics->sync());
        return board ? board->sync() : ckpt::ok_status();
      },
      timeout);
}

Status RunFiles::close(std::chrono::milliseconds timeout) {
  if (!background_) return ckpt::ok_status();
  if (status_) status_->write_soon();
  return background_->sync(
      [metrics = metrics_, board = board_] {
        const Status lines = metrics->close();
        const Status curves = board ? board->close() : ckpt::ok_status();
        return lines.ok() ? curves : lines;
      },
      timeout);
}

Status RunFiles::back_to(std::uint64_t step, std::uint32_t attempt, std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + timeout;
  const auto left = [until] {
    return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()), kAgain);
  };
  const auto patiently = [until](const std::function<Status()>& part) {
    Status status = part();
    while (status.store_refused() && Clock::now() + kAgain < until) {
      std::this_thread::sleep_for(kAgain);
      status = part();
    }
    return status;
  };
  TITAN_RETURN_IF_ERROR(patiently([&] { return sync(left()); }));
  TITAN_RETURN_IF_ERROR(close(left()));
  return patiently([&] { return open_at(step, attempt); });
}

}  // namespace titan::train
