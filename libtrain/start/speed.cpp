#include "libtrain/start/speed.h"

#include <algorithm>

#include "ckpt/base/text.h"
#include "ckpt/format/json_reader.h"
#include "recipe/plan/run_config.h"

namespace titan::train {
namespace {

struct Line {
  std::uint32_t attempt = 0;
  std::string event;
  std::uint64_t dp = 0, pp = 0;
  double time_s = 0;
};

/// Nothing of a line that is torn or not ours.
Line read_line(const std::string& text) {
  Line line;
  ckpt::JsonReader in("a line of metrics.jsonl", text);
  in.object([&](std::string_view key) {
    if (key == "attempt")
      line.attempt = in.u32();
    else if (key == "event")
      line.event = in.text();
    else if (key == "dp")
      line.dp = in.u64();
    else if (key == "pp")
      line.pp = in.u64();
    else if (key == "time_s")
      line.time_s = in.real();
    else
      in.skip();
  });
  return in.finish().ok() ? line : Line{};
}

ckpt::Status read_metrics(ckpt::Fs& fs, const std::string& path, SpeedReader& reader) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::File> file, fs.open_read(path));
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t size, file->size());
  std::vector<std::byte> buffer(std::min(kPiece, size));
  for (std::uint64_t begin = 0; begin < size; begin += buffer.size()) {
    const std::span<std::byte> part = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), size - begin));
    TITAN_RETURN_IF_ERROR(file->pread(begin, part));
    reader.feed(ckpt::text_of(part));
  }
  return ckpt::ok_status();
}

/// What the newest start computed otherwise than `plan`, in a few words; empty: nothing.
std::string difference(const std::string& run_dir, const SpeedReader& metrics, const recipe::RunPlan& plan,
                       int threads) {
  const std::string mesh = std::to_string(metrics.dp()) + "x" + std::to_string(metrics.pp());
  if (metrics.dp() != plan.mesh.dp || metrics.pp() != plan.mesh.pp) return "ran on " + mesh;
  const auto loaded = recipe::load_run_config(ckpt::join_path(run_dir, "config.toml"), {});
  if (!loaded.ok()) return "left a config.toml that cannot be read";
  const auto earlier = recipe::make_run_plan(loaded->config, plan.mesh.world());
  if (!earlier.ok() || earlier->dims != plan.dims || earlier->bf16 != plan.bf16) return "trained another model";
  if (!(earlier->batch == plan.batch) || earlier->schedule != plan.schedule) return "had another batch or schedule";
  if (earlier->recompute_each != plan.recompute_each) return "recomputed other layers";
  // The file of a run that started says which library it took.
  const std::string& gemm = loaded->config.training.cpu_gemm;
  if (gemm != "auto" && gemm != recipe::gemm_name(plan.gemm)) return "had its products by " + gemm;
  if (earlier->loss_chunk != plan.loss_chunk) return "had another training.loss_chunk";
  const std::int64_t before = loaded->config.job.threads_per_rank;
  if (before > 0 && threads > 0 && before != threads)
    return "had " + std::to_string(before) + (before == 1 ? " thread a rank" : " threads a rank");
  return "";
}

}  // namespace

void SpeedReader::feed(std::string_view piece) {
  for (;;) {
    const std::size_t newline = piece.find('\n');
    line_ += piece.substr(0, newline);
    if (newline == std::string_view::npos) return;
    line_done();
    piece.remove_prefix(newline + 1);
  }
}

void SpeedReader::line_done() {
  const Line line = read_line(line_);
  line_.clear();
  if (line.event == "start" || line.event == "resume") {
    attempt_ = line.attempt;
    dp_ = line.dp;
    pp_ = line.pp;
    seen_ = 0;
    recent_.clear();
  } else if (line.event.empty() && line.attempt == attempt_ && line.time_s > 0 &&
             seen_++ > 0) {  // the first step of an attempt warms up
    if (recent_.size() == kSteps) recent_.erase(recent_.begin());
    recent_.push_back(line.time_s);
  }
}

double SpeedReader::median() const {
  if (recent_.empty()) return 0;
  std::vector<double> sorted = recent_;
  std::ranges::sort(sorted);
  return sorted[sorted.size() / 2];
}

SpeedGuess guess_speed(ckpt::Fs& fs, const std::string& run_dir, const recipe::RunPlan& plan, int threads) {
  SpeedGuess guess;
  SpeedReader metrics;
  if (!read_metrics(fs, ckpt::join_path(run_dir, "metrics.jsonl"), metrics).ok() || metrics.attempt() == 0)
    return guess;
  guess.attempt = metrics.attempt();
  if (const std::string other = difference(run_dir, metrics, plan, threads); !other.empty()) {
    guess.why_none = "attempt " + std::to_string(guess.attempt) + " " + other;
  } else if (metrics.steps() == 0) {
    guess.why_none = "attempt " + std::to_string(guess.attempt) + " has no step after its first";
  } else {
    guess.steps = metrics.steps();
    guess.seconds_per_step = metrics.median();
  }
  return guess;
}

}  // namespace titan::train
