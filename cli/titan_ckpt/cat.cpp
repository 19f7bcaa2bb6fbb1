#include "cli/titan_ckpt/cat.h"

#include "cli/kit/stop.h"
#include "converters/view.h"

namespace titan::cli {

Answer run_cat(const Request& request) {
  ckpt::CatOptions options;
  options.cancel = stop_on_signals();
  options.checkpoint = convert::resolve_any(request.fs, request.command.positionals[0]);
  options.tensor = request.command.positionals[1];
  options.open = [&](ckpt::Fs& fs, const std::string& path) {
    return convert::open_for_tensor(fs, path, options.tensor);
  };
  options.out = request.command.value("output").value_or("");
  if (request.command.has("output") && options.out.empty())
    return {.error = ckpt::invalid("`--output` is empty, expected the name of a file")};
  const ckpt::Result<ckpt::CatReport> report = ckpt::cat_tensor(request.fs, options);
  if (!report.ok()) return {.error = report.status()};
  Answer answer{.text = request.json ? cat_json(*report) : cat_text(*report, request.style)};
  if (!options.out.empty() && !options.out.ends_with(".npy"))
    answer.notes.push_back(options.out + " is a NumPy file, though it is not called .npy: read it with numpy.load");
  return answer;
}

}  // namespace titan::cli
