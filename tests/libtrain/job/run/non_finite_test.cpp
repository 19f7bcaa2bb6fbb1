#include "libtrain/job/run/non_finite.h"

#include <cmath>

#include <gmock/gmock.h>

#include "recipe/plan/plan_values.h"

namespace titan::train::non_finite_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Action = NonFinitePolicy::Action;

recipe::RunPlan plan() {
  recipe::RunPlan plan;
  plan.mesh.pp = 2;
  plan.parameters = {{"tok_embeddings.weight", {4}, 0}, {"layers.12.ffn_norm.weight", {4}, 1}};
  return plan;
}

NonFinitePolicy policy_of(const char* on_nonfinite) { return {on_nonfinite, 2, 2}; }

TEST(NonFinite, NamesTensorLayerAndStage) {
  const NonFinite found = non_finite(plan(), 5, {32, 8}, 2.5, NAN, 1);
  EXPECT_EQ(one_line(found),
            "step 5: non-finite gradient norm (samples 32 to 39); the first gradient by name that is not finite: "
            "layers.12.ffn_norm.weight (layer 12, stage 1)");
  EXPECT_EQ(where_it_is(non_finite(plan(), 5, {32, 8}, 2.5, NAN, 0)),
            "the first gradient by name that is not finite: tok_embeddings.weight (stage 0)");
  const NonFinite loss = non_finite(plan(), 5, {32, 8}, INFINITY, 1, {});
  EXPECT_EQ(one_line(loss), "step 5: non-finite loss (samples 32 to 39)");
  EXPECT_TRUE(all_finite(1, 1));
  EXPECT_FALSE(all_finite(NAN, 1) || all_finite(1, INFINITY));
}

TEST(NonFinitePolicy, AbortsAtOnce) {
  NonFinitePolicy policy = policy_of("abort");
  EXPECT_EQ(policy.meet(true), Action::kStop);
  const ckpt::Status status = policy.stop_status(non_finite(plan(), 5, {32, 8}, NAN, 1, 1));
  EXPECT_EQ(status.message, "step 5: non-finite loss; nothing was updated or saved");
  EXPECT_THAT(status.causes, ElementsAre(HasSubstr("(layer 12, stage 1)")));
  EXPECT_THAT(status.hint, HasSubstr("the newest checkpoint is intact; lower optimizer.lr"));
  EXPECT_THAT(status.hint, HasSubstr("(samples 32 to 39)"));
  EXPECT_EQ(policy.meet(false), Action::kStop);
  EXPECT_THAT(policy.stop_status(non_finite(plan(), 1, {0, 8}, NAN, 1, 1)).hint, Not(HasSubstr("intact")))
      << "there is none";
}

TEST(NonFinitePolicy, SkipsSoManyInARow) {
  NonFinitePolicy policy = policy_of("skip");
  EXPECT_FALSE(policy.goes_back());
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(policy.meet(false), Action::kSkip);
    EXPECT_EQ(policy.meet(false), Action::kSkip);
    policy.passed();
  }
  EXPECT_EQ(policy.meet(false), Action::kSkip);
  EXPECT_EQ(policy.meet(false), Action::kSkip);
  EXPECT_EQ(policy.meet(false), Action::kStop);
  EXPECT_THAT(policy.stop_status({}).message, HasSubstr("2 in a row were skipped (training.max_skips)"));
}

TEST(NonFinitePolicy, GoesBackSoManyTimesInAll) {
  NonFinitePolicy policy = policy_of("rollback");
  EXPECT_TRUE(policy.goes_back());
  EXPECT_EQ(policy.meet(true), Action::kRollback);
  policy.passed();
  EXPECT_EQ(policy.meet(true), Action::kRollback);
  EXPECT_EQ(policy.meet(true), Action::kStop);
  EXPECT_THAT(policy.stop_status({}).message, HasSubstr("went back 2 times (training.max_rollbacks)"));
  NonFinitePolicy empty = policy_of("rollback");
  EXPECT_EQ(empty.meet(false), Action::kStop);
  EXPECT_THAT(empty.stop_status({}).message, HasSubstr("there is no checkpoint to go back to"));
}

}  // namespace
}  // namespace titan::train::non_finite_test
