#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/titan_engine/eval.h"

namespace titan::cli {

std::string eval_text(const EvalReport& report, const Palette& palette) {
  Facts facts;
  const train::EvaluationReport& e = report.evaluation;
  facts.add("checkpoint", escape(report.checkpoint) + (report.step > 0 ? " step " + std::to_string(report.step) : ""));
  facts.add(
      "tokens",
      format_count(e.tokens) + " in " + format_count(e.rows) + (e.rows == 1 ? " row of " : " rows of ") +
          format_count(report.row_length) +
          (report.length_from.empty() ? "" : " (the checkpoint's " + report.length_from + ")") +
          (report.left_over > 0 ? "; " + format_count(report.left_over) + " left over at the end of the file" : ""));
  facts.add("predictions", format_count(e.predictions));
  facts.add("loss", e.predictions > 0 ? format_real(e.loss) + " nats per prediction" : "n/a");
  if (!report.logits_file.empty()) facts.add("logits", escape(report.logits_file));
  return facts.render(palette);
}

}  // namespace titan::cli
