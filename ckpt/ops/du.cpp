#include "ckpt/ops/du.h"

#include <algorithm>
#include <map>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/format/member_names.h"
#include "ckpt/format/parity_file.h"
#include "ckpt/model/tensor_meta.h"
#include "ckpt/ops/links.h"
#include "ckpt/ops/prune.h"
#include "ckpt/ops/thin.h"
#include "ckpt/run/run_check.h"
#include "ckpt/run/run_resolve.h"

namespace titan::ckpt {
namespace {

// In the order in which they are printed.
constexpr const char* kRows[] = {kModel,          kOptimizer,  "state", "files of the model", "parity", "invalid steps",
                                 "damaged steps", "leftovers", "other", "logs and metrics"};

/// The row for an entry of a step's folder.
std::string row_of(const DirEntry& entry) {
  if (entry.type != FileType::kDirectory) return "state";
  const bool own = entry.name == kModel || entry.name == kOptimizer || is_parity(entry.name + "/");
  return own ? entry.name : "files of the model";
}

using Places = std::map<std::string, std::vector<std::string>>;  // by row

void add_step(Fs& fs, const StepEntry& step, Places& places) {
  if (step.linked) return;
  if (!step.validity.ok()) {
    places["invalid steps"].push_back(step.path);
    return;
  }
  const Result<std::vector<DirEntry>> entries = fs.list(step.path);
  if (!entries.ok()) return;
  for (const DirEntry& entry : *entries) places[row_of(entry)].push_back(join_path(step.path, entry.name));
}

/// Adds everything in the run's folder except the folder of its steps.
void add_run_files(Fs& fs, const std::string& run, const std::string& folder, Places& places) {
  if (folder == run) return;
  const Result<std::vector<DirEntry>> entries = fs.list(run);
  if (!entries.ok()) return;
  for (const DirEntry& entry : *entries)
    if (entry.name != base_name(folder)) places["logs and metrics"].push_back(join_path(run, entry.name));
}

std::uint64_t freed_by(Fs& fs, const RunScan& scan, const PruneRules& rules) {
  Links lost;
  const std::vector<PruneVerdict> verdicts = plan_prune(scan, rules);
  for (std::size_t i = 0; i < scan.steps.size(); ++i) {
    const StepEntry& step = scan.steps[i];
    if (verdicts[i].goes && !step.linked) lost.add(fs, step.path);
    if (verdicts[i].thins)
      for (const std::string& member : thinned_members(*step.manifest)) lost.add(fs, join_path(step.path, member));
  }
  return lost.freed();
}

std::uint64_t freed_names(Fs& fs, const std::string& folder, const std::vector<std::string>& names) {
  Links lost;
  for (const std::string& name : names)
    if (!is_pinned(fs, join_path(folder, name))) lost.add(fs, join_path(folder, name));
  return lost.freed();
}

std::vector<DiskWay> ways_of(Fs& fs, const std::string& folder, const RunScan& scan) {
  std::vector<DiskWay> ways{{"--keep-last 1", freed_by(fs, scan, {.keep_last = 1})},
                            {"--thin 1", freed_by(fs, scan, {.thin = 1})},
                            {"--damaged", freed_names(fs, folder, scan.damaged)},
                            {"", freed_names(fs, folder, scan.leftovers)}};
  std::erase_if(ways, [](const DiskWay& way) { return way.frees == 0; });
  return ways;
}

Result<RunDisk> disk_of(Fs& fs, const std::string& run, Links& all) {
  RunDisk disk;
  disk.run = run;
  TITAN_ASSIGN_OR_RETURN(disk.folder, resolve_run(fs, run));
  TITAN_ASSIGN_OR_RETURN(const RunScan scan, scan_run(fs, disk.folder));
  Places places;
  for (const StepEntry& step : scan.steps) {
    ++disk.steps;
    disk.full += step.validity.ok() && step.full;
    add_step(fs, step, places);
  }
  for (const auto& [row, names] : {std::pair("damaged steps", &scan.damaged), std::pair("leftovers", &scan.leftovers),
                                   std::pair("other", &scan.foreign)})
    for (const std::string& name : *names) places[row].push_back(join_path(disk.folder, name));
  add_run_files(fs, run, disk.folder, places);
  for (const char* name : kRows) {
    const std::uint64_t files = all.names(), bytes = all.bytes(), once = all.once();
    for (const std::string& place : places[name]) all.add(fs, place);
    if (all.names() > files) disk.rows.push_back({name, all.names() - files, all.bytes() - bytes, all.once() - once});
  }
  disk.ways = ways_of(fs, disk.folder, scan);
  return disk;
}

}  // namespace

Result<DuReport> disk_of_runs(Fs& fs, const std::vector<std::string>& runs) {
  DuReport report;
  Links all;
  for (const std::string& run : runs) {
    TITAN_ASSIGN_OR_RETURN(RunDisk disk, disk_of(fs, run, all));
    report.runs.push_back(std::move(disk));
  }
  report.bytes = all.bytes();
  report.once = all.once();
  return report;
}

}  // namespace titan::ckpt
