#include "libtrain/job/metrics/status_place.h"

#include <algorithm>

#include "ckpt/base/text.h"
#include "ckpt/store/destination.h"

namespace titan::train {
namespace {

constexpr std::uint64_t kMostStatus = std::uint64_t{1} << 20;  // bytes

/// A line of a run's status, or a comment of one. Those of `titan-ckpt scrub` are another file's.
bool is_line(const std::string& line) {
  return line.empty() || line[0] == '#' ||
         (line.starts_with("titan_") && !line.starts_with("titan_scrub_") &&
          line.find("{run=\"") != std::string::npos && line.find("} ") != std::string::npos);
}

bool is_status(const std::vector<std::string>& lines) {
  return std::all_of(lines.begin(), lines.end(), is_line) &&
         std::any_of(lines.begin(), lines.end(), [](const std::string& line) { return line.starts_with("titan_"); });
}

}  // namespace

std::string status_path(const std::string& run_dir, const std::string& name) {
  return name.starts_with('/') ? name : ckpt::join_path(run_dir, name);
}

ckpt::Status check_status_place(ckpt::Fs& fs, const std::string& path) {
  const ckpt::Result<std::optional<std::string>> text = ckpt::text_to_replace(fs, path, kMostStatus);
  if (text.status().code == ckpt::Code::kInvalid) return text.status().wrapped("metrics.status_file cannot be used");
  if (!text.ok()) return text.status();
  if (*text && ((*text)->empty() || is_status(ckpt::split(**text, '\n')))) return ckpt::ok_status();
  return ckpt::invalid("metrics.status_file is " + path +
                       ", which exists and is no status of a run: it is never replaced")
      .with_hint("choose another name, or move it away");
}

}  // namespace titan::train
