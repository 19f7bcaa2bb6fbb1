#include "cli/kit/json_out.h"
#include "cli/titan_ckpt/advise.h"

namespace titan::cli {
namespace {

void interval(JsonOut& json, const char* key, const std::optional<recipe::IntervalAdvice>& advice) {
  if (!advice) return json.null(key);
  json.begin_object(key);
  json.count("steps", advice->steps);
  json.real("seconds", advice->seconds);
  json.real("lost_saving", advice->lost.saves);
  json.real("lost_again", advice->lost.again);
  json.end_object();
}

void fit(JsonOut& json, const std::optional<recipe::RetentionFit>& fit) {
  if (!fit) return json.null("retention");
  json.begin_object("retention");
  json.count("keep_last", fit->keep_last);
  json.count("fixed_bytes", fit->fixed_bytes);
  json.count("most_bytes", fit->most_bytes);
  json.count("least_budget", fit->least_budget);
  json.count("steps_to_delete", fit->steps_to_delete);
  json.count("bytes_to_delete", fit->bytes_to_delete);
  json.end_object();
}

}  // namespace

std::string advise_json(const recipe::AdviseReport& report) {
  const recipe::SaveRecord& record = report.record;
  JsonOut json("titan.advise/1");
  json.path("metrics", report.metrics);
  json.count("first_step", record.first_step);
  json.count("last_step", record.last_step);
  json.count("resumes", record.resumes);
  json.real("step_s", record.step_s);
  json.begin_object("saves");
  json.count("count", record.saves);
  json.count("failed", record.failed);
  json.real("seconds", record.save_s);
  json.real("stall_s", record.stall_s);
  json.real("total_s", record.saves_total_s);
  json.real("steps_total_s", record.steps_total_s);
  json.end_object();
  json.real("mtbf_s", report.mtbf_s);
  interval(json, "now", report.now);
  interval(json, "best", report.best);
  json.begin_object("disk");
  json.count("steps", report.steps_there);
  json.count("bytes", report.bytes_there);
  json.count("one_save", report.one_save);
  json.count("needed", report.needed);
  json.count("free", report.free);
  json.end_object();
  json.count("budget", report.budget);
  fit(json, report.fit);
  json.count("parameters", report.parameters);
  json.each("larger", report.larger, [&](const recipe::LargerRun& row) {
    json.count("parameters", row.parameters);
    json.count("save_bytes", row.save_bytes);
    json.real("save_s", row.save_s);
    json.real("interval_s", row.interval_s);
  });
  json.texts("not_known", report.not_known);
  return json.document();
}

}  // namespace titan::cli
