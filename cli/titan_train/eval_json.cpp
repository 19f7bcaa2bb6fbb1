#include "cli/kit/json_out.h"
#include "cli/titan_train/eval.h"

namespace titan::cli {

std::string eval_json(const EvalReport& report) {
  const train::EvaluationReport& e = report.evaluation;
  JsonOut json("titan.eval/1");
  json.path("checkpoint", report.checkpoint);
  json.text("id", report.id);
  json.count("step", report.step);
  json.count("rows", e.rows);
  json.count("tokens", e.tokens);
  json.count("seq_len", report.row_length);
  json.count("left_over", report.left_over);
  json.count("predictions", e.predictions);
  json.real("loss", e.predictions > 0 ? std::optional(e.loss) : std::nullopt);
  if (!report.logits_file.empty()) json.path("logits", report.logits_file);
  return json.document();
}

}  // namespace titan::cli
