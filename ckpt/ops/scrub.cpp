#include "ckpt/ops/scrub.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/quoting.h"
#include "ckpt/base/text.h"
#include "ckpt/run/run_check.h"
#include "ckpt/run/run_folder.h"
#include "ckpt/run/run_resolve.h"
#include "ckpt/store/destination.h"
#include "ckpt/store/parent_folder.h"
#include "ckpt/store/put_file.h"

namespace titan::ckpt {
namespace {

constexpr std::uint64_t kMostStatus = std::uint64_t{16} << 20;
constexpr std::uint64_t kStatusEach = 5;  // seconds between two writes of the status file
constexpr double kNap = 0.2;              // seconds between two checks for a stop

std::string label_of(std::string_view line, const std::string& name) {
  const std::size_t at = line.find(name + "=\"");
  return at == std::string_view::npos ? "" : unquoted_label(line.substr(at + name.size() + 1));
}

class Scrubber {
 public:
  Scrubber(Fs& fs, const ScrubOptions& options) : fs_(fs), options_(options) {}

  Result<ScrubReport> run() {
    TITAN_ASSIGN_OR_RETURN(const std::string folder, resolve_run(fs_, options_.run));
    TITAN_ASSIGN_OR_RETURN(const RunScan scan, scan_run(fs_, folder));
    if (scan.steps.empty())
      return not_found(folder + ": no checkpoint there").with_hint("`titan-ckpt ls` shows what is in a run folder");
    TITAN_RETURN_IF_ERROR(begin_round(scan));
    TITAN_RETURN_IF_ERROR(write());
    for (auto step = scan.steps.rbegin(); step != scan.steps.rend(); ++step)
      if (!is_done(*step)) TITAN_RETURN_IF_ERROR(verify(*step));
    report_.status.complete = true;
    report_.unwritten = write();
    return std::move(report_);
  }

 private:
  static Digest id_of(const StepEntry& step) { return step.manifest ? step.manifest->id : Digest{}; }

  bool is_done(const StepEntry& step) const {
    const std::vector<ScrubbedStep>& done = report_.status.done;
    return std::any_of(done.begin(), done.end(), [&](const ScrubbedStep& one) {
      return one.step == step.step && one.id == id_of(step) && one.id != Digest{};
    });
  }

  /// Reads the status file that will be replaced, if it belongs to this run.
  Status read_status(const std::string& run) {
    TITAN_ASSIGN_OR_RETURN(const Parent parent, find_parent(fs_, options_.status));
    if (parent.missing) return no_folder(options_.status, parent.path);
    TITAN_ASSIGN_OR_RETURN(const std::optional<std::string> text, text_to_replace(fs_, options_.status, kMostStatus));
    if (text == "") return ok_status();
    std::optional<ScrubStatus> status;
    if (text) status = parse_scrub(*text);
    if (!status)
      return invalid(options_.status + " exists and is no status of `scrub`: it is never replaced")
          .with_hint("choose another name, or move it away");
    const Result<std::string> folder = fs_.real_path(parent_path(options_.status));
    if (status->run != run && (!folder.ok() || *folder != run))
      return invalid(options_.status + " is the status of the run in " + status->run + ", not of " + run +
                     ": it is never replaced")
          .with_hint("choose another name, or move it away");
    report_.status = std::move(*status);
    return ok_status();
  }

  /// Takes over the results of an earlier call if its round is not complete, except for steps that no longer exist.
  Status begin_round(const RunScan& scan) {
    TITAN_ASSIGN_OR_RETURN(const std::string run, fs_.real_path(options_.run));
    TITAN_RETURN_IF_ERROR(read_status(run));
    TITAN_RETURN_IF_ERROR(remove_stale_temporaries(fs_, options_.status));
    ScrubStatus& status = report_.status;
    if (status.complete || status.run != run) status.done.clear();
    const auto gone = [&](const ScrubbedStep& one) {
      return std::none_of(scan.steps.begin(), scan.steps.end(),
                          [&](const StepEntry& step) { return step.step == one.step && id_of(step) == one.id; });
    };
    status.done.erase(std::remove_if(status.done.begin(), status.done.end(), gone), status.done.end());
    status.run = run;
    status.steps = scan.steps.size();
    status.bytes = 0;
    status.complete = false;
    report_.before = status.done.size();
    report_.verified.is_run = true;
    return ok_status();
  }

  Status verify(const StepEntry& step) {
    if (options_.begin) options_.begin(step.path);
    std::uint64_t seen = 0;
    start_ = std::chrono::steady_clock::now();
    slept_ = 0;
    VerifyOptions options;
    options.target = step.path;
    options.threads = options_.threads;
    options.cancel = options_.cancel;
    options.progress = [&](std::uint64_t done, std::uint64_t total) {
      report_.status.bytes += done - seen;
      seen = done;
      slow_down(done);
      if (options_.progress) options_.progress(done, total);
      if (options_.now() >= report_.status.at + kStatusEach) (void)write();  // an error shows at the next write
    };
    const Result<VerifySummary> found = verify_target(fs_, options);
    if (found.status().code == Code::kNotFound) {  // retention may have deleted it meanwhile
      report_.verified.deleted.push_back(step.path);
      return ok_status();
    }
    TITAN_RETURN_IF_ERROR(found.status());
    // An earlier call of the round may have verified it, too: a step without a readable manifest is never done.
    std::erase_if(report_.status.done,
                  [&](const ScrubbedStep& one) { return one.step == step.step && one.id == id_of(step); });
    report_.status.done.push_back({step.step, id_of(step), found->damage, found->unreadable_places, options_.now()});
    for (const VerifiedStep& one : found->steps) report_.verified.add(one);
    (void)write();  // an error shows at the next write
    return ok_status();
  }

  /// Sleeps until `done` bytes of the step are within the rate.
  void slow_down(std::uint64_t done) {
    if (options_.rate == 0) return;
    const double due = static_cast<double>(done) / static_cast<double>(options_.rate);
    while (!options_.cancel.stopped()) {
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start_;
      const double left = due - slept_ - taken.count();
      if (left <= 0) return;
      const double nap = std::min(left, kNap);
      if (options_.sleep) {
        options_.sleep(nap);
        slept_ += nap;  // in a test no time passes
      } else {
        std::this_thread::sleep_for(std::chrono::duration<double>(nap));
      }
    }
  }

  Status write() {
    report_.status.at = options_.now();
    return put_file(fs_, options_.status, scrub_text(report_.status), Lasting::kWhole);
  }

  Fs& fs_;
  const ScrubOptions& options_;
  ScrubReport report_;
  std::chrono::steady_clock::time_point start_;  // when the step began
  double slept_ = 0;
};

}  // namespace

std::string scrub_text(const ScrubStatus& status) {
  std::string text;
  const std::string run = "run=" + quoted_label(status.run);
  const auto head = [&](const std::string& name, const char* help) {
    text += "# HELP " + name + " " + help + "\n# TYPE " + name + " gauge\n";
  };
  const auto line = [&](const std::string& name, const std::string& labels, std::uint64_t value) {
    text += name + "{" + run + labels + "} " + std::to_string(value) + "\n";
  };
  const auto one = [&](const std::string& name, const char* help, std::uint64_t value) {
    head(name, help);
    line(name, "", value);
  };
  std::uint64_t damage = 0, unreadable = 0;
  for (const ScrubbedStep& step : status.done) {
    damage += step.damage;
    unreadable += step.unreadable;
  }
  one("titan_scrub_steps", "Steps of the run.", status.steps);
  one("titan_scrub_steps_verified", "Of these, in this round.", status.done.size());
  one("titan_scrub_damaged_places", "Found in this round.", damage);
  one("titan_scrub_unreadable_places", "Found in this round.", unreadable);
  one("titan_scrub_complete", "1: nothing is left of this round.", status.complete ? 1 : 0);
  one("titan_scrub_read_bytes", "By the present call.", status.bytes);
  one("titan_scrub_timestamp_seconds", "When this file was written.", status.at);
  for (const auto& [name, help, value] :
       {std::tuple("titan_scrub_step_timestamp_seconds", "When the step was verified.", &ScrubbedStep::at),
        std::tuple("titan_scrub_step_damaged_places", "Of the step.", &ScrubbedStep::damage),
        std::tuple("titan_scrub_step_unreadable_places", "Of the step.", &ScrubbedStep::unreadable)}) {
    if (status.done.empty()) continue;
    head(name, help);
    for (const ScrubbedStep& step : status.done)
      line(name, ",step=\"" + std::to_string(step.step) + "\",id=\"" + step.id.hex() + "\"", step.*value);
  }
  return text;
}

std::optional<ScrubStatus> parse_scrub(std::string_view text) {
  ScrubStatus status;
  std::map<std::pair<std::uint64_t, std::string>, ScrubbedStep> steps;
  for (const std::string& line : split(text, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t end = line.rfind("} ");
    const std::string name = line.substr(0, line.find('{')), run = label_of(line, "run");
    if (end == std::string::npos || !name.starts_with("titan_scrub_") || run.empty()) return std::nullopt;
    const auto value = number_of<std::uint64_t>(line.substr(end + 2));
    if (!value || (!status.run.empty() && run != status.run)) return std::nullopt;
    status.run = run;
    if (name == "titan_scrub_steps") status.steps = *value;
    if (name == "titan_scrub_complete") status.complete = *value == 1;
    if (name == "titan_scrub_read_bytes") status.bytes = *value;
    if (name == "titan_scrub_timestamp_seconds") status.at = *value;
    const auto step = number_of<std::uint64_t>(label_of(line, "step"));
    const auto id = digest_from_hex(label_of(line, "id"));
    if (!step || !id) continue;
    ScrubbedStep& one = steps[{*step, id->hex()}];
    one.step = *step;
    one.id = *id;
    if (name == "titan_scrub_step_timestamp_seconds") one.at = *value;
    if (name == "titan_scrub_step_damaged_places") one.damage = *value;
    if (name == "titan_scrub_step_unreadable_places") one.unreadable = *value;
  }
  if (status.run.empty()) return std::nullopt;
  for (const auto& [key, one] : steps) status.done.push_back(one);
  return status;
}

Result<ScrubReport> scrub_run(Fs& fs, const ScrubOptions& options) { return Scrubber(fs, options).run(); }

}  // namespace titan::ckpt
