#include "cli/kit/json_out.h"
#include "cli/titan_engine/eval.h"

namespace titan::cli {

std::string eval_json(const EvalReport& report) {
  const train::EvaluationReport& e = report.evaluation;
  JsonOut json("titan.eval/1");
  json.path("checkpoint", report.checkpoint);
  json.members("id", report.id, "step", report.step, "rows", e.rows, "tokens", e.tokens, "seq_len", report.row_length);
  json.members("left_over", report.left_over, "predictions", e.predictions);
  json.member("loss", e.predictions > 0 ? std::optional(e.loss) : std::nullopt);
  if (!report.logits_file.empty()) json.path("logits", report.logits_file);
  return json.document();
}

}  // namespace titan::cli
