#include "cli/titan_ckpt/explain_error.h"

#include <algorithm>

#include "ckpt/io/run_folder.h"
#include "converters/import.h"

namespace titan::cli {

namespace {

/// True when `error` names a file below the folder of the checkpoint `typed`.
bool is_about(ckpt::Fs& fs, const ckpt::Status& error, const std::string& typed) {
  const ckpt::Result<std::string> folder = ckpt::resolve_checkpoint(fs, convert::resolve_any(fs, typed));
  return error.to_string().find((folder.ok() ? *folder : typed) + "/") != std::string::npos;
}

/// Corruption met on the way asks for the full list, of the checkpoint that is damaged.
void add_verify_hint(const Request& request, ckpt::Status& error) {
  if (error.code != ckpt::Code::kCorrupt || !error.hint.empty()) return;
  std::vector<std::string> suspects;
  for (const std::size_t i : request.verb.sources(true)) suspects.push_back(request.command.positionals[i]);
  if (suspects.size() > 1 &&
      std::ranges::any_of(suspects, [&](const std::string& typed) { return is_about(request.fs, error, typed); }))
    std::erase_if(suspects, [&](const std::string& typed) { return !is_about(request.fs, error, typed); });
  for (const std::string& typed : suspects)
    error.hint += (error.hint.empty() ? "`" : " or `") + ("titan-ckpt verify " + typed) + "`";
  if (!suspects.empty()) error.hint += " names every damaged place";
}

/// These verbs work on our format alone: who gives them another is told how to get there.
void refuse_foreign(const Request& request, ckpt::Status& error) {
  if (error.code != ckpt::Code::kNotFound) return;
  for (const std::size_t i : request.verb.sources(true)) {
    if (request.verb.arguments[i].takes == Takes::kForeign || i >= request.command.positionals.size()) continue;
    const std::string& folder = request.command.positionals[i];
    const auto format = convert::detect_format(request.fs, folder);
    if (format.ok() && *format != nullptr)
      error = ckpt::unsupported(folder + " is a checkpoint in the form of " + (*format)->title() + ", which `" +
                                request.verb.name + "` does not take")
                  .with_hint("`titan-ckpt convert " + folder + " DST` makes one of ours");
  }
}

}  // namespace

void explain_error(const Request& request, ckpt::Status& error) {
  add_verify_hint(request, error);
  refuse_foreign(request, error);
}

}  // namespace titan::cli
