#include "cli/kit/json_out.h"
#include "cli/titan_ckpt/advise.h"

namespace titan::cli {
namespace {

void interval(JsonOut& json, const char* key, const std::optional<recipe::IntervalAdvice>& advice) {
  if (!advice) return json.null(key);
  json.begin_object(key);
  json.members("steps", advice->steps, "seconds", advice->seconds, "lost_saving", advice->lost.saves);
  json.members("lost_again", advice->lost.again);
  json.end_object();
}

void fit(JsonOut& json, const std::optional<recipe::RetentionFit>& fit) {
  if (!fit) return json.null("retention");
  json.begin_object("retention");
  json.members("keep_last", fit->keep_last, "fixed_bytes", fit->fixed_bytes, "most_bytes", fit->most_bytes);
  json.members("least_budget", fit->least_budget, "steps_to_delete", fit->steps_to_delete);
  json.members("bytes_to_delete", fit->bytes_to_delete);
  json.end_object();
}

}  // namespace

std::string advise_json(const recipe::AdviseReport& report) {
  const recipe::SaveRecord& record = report.record;
  JsonOut json("titan.advise/1");
  json.path("metrics", report.metrics);
  json.members("first_step", record.first_step, "last_step", record.last_step, "resumes", record.resumes);
  json.members("step_s", record.step_s);
  json.begin_object("saves");
  json.members("count", record.saves, "failed", record.failed, "seconds", record.save_s, "stall_s", record.stall_s);
  json.members("total_s", record.saves_total_s, "steps_total_s", record.steps_total_s);
  json.end_object();
  json.real("mtbf_s", report.mtbf_s);
  interval(json, "now", report.now);
  interval(json, "best", report.best);
  json.begin_object("disk");
  json.members("steps", report.steps_there, "bytes", report.bytes_there, "one_save", report.one_save);
  json.members("needed", report.needed, "free", report.free);
  json.end_object();
  json.count("budget", report.budget);
  fit(json, report.fit);
  json.count("parameters", report.parameters);
  json.each("larger", report.larger, [&](const recipe::LargerRun& row) {
    json.members("parameters", row.parameters, "save_bytes", row.save_bytes);
    json.members("save_s", row.save_s, "interval_s", row.interval_s);
  });
  json.list("not_known", report.not_known);
  return json.document();
}

}  // namespace titan::cli
