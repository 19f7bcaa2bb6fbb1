#include "ckpt/ops/list.h"

#include "cli/titan_ckpt/verbs.h"
#include "converters/import.h"

namespace titan::cli {

Answer run_list(const Request& request) {
  const ckpt::Result<ckpt::ListReport> report = convert::list_any(request.fs, request.command.positionals[0]);
  if (!report.ok()) return {.error = report.status()};
  return {.text = request.json ? ui::list_json(*report) : ui::list_text(*report, request.style)};
}

}  // namespace titan::cli
