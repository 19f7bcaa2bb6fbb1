#include "libtrain/job/metrics/status_place.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/quoting.h"
#include "ckpt/base/text.h"
#include "ckpt/store/destination.h"
#include "recipe/keys/config.h"

namespace titan::train {
namespace {

constexpr std::uint64_t kMostStatus = std::uint64_t{1} << 20;  // bytes

/// Whether this is a line or comment of a run's status file. Metrics of `titan-ckpt scrub` are not: they belong to
/// another file.
bool is_line(const std::string& line) {
  return line.empty() || line[0] == '#' ||
         (line.starts_with("titan_") && !line.starts_with("titan_scrub_") &&
          line.find("{run=\"") != std::string::npos && line.find("} ") != std::string::npos);
}

bool is_status(const std::vector<std::string>& lines) {
  return std::all_of(lines.begin(), lines.end(), is_line) &&
         std::any_of(lines.begin(), lines.end(), [](const std::string& line) { return line.starts_with("titan_"); });
}

/// The run named in a status text; empty if there is none.
std::string run_of(std::string_view text) {
  constexpr std::string_view kLabel = "{run=";
  const std::size_t at = text.find(kLabel);
  return at == std::string_view::npos ? "" : ckpt::unquoted_label(text.substr(at + kLabel.size()));
}

/// Whether two paths name the same run; one of them may be relative to an unknown folder.
bool is_same_run(const std::string& a, const std::string& b) {
  return a == b || a.ends_with("/" + b) || b.ends_with("/" + a);
}

/// The path of `name` relative to the run folder; empty if it is elsewhere.
std::string below_run(ckpt::Fs& fs, const std::string& run, const std::string& name) {
  namespace stdfs = std::filesystem;
  const auto real_or_same = [&fs](const std::string& folder) {
    const ckpt::Result<std::string> real = fs.real_path(folder);
    return real.ok() ? *real : folder;
  };
  const std::string folder = real_or_same(run);
  const std::string path = name.starts_with('/') ? name : ckpt::join_path(folder, name);
  const stdfs::path file =
      stdfs::path(ckpt::join_path(real_or_same(ckpt::parent_path(path)), ckpt::base_name(path))).lexically_normal();
  const std::string relative = file.lexically_relative(stdfs::path(folder).lexically_normal()).generic_string();
  return relative.empty() || relative == "." || relative == ".." || relative.starts_with("../") ? "" : relative;
}

/// Whether the run itself writes `below`, a path in its folder, or a folder that contains it.
bool written_by_run(const recipe::Config& config, const std::string& below) {
  const std::string_view first = std::string_view(below).substr(0, below.find('/'));
  for (const std::string_view file : {"config.toml", "metrics.jsonl", "run.lock", "on_publish.done", "on_publish.log"})
    if (first == file || first.starts_with(std::string(file) + ".")) return true;
  for (const std::string& folder : {std::string("cache"), std::string("logs"), config.checkpoint.folder,
                                    config.metrics.save_tb_folder, config.profiling.save_traces_folder}) {
    const std::string own = std::filesystem::path(folder + "/").lexically_normal().generic_string();
    if (below + "/" == own || (own != "./" && below.starts_with(own))) return true;
  }
  return false;
}

}  // namespace

std::string status_path(const std::string& run_dir, const std::string& name) {
  return name.starts_with('/') ? name : ckpt::join_path(run_dir, name);
}

ckpt::Status check_status_place(ckpt::Fs& fs, const recipe::Config& config) {
  if (!config.metrics.status_file) return ckpt::ok_status();
  const std::string& run = config.job.dump_folder;
  const std::string path = status_path(run, *config.metrics.status_file);
  const std::string below = below_run(fs, run, *config.metrics.status_file);
  if (written_by_run(config, below))
    return ckpt::invalid("metrics.status_file is " + path + ", where the run writes its own files")
        .with_hint("name a file of its own, as in metrics.status_file = \"status.prom\"");
  const ckpt::Result<std::optional<std::string>> text = ckpt::text_to_replace(fs, path, kMostStatus);
  if (text.status().code == ckpt::Code::kInvalid) return text.status().wrapped("metrics.status_file cannot be used");
  if (!text.ok()) return text.status();
  const std::string there = "metrics.status_file is " + path + ", which exists and is ";
  if (!*text || (!(*text)->empty() && !is_status(ckpt::split(**text, '\n'))))
    return ckpt::invalid(there + "no status of a run: it is never replaced")
        .with_hint("choose another name, or move it away");
  const std::string other = run_of(**text);
  // The status file of a run that was moved belongs to it.
  if (other.empty() || !below.empty() || is_same_run(other, run)) return ckpt::ok_status();
  return ckpt::invalid(there + "the status of the run " + other + ": it is never replaced")
      .with_hint("choose another name, or move it away");
}

}  // namespace titan::train
