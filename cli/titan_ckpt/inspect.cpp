#include "cli/titan_ckpt/inspect.h"

#include "cli/kit/flag_values.h"
#include "cli/kit/work.h"
#include "cli/titan_ckpt/verbs.h"
#include "converters/foreign_view.h"

namespace titan::cli {

namespace {

ckpt::Status read_order(const Command& command, StatsOrder& order) {
  const bool sorted = command.has("sort");
  if ((sorted || command.has("top")) && !command.has("stats"))
    return ckpt::invalid(std::string(sorted ? "`--sort`" : "`--top`") +
                         " is about statistics, which were not asked for")
        .with_hint("add --stats");
  return read_flag(
      command, "sort", "norm, max or name",
      word_of<StatsOrder>({{"norm", StatsOrder::kNorm}, {"max", StatsOrder::kMax}, {"name", StatsOrder::kName}}),
      order);
}

}  // namespace

ckpt::Result<Answer> run_inspect(const Request& request) {
  InspectView view{request.command.value("tensors"), request.command.has("config"), {}};
  const ckpt::CheckpointOpener open = [&](ckpt::Fs& fs, const std::string& path) {
    return view.tensors ? convert::open_for_pattern(fs, path, *view.tensors) : convert::open_any(fs, path);
  };
  ckpt::InspectReport report;
  TITAN_ASSIGN_OR_RETURN(
      report,
      ckpt::inspect_checkpoint(request.fs, convert::resolve_any(request.fs, request.command.positionals[0]), open));
  if (request.command.has("stats") && !view.tensors) view.tensors = "*";
  TITAN_RETURN_IF_ERROR(read_order(request.command, view.order));
  TITAN_ASSIGN_OR_RETURN(view.top, top_count(request.command, view.top));
  const std::vector<ckpt::TensorRow> all =
      view.tensors ? ckpt::tensor_rows(report.manifest) : std::vector<ckpt::TensorRow>{};
  const std::vector<ckpt::TensorRow> rows = view.tensors ? ckpt::matching_rows(all, *view.tensors) : all;
  if (view.tensors && rows.empty()) {
    TITAN_RETURN_IF_ERROR(ckpt::check_left_out(report.left_out, *view.tensors));
    return ckpt::not_found("no tensor matches `" + *view.tensors + "`")
        .with_hint(ckpt::no_match_hint(all, *view.tensors, request.command.positionals[0]));
  }
  if (request.command.has("stats")) {
    ckpt::StatsOptions options;
    options.open = open;
    TITAN_ASSIGN_OR_RETURN(options.threads, thread_count(request.command));
    const Work work(request, options, "inspect --stats");
    TITAN_ASSIGN_OR_RETURN(view.stats, ckpt::tensor_statistics(request.fs, report.path, rows, options));
  }
  return Answer{.text = request.json ? inspect_json(report, view) : inspect_text(report, view, request.style)};
}

}  // namespace titan::cli
