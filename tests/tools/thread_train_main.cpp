// titan-thread-train: the whole trainer, its ranks threads of this process; a tool of scripts/fidelity, which trains
// thousands of tiny runs. Reads jobs from stdin, a line each, its words apart by tabs, and answers each with a line,
// words apart by tabs:
//   train RANKS CONFIG OVERRIDE...         -> exit code, message
//   eval CHECKPOINT TOKENS ROW_LENGTH      -> exit code, loss or message
#include <charconv>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "ckpt/base/exit_code.h"
#include "ckpt/base/text.h"
#include "libtrain/engine/train/evaluation.h"
#include "libtrain/job/launch/rank_process.h"
#include "libtrain/job/metrics/log.h"
#include "recipe/change/name_rules.h"
#include "recipe/model/from_shapes.h"
#include "recipe/model/manifest_dims.h"
#include "recipe/plan/run_config.h"
#include "tests/libtrain/support/thread_run.h"

namespace {

using namespace titan;

struct Answer {
  int code = 0;
  std::string text;
};

Answer of(const ckpt::Status& status) { return {ckpt::exit_code(status.code), train::log_text(status)}; }

Answer train_over_threads(int ranks, const std::string& config, const std::vector<std::string>& overrides) {
  const auto loaded = recipe::load_run_config(config, overrides);
  if (!loaded.ok()) return of(loaded.status());
  const train::TrainOutcome outcome = test::train_over_threads(*loaded, ranks);
  return {outcome.exit_code, outcome.status.ok() ? "" : train::log_text(outcome.status)};
}

ckpt::Result<double> loss_of(const std::string& checkpoint, const std::string& tokens, std::uint64_t row_length) {
  TITAN_ASSIGN_OR_RETURN(const auto source, ckpt::open_weights(ckpt::posix_fs(), checkpoint));
  TITAN_ASSIGN_OR_RETURN(
      const recipe::ModelDims dims,
      recipe::stored_dims(recipe::known_model(source->model_config(), source->tensors()), checkpoint));
  train::TokenRows::Options options;
  options.row_length = row_length;
  options.raw_bytes = 2;
  TITAN_ASSIGN_OR_RETURN(const train::TokenRows rows, train::TokenRows::open(tokens, options));
  TITAN_ASSIGN_OR_RETURN(const train::EvaluationReport report, train::evaluate(*source, dims, rows, 1, {}, {}));
  return report.loss;
}

Answer evaluate(const std::vector<std::string>& words) {
  const auto loss = loss_of(words[1], words[2], ckpt::number_of<std::uint64_t>(words[3]).value_or(0));
  if (!loss.ok()) return of(loss.status());
  char text[32];
  *std::to_chars(text, text + sizeof text - 1, *loss).ptr = 0;
  return {0, text};
}

Answer carry_out(const std::vector<std::string>& words) {
  if (words.size() >= 3 && words[0] == "train")
    return train_over_threads(ckpt::number_of<int>(words[1]).value_or(0), words[2], {words.begin() + 3, words.end()});
  if (words.size() == 4 && words[0] == "eval") return evaluate(words);
  return {ckpt::kExitUsage, "expected a job: train or eval"};
}

}  // namespace

int main() {
  train::ensure_thread_env(1);
  train::show_log([](train::LogLevel, const std::string&) {});
  for (std::string line; std::getline(std::cin, line);) {
    const Answer answer = carry_out(ckpt::split(line, '\t'));
    std::cout << answer.code << '\t' << answer.text << std::endl;
  }
  std::fflush(nullptr);
  std::_Exit(0);  // LibTorch's threads may still be alive
}
