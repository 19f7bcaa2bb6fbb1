#include "cli/titan_ckpt/diff.h"

#include <algorithm>

#include "ckpt/plan/lr_settings.h"
#include "ckpt/run/run_resolve.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/work.h"
#include "cli/titan_ckpt/verbs.h"
#include "converters/foreign_view.h"

namespace titan::cli {

namespace {

ckpt::Status read_bound(const Command& command, const char* flag, double& bound) {
  return read_flag(command, flag, "a number that is not negative, as 1e-5", number_from(0.0), bound);
}

// Whether some tensor was left out of both sides (CheckpointReader::left_out).
bool leave_out_alike(const ckpt::CheckpointReader& a, const ckpt::CheckpointReader& b) {
  const std::vector<std::string> ours = a.left_out(), others = b.left_out();
  return std::ranges::any_of(ours,
                             [&](const std::string& name) { return std::ranges::find(others, name) != others.end(); });
}

// Opens one side of the comparison. The number of heads is needed to order the rows of attention weights and to split
// torchtitan's fused moments. If the files of `path` do not record it, it is taken from the other side. If neither side
// records it, the fused moments stay whole on both sides.
ckpt::Result<ckpt::CheckpointReader> open_with_heads_of(ckpt::Fs& fs, const std::string& path,
                                                        const std::string& other) {
  ckpt::Result<ckpt::CheckpointReader> alone = convert::open_any(fs, path);
  const auto says_heads = [](const ckpt::CheckpointReader& side) {
    return ckpt::setting(side.manifest().config, "model.n_heads") != ckpt::kNotSet;
  };
  if (!alone.ok() || !alone->foreign() || says_heads(*alone)) return alone;
  const ckpt::Result<std::string> there = ckpt::resolve_checkpoint(fs, other);
  if (!there.ok()) return alone;
  const ckpt::Result<ckpt::CheckpointReader> known = convert::open_any(fs, *there);
  if (!known.ok()) return alone;
  convert::ImportOptions options;
  if (says_heads(*known))
    options.config = known->manifest().config;
  else if (leave_out_alike(*alone, *known))
    options.whole_moments = true;
  else
    return alone;
  ckpt::Result<ckpt::CheckpointReader> again = convert::open_any_with(fs, path, options);
  return again.ok() ? std::move(again) : std::move(alone);
}

}  // namespace

ckpt::Result<Answer> run_diff(const Request& request) {
  DiffView view{request.command.has("stats"), request.command.has("moments")};
  TITAN_RETURN_IF_ERROR(read_flag(
      request.command, "sort", "change, norm or name",
      word_of<DiffOrder>({{"change", DiffOrder::kChange}, {"norm", DiffOrder::kNorm}, {"name", DiffOrder::kName}}),
      view.order));
  TITAN_ASSIGN_OR_RETURN(view.top, top_count(request.command, view.top));
  ckpt::DiffOptions options;
  options.a = convert::resolve_any(request.fs, request.command.positionals[0]);
  options.b = convert::resolve_any(request.fs, request.command.positionals[1]);
  options.open = [&options](ckpt::Fs& fs, const std::string& path) {
    const ckpt::Result<std::string> a = ckpt::resolve_checkpoint(fs, options.a);
    return open_with_heads_of(fs, path, a.ok() && *a == path ? options.b : options.a);
  };
  options.notes_count = request.command.has("config");
  options.scope.only = request.command.value("only").value_or("");
  if (request.command.has("only") && options.scope.only.empty())
    return ckpt::invalid("`--only` is empty, expected a pattern such as 'layers.0.*'");
  if (request.command.has("rtol") || request.command.has("atol")) {
    options.scope.tolerance.emplace();
    TITAN_RETURN_IF_ERROR(read_bound(request.command, "rtol", options.scope.tolerance->rtol));
    TITAN_RETURN_IF_ERROR(read_bound(request.command, "atol", options.scope.tolerance->atol));
  }
  TITAN_ASSIGN_OR_RETURN(options.threads, thread_count(request.command));
  const Work work(request, options, "diff");
  TITAN_ASSIGN_OR_RETURN(const ckpt::DiffReport report, ckpt::diff_checkpoints(request.fs, options));
  return Answer{.text = request.json ? diff_json(report, view.stats) : diff_text(report, view, request.style),
                .exit_code = report.equal() ? 0 : 1};
}

}  // namespace titan::cli
