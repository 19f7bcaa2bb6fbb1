#include "ckpt/base/printed.h"
#include "cli/titan_ckpt/verbs.h"

#include <ctime>

#include "ckpt/base/path.h"
#include "ckpt/ops/scrub.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"
#include "cli/kit/work.h"
#include "cli/titan_ckpt/verify.h"

namespace titan::cli {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000, kMostRate = 1'000'000;  // MB/s

std::string scrub_text(const ckpt::ScrubReport& report, const TextStyle& style) {
  std::string out = verify_text(report.verified, style);
  if (report.before == 0) return out;
  out += "before  " + ckpt::counted(report.before, "step") + " of this round";
  std::string damaged;
  for (std::size_t i = 0; i < report.before; ++i)
    if (report.status.done[i].damage > 0) damaged += " " + std::to_string(report.status.done[i].step);
  return out + (damaged.empty() ? "" : "; damaged:" + damaged) + "\n";
}

std::string scrub_json(const std::string& run, const ckpt::ScrubReport& report) {
  JsonOut json("titan.scrub/1");
  json.path("run", run);
  json.members("steps", report.status.steps, "before", report.before, "bytes", report.status.bytes);
  json.each("verified", report.status.done, [&](const ckpt::ScrubbedStep& step) {
    json.count("step", step.step);
    digest_json(json, "id", step.id);
    json.members("damage", step.damage, "unreadable", step.unreadable, "time", step.at);
  });
  json.each("deleted", report.verified.deleted, [&](const std::string& path) { json.path("path", path); });
  return json.document();
}

}  // namespace

ckpt::Result<Answer> run_scrub(const Request& request) {
  const Command& command = request.command;
  ckpt::ScrubOptions options;
  options.run = ckpt::without_slashes(command.positionals[0]);
  options.status = command.value("status").value_or(ckpt::join_path(options.run, "scrub.prom"));
  if (options.status.empty()) return ckpt::invalid("`--status` is empty, expected the name of a file");
  TITAN_RETURN_IF_ERROR(
      read_flag(command, "rate", "a number of MB/s, as 100", number_from<std::uint64_t>(1, kMostRate), options.rate));
  options.rate *= kMegabyte;
  TITAN_ASSIGN_OR_RETURN(options.threads, thread_count(command));
  if (options.threads == 0) options.threads = 1;
  options.now = [] { return static_cast<std::uint64_t>(std::time(nullptr)); };
  const Work work(request, options, "scrub ");
  TITAN_ASSIGN_OR_RETURN(const ckpt::ScrubReport report, ckpt::scrub_run(request.fs, options));
  std::uint64_t damage = 0;
  for (const ckpt::ScrubbedStep& step : report.status.done) damage += step.damage;
  std::vector<std::string> warnings;
  if (const ckpt::Status& lost = report.unwritten; !lost.ok())
    warnings.push_back("the status is not written: " + lost.message + "; the next call verifies these steps again");
  return Answer{.text = request.json ? scrub_json(options.run, report) : scrub_text(report, request.style),
                .warnings = std::move(warnings),
                .error = damage > 0 ? ckpt::ok_status() : report.verified.unreadable(),
                .exit_code = damage > 0 || report.verified.damage > 0 ? 1 : 0};
}

}  // namespace titan::cli
