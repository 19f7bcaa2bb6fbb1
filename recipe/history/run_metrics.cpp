#include "recipe/history/run_metrics.h"

#include <algorithm>
#include <memory>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "ckpt/store/named_file.h"
#include "recipe/history/metrics_history.h"

namespace titan::recipe {
namespace {

using ckpt::Result;
using ckpt::Status;

constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
constexpr std::size_t kLongestLine = std::size_t{1} << 20;  // bytes; titan-train writes no longer line

/// Cuts its input into lines. `take` gets each line without its newline; for a line that is too long, it gets an empty
/// one.
class Lines {
 public:
  template <typename Take>
  void feed(std::string_view piece, Take take) {
    for (;;) {
      const std::size_t newline = piece.find('\n');
      const std::string_view part = piece.substr(0, newline);
      if (newline == std::string_view::npos) {
        keep(part);
        return;
      }
      if (kept_.empty() && !too_long_) {
        take(part);
      } else {
        keep(part);
        take(too_long_ ? std::string_view() : std::string_view(kept_));
        kept_.clear();
        too_long_ = false;
      }
      piece.remove_prefix(newline + 1);
    }
  }
  /// The text after the last newline.
  std::string_view rest() const { return kept_; }
  bool has_rest() const { return too_long_ || !kept_.empty(); }

 private:
  void keep(std::string_view part) {
    if (kept_.size() + part.size() > kLongestLine) too_long_ = true;
    if (too_long_) {
      kept_.clear();
    } else {
      kept_ += part;
    }
  }
  std::string kept_;
  bool too_long_ = false;
};

template <typename Take>
Result<Lines> each_line(ckpt::File& file, std::uint64_t size, Take take) {
  Lines lines;
  std::vector<std::byte> buffer(std::min(kPiece, size));
  for (std::uint64_t begin = 0; begin < size; begin += buffer.size()) {
    const std::span<std::byte> part = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), size - begin));
    TITAN_RETURN_IF_ERROR(file.pread(begin, part));
    lines.feed(ckpt::text_of(part), take);
  }
  return lines;
}

std::string count_of(std::uint64_t count, const char* one, const char* many) {
  return std::to_string(count) + (count == 1 ? one : many);
}

bool is_file(ckpt::Fs& fs, const std::string& path) {
  const Result<ckpt::FileInfo> info = ckpt::stat_target(fs, path);
  return info.ok() && info->type == ckpt::FileType::kFile;
}

}  // namespace

std::vector<std::string> MetricsProblems::notes(const std::string& path) const {
  std::vector<std::string> notes;
  if (torn_end) notes.push_back(path + ": the last line is cut off and left out");
  if (unreadable > 0)
    notes.push_back(path + ": " + count_of(unreadable, " line", " lines") + " cannot be read and " +
                    (unreadable == 1 ? "is" : "are") + " left out; the first is line " +
                    std::to_string(first_unreadable));
  if (out_of_order > 0)
    notes.push_back(path + ": " + count_of(out_of_order, " line has", " lines have") +
                    " a step that does not rise, and " + (out_of_order == 1 ? "is" : "are") + " left out");
  return notes;
}

Result<std::string> find_metrics(ckpt::Fs& fs, const std::string& run) {
  const std::string name = "metrics.jsonl", inside = ckpt::join_path(run, name);
  if (is_file(fs, inside)) return inside;
  if (is_file(fs, run)) return run;
  const Result<std::string> real = fs.real_path(run);
  if (!real.ok()) {
    Status missing = ckpt::not_found("there is no run folder " + run);
    const std::size_t at = run.rfind('@');
    if (at == std::string::npos || at == 0) return missing;
    return missing.with_hint("a run as a whole is meant: " + run.substr(0, at));
  }
  const std::string sibling = ckpt::join_path(ckpt::parent_path(*real), name);
  if (ckpt::base_name(*real) == "checkpoint" && is_file(fs, sibling)) return sibling;
  return ckpt::not_found(run + " has no metrics.jsonl")
      .with_hint(
          "give the run folder of titan-train (job.dump_folder): a run writes its metrics.jsonl there from the "
          "first step on");
}

Result<MetricsProblems> read_metrics(ckpt::Fs& fs, const std::string& path,
                                     const std::function<void(const MetricsLine&)>& take) {
  // Follows a link, with which a user may have replaced the file.
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::File> file, ckpt::open_target(fs, path));
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t size, file->size());
  HistoryScan scan;
  TITAN_ASSIGN_OR_RETURN(const Lines first, each_line(*file, size, [&](std::string_view line) { scan.line(line); }));
  MetricsProblems problems;
  HistoryFilter filter(scan.cuts());
  const auto judge = [&](const MetricsLine& line) {
    switch (filter.judge(problems.lines - 1, line)) {
      case HistoryFilter::Counts::kYes: take(line); break;
      case HistoryFilter::Counts::kDoneAgain: ++problems.done_again; break;
      case HistoryFilter::Counts::kOutOfOrder: ++problems.out_of_order; break;
    }
  };
  TITAN_ASSIGN_OR_RETURN(const Lines second, each_line(*file, size, [&](std::string_view text) {
                           ++problems.lines;
                           if (const std::optional<MetricsLine> line = read_metrics_line(text)) {
                             judge(*line);
                           } else if (problems.unreadable++ == 0) {
                             problems.first_unreadable = problems.lines;
                           }
                         }));
  if (!second.has_rest()) return problems;
  ++problems.lines;
  // A complete object without a newline counts: an editor may have removed the newline.
  if (const std::optional<MetricsLine> line = read_metrics_line(second.rest())) {
    judge(*line);
  } else {
    problems.torn_end = true;
  }
  return problems;
}

}  // namespace titan::recipe
