#include "ckpt/base/quoting.h"
#include "ckpt/run/run_resolve.h"
#include "cli/titan_ckpt/verbs.h"
#include "converters/list.h"

namespace titan::cli {

namespace {

/// For an error about corruption: adds the verify command for the damaged checkpoint.
void add_verify_hint(const Request& request, ckpt::Status& error) {
  if (error.code != ckpt::Code::kCorrupt || !error.hint.empty()) return;
  std::vector<std::string> suspects;
  for (const std::size_t i : request.verb.sources(true)) {
    const std::string& typed = request.command.positionals[i];
    const std::string named = convert::resolve_any(request.fs, typed);
    const ckpt::Result<std::string> folder = ckpt::resolve_checkpoint(request.fs, named);
    if (error.path.empty() || error.path == (folder.ok() ? *folder : named)) suspects.push_back(typed);
  }
  for (const std::string& typed : suspects)
    error.hint += (error.hint.empty() ? "`" : " or `") + ("titan-ckpt verify " + ckpt::shell_word(typed)) + "`";
  if (!suspects.empty()) error.hint += " names every damaged place";
}

/// These verbs only support Titan checkpoints. A checkpoint of another format gets a hint on how to convert it.
void refuse_foreign(const Request& request, ckpt::Status& error) {
  if (error.code != ckpt::Code::kNotFound) return;
  for (const std::size_t i : request.verb.sources(true)) {
    if (request.verb.arguments[i].takes == Takes::kForeign || i >= request.command.positionals.size()) continue;
    const std::string& folder = request.command.positionals[i];
    const auto format = convert::detect_format(request.fs, folder);
    if (format.ok() && *format != nullptr)
      error =
          ckpt::unsupported(folder + " is a checkpoint in the form of " + (*format)->title() + ", which `" +
                            request.verb.name + "` does not take")
              .with_hint("`titan-ckpt convert " + ckpt::shell_word(folder) + " DST` makes a Titan checkpoint of it");
  }
}

}  // namespace

void explain_error(const Request& request, ckpt::Status& error) {
  add_verify_hint(request, error);
  refuse_foreign(request, error);
}

}  // namespace titan::cli
