#include "ckpt/ops/list_runs.h"

#include <algorithm>
#include <charconv>
#include <span>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/run/run_resolve.h"

namespace titan::ckpt {
namespace {

constexpr std::uint64_t kTail = 64 << 10;  // bytes at the end of metrics.jsonl that are read: hundreds of lines

/// The number after `"key":`, as titan-train writes it.
template <typename T>
std::optional<T> field(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  T value{};
  const char* const begin = line.data() + at + key.size();
  const auto [end, error] = std::from_chars(begin, line.data() + line.size(), value);
  return error == std::errc{} ? std::optional<T>(value) : std::nullopt;
}

std::string tail_of(Fs& fs, const std::string& path) {
  const auto info = fs.stat(path);
  if (!info.ok() || info->type != FileType::kFile) return "";
  const auto file = fs.open_read(path);
  if (!file.ok()) return "";
  const std::uint64_t bytes = std::min(info->size, kTail);
  std::string text(bytes, '\0');
  return (*file)->pread(info->size - bytes, std::as_writable_bytes(std::span(text))).ok() ? text : "";
}

}  // namespace

std::optional<std::pair<std::uint64_t, double>> last_loss(std::string_view metrics) {
  std::size_t end = metrics.rfind('\n');  // a line without its end is ignored
  while (end != std::string_view::npos) {
    const std::size_t before = end == 0 ? std::string_view::npos : metrics.rfind('\n', end - 1);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::string_view line = metrics.substr(begin, end - begin);
    const auto step = field<std::uint64_t>(line, "\"step\":");
    const auto loss = field<double>(line, "\"loss\":");
    if (step && loss && line.find("\"event\":") == std::string_view::npos) return std::pair(*step, *loss);
    end = before;
  }
  return std::nullopt;
}

Result<std::vector<ListedRun>> list_runs(Fs& fs, const std::string& folder) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<DirEntry> entries, fs.list(folder));
  std::vector<ListedRun> runs;
  for (const DirEntry& entry : entries) {
    const std::string path = join_path(folder, entry.name);
    if (entry.type != FileType::kDirectory || !resolve_run(fs, path).ok()) continue;
    const Result<ListReport> listed = list_run(fs, path);
    if (!listed.ok()) continue;
    ListedRun run{.name = entry.name, .steps = listed->steps.size()};
    for (const ListedStep& step : listed->steps) {
      run.bytes += step.bytes;
      if (step.resume) run.resume = step.step;
    }
    if (!listed->steps.empty()) run.newest = listed->steps.front();
    if (const auto last = last_loss(tail_of(fs, join_path(path, "metrics.jsonl")))) {
      run.last_step = last->first;
      run.last_loss = last->second;
    }
    runs.push_back(std::move(run));
  }
  std::ranges::sort(runs, {}, &ListedRun::name);
  return runs;
}

}  // namespace titan::ckpt
