// titan-bench-scale: what rank 0 (one core) and a plain rank spend on the plan, the commit and the start of jobs that
// this machine could never run. Holes stand for tensor bytes and memory for the file system, so that what is timed is
// this program's own work.
#include <algorithm>
#include <cstdio>
#include <ctime>

#include "ckpt/read/reader.h"
#include "ckpt/read/virtual_model.h"
#include "ckpt/run/retention.h"
#include "ckpt/save/commit.h"
#include "ckpt/save/receipt.h"
#include "libtrain/job/reduction/stage_exchange.h"
#include "libtrain/job/start/preview.h"
#include "libtrain/job/start/start_message.h"
#include "recipe/plan/run_plan.h"
#include "tests/bench/scale/simulation.h"
#include "tests/libtrain/support/exchange_load.h"
#include "tests/libtrain/support/llama_shapes.h"
#include "tests/support/failing_fs.h"
#include "tests/support/mem_fs.h"

namespace titan::bench {
namespace {

constexpr const char* kDir = "/run/checkpoint";

template <typename T>
T take(ckpt::Result<T> result) {
  if (result.ok()) return std::move(*result);
  std::fprintf(stderr, "error: %s\n", result.status().to_string().c_str());
  std::exit(1);
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Runs `body` and adds the processor seconds that it took, which other work on the machine disturbs least.
template <typename Body>
auto timed(double& seconds, const Body& body) {
  struct Stop {
    double& seconds;
    double start = processor_seconds();
    ~Stop() { seconds += processor_seconds() - start; }
  } stop{seconds};
  return body();
}

void measure(const Scale& scale) {
  ckpt::testing::MemFs memory(std::uint64_t{1} << 50);
  ckpt::Snapshot snapshot = make_snapshot(scale, 1000);
  const int ranks = static_cast<int>(snapshot.mesh.world());
  double plan = 0, model = 0, gather = 0, commit = 0, decide = 0, word_seconds = 0, other = 0;

  timed(plan, [&] { snapshot.ownership = ckpt::ownership_of(snapshot); });
  const std::string tmp = timed(plan, [&] { return take(play_begin(memory, kDir, snapshot)); });
  // As a run does: model.h5 is built beside the first shard of the first save, and its bytes are kept.
  timed(model, [&] { take(ckpt::make_virtual_file(ckpt::virtual_tensors(snapshot))); });
  Post post(ranks);
  std::vector<ckpt::RankReceipt> receipts;
  play_gather(
      post,
      [&](int rank) {
        return ckpt::encode_receipt(take(play_write(memory, tmp, snapshot, static_cast<std::uint32_t>(rank))));
      },
      [&](int, std::string_view bytes) {
        timed(gather, [&] { receipts.push_back(take(ckpt::decode_receipt(bytes))); });
      });
  const ckpt::Published published =
      timed(commit, [&] { return take(ckpt::commit_save(memory, kDir, tmp, snapshot, receipts)); });
  receipts.clear();

  recipe::Config config;
  config.job.dump_folder = "/run";
  ckpt::testing::FailingFs counted(memory);
  const train::StartRequest request = take(train::start_request(config, "auto"));
  train::StartDecision decision = timed(decide, [&] { return take(train::decide_start(memory, request, {})); });
  (void)take(train::decide_start(counted, request, {}));
  const std::string word = timed(word_seconds, [&] {
    const auto texts =
        take(train::json_texts(ckpt::CheckpointReader::known(memory, decision.path, *decision.manifest)));
    return train::encode_start({decision, texts});
  });
  timed(other, [&] {
    train::StartMessage heard = take(train::decode_start(word));
    take(train::read_stored(ckpt::CheckpointReader::known(memory, heard.decision.path,
                                                          std::move(*heard.decision.manifest), std::move(heard.json))));
  });

  double pass = 0;
  {
    // The step before, as long as the one just saved; then a pass that deletes it.
    take(play_save(memory, kDir, make_snapshot(scale, 500)));
    ckpt::Retention retention(memory,
                              {kDir,
                               {.keep_latest = 1},
                               {},
                               [](const std::string&, const std::string&) {},
                               [](const std::string& problem) { std::fprintf(stderr, "%s\n", problem.c_str()); }});
    for (const std::uint64_t step : {500, 1000}) retention.judge(step, ckpt::Verdict::kProved);
    timed(pass, [&] { retention.pass(); });
  }
  const Traffic &root = post.traffic(0), &plain = post.traffic(1);
  std::printf(
      "| %-16s | %6d | %7.3f | %7.3f | %7.3f | %8.3f | %7.3f | %7.3f | %7.3f | %7.3f | %6zu | %6llu | %8.2f | %9.4f "
      "|\n",
      scale.name().c_str(), ranks, plan, model, gather, commit, decide, word_seconds, other, pass,
      decision.manifest->files.size(), static_cast<unsigned long long>(counted.count(ckpt::testing::Op::kStat)),
      static_cast<double>(root.bytes_in) / 1e6, static_cast<double>(plain.bytes_out) / 1e6);
  std::fflush(stdout);
}

/// The exchange of one stage: what a rank spends on its plan, and what that plan makes the links and buffers carry.
void measure_exchange(const char* model, std::uint32_t ranks, bool tied) {
  const recipe::RunPlan plan = test::llama_plan(model, ranks, 2 * std::int64_t{ranks}, tied);
  const ckpt::Ownership owners = recipe::owners_of(plan);
  double build = 0, elements = 0;
  test::Load most_sums, most_copies;
  std::int64_t buffer = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const train::StageExchange exchange =
        timed(build, [&] { return train::plan_stage_exchange(plan, owners, 0, rank); });
    const test::Load sums = test::load_of_sums(exchange.parts.front().sums),
                     copies = test::load_of_copies(exchange.parts.front().copies.front().plan);
    most_sums = {std::max(most_sums.sent, sums.sent), std::max(most_sums.received, sums.received)};
    most_copies = {std::max(most_copies.sent, copies.sent), std::max(most_copies.received, copies.received)};
    buffer = std::max(buffer, exchange.buffer_bytes);
  }
  for (const ckpt::ParameterMeta& parameter : plan.parameters)
    elements += static_cast<double>(ckpt::element_count(parameter.shape));
  const double table = static_cast<double>(plan.dims.vocab_size * plan.dims.dim), share = (ranks - 1.0) / ranks;
  const double sums = (elements + (tied ? table : 0)) * share, copies = elements * share;
  std::printf("| %-3s%-5s | %5u | %9.5f | %8.1f | %6.3f / %6.3f | %6.3f / %6.3f | %7.1f |\n", model,
              tied ? " tied" : "", ranks, build / ranks, sums * 4e-9, static_cast<double>(most_sums.sent) / sums,
              static_cast<double>(most_sums.received) / sums, static_cast<double>(most_copies.sent) / copies,
              static_cast<double>(most_copies.received) / copies, static_cast<double>(buffer) / (1 << 20));
  std::fflush(stdout);
}

/// Rounds and messages of one rank in a step: float32, two micro-batches a rank.
void count_messages(std::uint32_t ranks) {
  const recipe::RunPlan plan = test::llama_plan("8B", ranks, 2 * std::int64_t{ranks});
  const train::StageExchange exchange = train::plan_stage_exchange(plan, recipe::owners_of(plan), 0, 0);
  const train::Traffic traffic = train::traffic_of(exchange, 2);
  std::printf("| %5u | %6lld | %9lld |\n", ranks, static_cast<long long>(traffic.rounds),
              static_cast<long long>(traffic.messages));
}

}  // namespace
}  // namespace titan::bench

int main(int argc, char** argv) {
  std::printf("Processor seconds of rank 0, \"a rank\" those of any other; files and memory are simulated.\n\n");
  std::printf(
      "| layout           |  ranks |    plan | model.h5 | receipts |  commit | decide |    word | a rank | retain | "
      "files |  stats | MB to 0 | MB of one |\n");
  std::printf("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const titan::bench::Scale& scale : titan::bench::scales())
    if (argc < 2 || scale.name().find(argv[1]) != std::string::npos) titan::bench::measure(scale);
  if (argc >= 2 && std::string(argv[1]) != "exchange") return 0;
  std::printf(
      "\nThe exchange of gradients and weights, float32: seconds to plan it, and the busiest link (out / in) in parts "
      "of "
      "an equal share.\n\n");
  std::printf("| model    | ranks |   plan, s | share GB | gradients       | weights         | buffers, MiB |\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  for (const char* model : {"1B", "8B", "70B"})
    for (const std::uint32_t ranks : {8u, 64u, 1024u}) titan::bench::measure_exchange(model, ranks, false);
  for (const std::uint32_t ranks : {8u, 64u, 1024u}) titan::bench::measure_exchange("1B", ranks, true);
  std::printf("\nRounds and messages of a rank in a step, 8B in float32, buffers of 256 MiB.\n\n");
  std::printf("| ranks | rounds |  messages |\n|---|---|---|\n");
  for (const std::uint32_t ranks : {4u, 6u, 8u, 10u, 64u, 96u, 8192u, 10000u}) titan::bench::count_messages(ranks);
  return 0;
}
