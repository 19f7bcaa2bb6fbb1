#include "libtrain/engine/pipeline/executor.h"

#include <gtest/gtest.h>

#include <deque>

#include "libtrain/job/forecast/memory.h"
#include "tests/libtrain/support/counting_allocator.h"
#include "tests/libtrain/support/counting_communicator.h"
#include "tests/libtrain/support/tiny_model.h"

namespace titan::train::executor_test {
namespace {

using namespace titan::test;
using enum recipe::ScheduleKind;

/// Which stages a rank holds, in their order in the model.
using Placement = std::vector<std::vector<std::uint32_t>>;

const Placement kTwoRanks{{0}, {1}};
const Placement kLooped{{0, 2}, {1, 3}};
const Placement kV{{0, 3}, {1, 2}};

Action forward(std::uint32_t stage, std::uint32_t micro_batch) { return {ActionKind::kForward, stage, micro_batch}; }
Action backward(std::uint32_t stage, std::uint32_t micro_batch) { return {ActionKind::kBackward, stage, micro_batch}; }

/// All forwards of a stage before those of the next; backwards from the last stage, in the opposite order.
ScheduleTable breadth_first(const Placement& placement, std::uint32_t micro_batches) {
  ScheduleTable table;
  for (const std::vector<std::uint32_t>& stages : placement) {
    std::vector<Action>& row = table.emplace_back();
    for (const std::uint32_t stage : stages)
      for (std::uint32_t m = 0; m < micro_batches; ++m) row.push_back(forward(stage, m));
    for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage)
      for (std::uint32_t m = micro_batches; m-- > 0;) row.push_back(backward(*stage, m));
  }
  return table;
}

/// One micro-batch after the other through all stages and back.
ScheduleTable depth_first(const Placement& placement, std::uint32_t micro_batches) {
  ScheduleTable table;
  for (const std::vector<std::uint32_t>& stages : placement) {
    std::vector<Action>& row = table.emplace_back();
    for (std::uint32_t m = 0; m < micro_batches; ++m) {
      for (const std::uint32_t stage : stages) row.push_back(forward(stage, m));
      for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) row.push_back(backward(*stage, m));
    }
  }
  return table;
}

/// A plan whose stages lie on fewer ranks than there are stages.
recipe::RunPlan plan_on(const Placement& placement, const std::vector<std::uint32_t>& cuts, std::uint32_t micro_batches,
                        bool bf16, bool tied) {
  recipe::RunPlan plan = make_plan(tiny_dims(tied), {1, cuts}, micro_batches, bf16);
  plan.mesh.pp = static_cast<std::uint32_t>(placement.size());
  return plan;
}

/// What changes how a stage computes.
struct Options {
  Gemm gemm = Gemm::kMkl;
  std::int64_t loss_chunk = 0, recompute_each = 0;
  bool documents = false;  // are kept apart
};
recipe::RunPlan with(recipe::RunPlan plan, const Options& options) {
  plan.gemm = options.gemm;
  plan.loss_chunk = options.loss_chunk;
  plan.recompute_each = options.recompute_each;
  return plan;
}

/// The same tokens as documents, which begin at other places in each row.
BatchSource documents_of_step(const recipe::RunPlan& plan, std::uint64_t step) {
  return [&plan, step](std::uint32_t micro_batch) {
    std::vector<SampleMarks> marks(kMicro);
    for (std::int64_t row = 0; row < kMicro; ++row) {
      SampleMarks& of_row = marks[static_cast<std::size_t>(row)];
      for (std::int64_t place = 1 + (micro_batch + row) % 5; place <= kSeqLen; place += 4 + row)
        of_row.starts.push_back(place);
      of_row.untrained = of_row.starts;
    }
    return micro_batch_of(tokens_of(plan, step, micro_batch), std::move(marks));
  };
}

/// What one step leaves, whatever ran it: gradients by name (the tied head's use apart), losses, validation losses.
struct Outcome {
  std::map<std::string, std::vector<float>> gradients;
  std::vector<double> losses, validation;
};

Outcome run_one_step(const recipe::RunPlan& planned, const Placement& placement, const ScheduleTable& table,
                     const Options& options = {}) {
  const recipe::RunPlan plan = with(planned, options);
  Outcome outcome;
  const auto count = static_cast<std::uint32_t>(plan.batch.count);
  outcome.losses.assign(count, 0);
  outcome.validation.assign(count, 0);
  std::mutex mutex;
  run_ranks(plan.mesh, [&](World& world) {
    std::deque<Stage> stages;
    std::vector<Stage*> held;
    for (const std::uint32_t stage : placement[static_cast<std::size_t>(world.stage)]) {
      held.push_back(&stages.emplace_back(plan, stage, kSeqLen));
      held.back()->init_weights(7);
    }
    Executor executor(world, plan, held, table);
    if (options.documents) executor.keep_documents_apart();
    const auto batches = [&](std::uint64_t step) {
      return options.documents ? documents_of_step(plan, step) : batches_of(plan, step);
    };
    Executor::StepOutput out = executor.run_step(batches(1), 304);
    const std::vector<double> validation =
        executor
            .run_forward(
                batches(2), count, kMicro, kSeqLen, [](std::uint32_t) { return kMicro; }, [] { return true; })
            .value();
    const std::lock_guard lock(mutex);
    std::size_t sum = 0;
    for (const Stage& stage : stages)
      for (const StageParameter& p : stage.parameters())
        outcome.gradients[p.name + (p.tied_head ? "/head" : "")] = floats(out.sums[sum++].finish().at(0));
    EXPECT_EQ(sum, out.sums.size());
    for (std::uint32_t i = 0; i < count; ++i) {
      outcome.losses[i] += out.losses[i];
      outcome.validation[i] += validation[i];
    }
  });
  return outcome;
}

Outcome run_in_one_piece(bool bf16, bool tied, std::uint32_t micro_batches, const Options& options = {}) {
  const Placement one{{0}};
  return run_one_step(plan_on(one, {}, micro_batches, bf16, tied), one, depth_first(one, micro_batches), options);
}

void expect_equal(const Outcome& got, const Outcome& expected, const std::string& where) {
  EXPECT_TRUE(same_bits(got.losses, expected.losses)) << where;
  EXPECT_TRUE(same_bits(got.validation, expected.validation)) << where;
  ASSERT_EQ(got.gradients.size(), expected.gradients.size()) << where;
  for (const auto& [name, gradient] : expected.gradients)
    EXPECT_TRUE(same_bits(got.gradients.at(name), gradient)) << name << ", " << where;
}

struct Case {
  std::string name;
  Placement placement;
  std::vector<std::uint32_t> cuts;
  ScheduleTable table;
};

std::vector<Case> cases(std::uint32_t micro_batches) {
  const std::vector<std::uint32_t> quarters{1, 2, 4};
  const Placement four{{0}, {1}, {2}, {3}};
  return {
      {"GPipe", kTwoRanks, {2}, make_schedule(kGPipe, {2, 1, micro_batches}).value()},
      {"1F1B", kTwoRanks, {3}, make_schedule(k1F1B, {2, 1, micro_batches}).value()},
      {"1F1B on four ranks", four, quarters, make_schedule(k1F1B, {4, 1, micro_batches}).value()},
      {"looped, breadth first", kLooped, quarters, breadth_first(kLooped, micro_batches)},
      {"looped, depth first", kLooped, quarters, depth_first(kLooped, micro_batches)},
      {"V, breadth first", kV, quarters, breadth_first(kV, micro_batches)},
      {"V, depth first", kV, quarters, depth_first(kV, micro_batches)},
      {"all stages on one rank", {{0, 1, 2, 3}}, quarters, depth_first({{0, 1, 2, 3}}, micro_batches)},
  };
}

TEST(Executor, GivesTheSameBitsByEveryTable) {
  use_one_thread();
  for (const bool tied : {false, true}) {
    for (const bool bf16 : {false, true}) {
      const Outcome expected = run_in_one_piece(bf16, tied, 7);
      EXPECT_GT(expected.losses.front(), 0);
      EXPECT_NE(expected.losses, expected.validation);
      for (const Case& c : cases(7))
        expect_equal(run_one_step(plan_on(c.placement, c.cuts, 7, bf16, tied), c.placement, c.table), expected,
                     c.name + (bf16 ? ", bf16" : ", fp32") + (tied ? ", tied" : ""));
    }
  }
}

TEST(Executor, GivesTheSameBitsByEverySchedule) {
  use_one_thread();
  for (const bool bf16 : {false, true}) {
    for (const std::int64_t recompute_each : {0, 1}) {
      const Options options{.recompute_each = recompute_each};
      const Outcome expected = run_in_one_piece(bf16, true, 8);
      for (const recipe::ScheduleFacts& facts : recipe::schedules()) {
        const std::uint32_t chunks = facts.least_chunks;
        Placement placement(4 / chunks);
        for (std::uint32_t stage = 0; stage < 4; ++stage)
          placement[rank_of_stage(facts.placement, 4 / chunks, stage)].push_back(stage);
        expect_equal(run_one_step(plan_on(placement, {1, 2, 4}, 8, bf16, true), placement,
                                  make_schedule(facts.kind, {4 / chunks, chunks, 8}).value(), options),
                     expected, facts.name + std::string(bf16 ? ", bf16" : ", fp32"));
      }
    }
  }
}

/// Writes down what this rank sends and waits for.
class Noting final : public CountingCommunicator {
 public:
  Noting(std::unique_ptr<Fabric> inner, std::string* notes) : CountingCommunicator(std::move(inner)), notes_(notes) {}
  std::unique_ptr<Transfer> send(const at::Tensor& tensor, int dst, std::uint64_t tag) override {
    *notes_ += 's';
    return CountingCommunicator::send(tensor, dst, tag);
  }
  std::unique_ptr<Transfer> recv(at::Tensor& tensor, int src, std::uint64_t tag) override {
    *notes_ += 'r';
    return CountingCommunicator::recv(tensor, src, tag);
  }

 private:
  std::string* notes_;
};

// Else one batch would be in the pipeline at a time.
TEST(Executor, AValidationTakesAsManyBatchesAsThereAreRanksThroughEachStage) {
  use_one_thread();
  const recipe::RunPlan plan = plan_on(kLooped, {1, 2, 4}, 4, false, false);
  std::string notes;  // of rank 0
  run_ranks(plan.mesh, [&](World& world) {
    std::string other;
    world.pp = std::make_unique<Noting>(std::move(world.pp), world.stage == 0 ? &notes : &other);
    std::deque<Stage> stages;
    std::vector<Stage*> held;
    for (const std::uint32_t stage : kLooped[static_cast<std::size_t>(world.stage)])
      held.push_back(&stages.emplace_back(plan, stage, kSeqLen));
    for (Stage* stage : held) stage->init_weights(7);
    Executor executor(world, plan, held, depth_first(kLooped, 4));
    executor.run_forward(
        batches_of(plan, 1), 3, kMicro, kSeqLen, [](std::uint32_t) { return kMicro; }, [] { return true; });
  });
  EXPECT_EQ(notes, "ssrsrssrs");
}

TEST(Executor, DocumentsThatAreKeptApartGiveTheSameBitsByEverySchedule) {
  use_one_thread();
  for (const bool bf16 : {false, true}) {
    const Options options{.recompute_each = 2, .documents = true};
    const Outcome expected = run_in_one_piece(bf16, false, 8, {.documents = true});
    EXPECT_NE(expected.losses, run_in_one_piece(bf16, false, 8).losses);
    for (const recipe::ScheduleFacts& facts : recipe::schedules()) {
      const std::uint32_t chunks = facts.least_chunks;
      Placement placement(4 / chunks);
      for (std::uint32_t stage = 0; stage < 4; ++stage)
        placement[rank_of_stage(facts.placement, 4 / chunks, stage)].push_back(stage);
      expect_equal(run_one_step(plan_on(placement, {1, 2, 4}, 8, bf16, false), placement,
                                make_schedule(facts.kind, {4 / chunks, chunks, 8}).value(), options),
                   expected, facts.name + std::string(bf16 ? ", bf16" : ", fp32"));
    }
  }
}

// With the settings that make a class of its own too.
TEST(Executor, RecomputationChangesNoBitByAnyTable) {
  use_one_thread();
  for (const Options& chosen : {Options{}, Options{.gemm = Gemm::kOneDnn, .loss_chunk = 11}}) {
    for (const bool bf16 : {false, true}) {
      const Outcome expected = run_in_one_piece(bf16, false, 4, chosen);
      for (const std::int64_t every : {1, 2}) {
        Options options = chosen;
        options.recompute_each = every;
        for (const Case& c : cases(4))
          expect_equal(run_one_step(plan_on(c.placement, c.cuts, 4, bf16, false), c.placement, c.table, options),
                       expected, c.name + (bf16 ? ", bf16" : ", fp32") + ", every " + std::to_string(every));
      }
    }
  }
}

TEST(Executor, AnotherChunkOfTheLossIsAnotherClass) {
  use_one_thread();
  EXPECT_FALSE(run_in_one_piece(false, false, 4, {.loss_chunk = 11}).gradients ==
               run_in_one_piece(false, false, 4).gradients);
}

TEST(Executor, RefusesAStageThatTheTablePutsElsewhere) {
  const recipe::RunPlan plan = plan_on(kTwoRanks, {2}, 2, false, false);
  run_ranks(plan.mesh, [&](World& world) {
    Stage other(plan, static_cast<std::uint32_t>(1 - world.stage), kSeqLen);
    EXPECT_THROW(Executor(world, plan, {&other}, make_schedule(k1F1B, {2, 1, 2}).value()), std::logic_error);
  });
}

/// Whose peers send nothing.
class Deserted final : public CountingCommunicator {
 public:
  using CountingCommunicator::CountingCommunicator;
  std::unique_ptr<Transfer> recv(at::Tensor&, int src, std::uint64_t) override {
    struct Never final : Transfer {
      explicit Never(int rank) : from(rank) {}
      void wait() override { throw CommError("rank " + std::to_string(from) + " is silent", {from}); }
      int from;
    };
    return std::make_unique<Never>(src);
  }
};

TEST(Executor, NamesStageAndMicroBatchOfWhatNeverComes) {
  const recipe::RunPlan plan = plan_on(kTwoRanks, {2}, 2, false, false);
  run_ranks(plan.mesh, [&](World& world) {
    if (world.stage == 0) return;
    world.pp = std::make_unique<Deserted>(std::move(world.pp));
    RankStages stages(plan, 1, kSeqLen);
    Executor executor(world, plan, stages.stages(), make_schedule(k1F1B, {2, 1, 2}).value());
    try {
      executor.run_step(batches_of(plan, 1), 304);
      FAIL() << "nothing was missing";
    } catch (const CommError& error) {
      EXPECT_EQ(error.status.message, "rank 0 is silent");
      EXPECT_EQ(error.status.causes,
                std::vector<std::string>{"stage 1 waited for the activations of micro-batch 0 from "
                                         "stage 0 on pipeline rank 0"});
    }
  });
}

/// Sequences so long that one hidden tensor is a good part of the weights.
constexpr std::int64_t kLong = 128;
constexpr std::int64_t kHidden = kMicro * kLong * 40 * 4;
/// Whether both ranks are at their peak in the same moment is chance.
constexpr std::int64_t kChance = 16 * kHidden;

struct Use {
  std::int64_t peak = 0, weights = 0;
};

/// The most that tensors held in `work` on two ranks, beyond what they held before.
Use measure(std::uint32_t micro_batches, const std::function<void(Executor&, const recipe::RunPlan&)>& work) {
  recipe::RunPlan plan = plan_on(kTwoRanks, {2}, micro_batches, false, false);
  plan.batch.seq_len = kLong;
  CountingAllocator allocator;
  Use use;
  std::int64_t before = 0;
  run_ranks(plan.mesh, [&](World& world) {
    Stage stage(plan, static_cast<std::uint32_t>(world.stage), kLong);
    stage.init_weights(7);
    Executor executor(world, plan, {&stage}, table_of(plan, world));
    world.all->barrier();
    if (world.rank == 0) before = allocator.held();
    world.all->barrier();
    work(executor, plan);
  });
  for (const ckpt::ParameterMeta& p : plan.parameters)
    use.weights += 4 * static_cast<std::int64_t>(ckpt::element_count(p.shape));
  use.peak = allocator.peak() - before;
  EXPECT_EQ(allocator.held(), 0) << "everything is given back";
  return use;
}

BatchSource long_batches(const recipe::RunPlan& plan) {
  return [&plan](std::uint32_t index) {
    const at::Tensor tokens = (at::arange(kMicro * (kLong + 1), at::kLong) * 7 + index) % plan.dims.vocab_size;
    const at::Tensor rows = tokens.view({kMicro, kLong + 1});
    return MicroBatch{rows.narrow(1, 0, kLong).contiguous(), rows.narrow(1, 1, kLong).contiguous()};
  };
}

Use measure_step(std::uint32_t micro_batches) {
  return measure(micro_batches,
                 [](Executor& executor, const recipe::RunPlan& plan) { executor.run_step(long_batches(plan), 1000); });
}

// The sums of the tree grow with the depth of the tree; all else is that of the micro-batches in flight.
TEST(ExecutorMemory, DoesNotGrowWithTheMicroBatches) {
  use_one_thread();
  measure_step(8);  // what libraries keep from their first use
  const Use few = measure_step(8);
  const std::uint32_t count = 128;
  const Use many = measure_step(count);
  const std::int64_t levels = peak_gradient_sums(count, {0, count}) - peak_gradient_sums(8, {0, 8}),
                     most = levels * many.weights + kChance;
  EXPECT_LT(many.peak - few.peak, most);
  EXPECT_GT((count - 8) * kHidden, 2 * most) << "kept sends would show";
}

TEST(ExecutorMemory, DoesNotGrowWithTheBatchesOfAValidation) {
  use_one_thread();
  const auto validate = [](std::uint32_t batches) {
    return measure(2, [batches](Executor& executor, const recipe::RunPlan& plan) {
      executor.run_forward(
          long_batches(plan), batches, kMicro, kLong, [](std::uint32_t) { return kMicro; }, [] { return true; });
    });
  };
  validate(10);
  EXPECT_LT(validate(200).peak - validate(10).peak, kChance);
}

}  // namespace
}  // namespace titan::train::executor_test
