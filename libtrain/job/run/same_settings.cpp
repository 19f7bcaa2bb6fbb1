#include "libtrain/job/run/same_settings.h"

#include "ckpt/base/hash.h"
#include "ckpt/plan/lr_settings.h"
#include "libtrain/job/control/agree.h"
#include "libtrain/job/control/control.h"
#include "recipe/keys/key_table.h"
#include "recipe/keys/writer.h"
#include "recipe/plan/plan_values.h"

namespace titan::train {
namespace {

/// One row per line: values are TOML, which escapes newlines.
std::string text_of(const ckpt::Settings& rows) {
  std::string text;
  for (const auto& [key, value] : rows) text += key + "=" + value + "\n";
  return text;
}

ckpt::Settings rows_of(const std::string& text) {
  ckpt::Settings rows;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    const std::size_t equals = text.find('=', at);
    rows.emplace_back(text.substr(at, equals - at), text.substr(equals + 1, end - equals - 1));
  }
  return rows;
}

}  // namespace

ckpt::Settings shared_settings(const ckpt::Settings& accepted, const recipe::Config& resolved,
                               const recipe::RunPlan& plan) {
  ckpt::Settings more;
  for (const auto& row : recipe::resolved_settings(resolved))
    if (recipe::same_on_all_ranks(row.first) && !ckpt::has_setting(accepted, row.first)) more.push_back(row);
  if (plan.has_schedule_file())
    more.emplace_back("the contents of parallelism.pipeline_parallel_schedule_csv",
                      ckpt::digest_of(plan.schedule_file.text).hex());
  return ckpt::with_rows(accepted, more);
}

ckpt::Status agree_on_settings(Control& all, const ckpt::Settings& mine) {
  const std::string text = text_of(mine);
  const std::string digest = ckpt::digest_of(text).hex();
  const std::optional<int> other = first_rank(all, all.broadcast(digest, 0) != digest);
  if (!other) return ckpt::ok_status();
  const ckpt::Settings first = rows_of(all.broadcast(text, 0)), second = rows_of(all.broadcast(text, *other));
  const std::string who = "rank " + std::to_string(*other);
  ckpt::Status status = ckpt::incompatible(who + " has other settings than rank 0")
                            .with_hint("give every rank the same configuration, command line, and copy of the weights");
  for (const auto& [key, value] : first)
    if (ckpt::setting(second, key) != value)
      status.causes.push_back(key + ": " + value + " on rank 0, " + ckpt::setting(second, key) + " on " + who);
  for (const auto& [key, value] : second)
    if (!ckpt::has_setting(first, key))
      status.causes.push_back(key + ": " + ckpt::kNotSet + " on rank 0, " + value + " on " + who);
  return status;
}

}  // namespace titan::train
