#include "libtrain/job/start/read_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/base/files.h"
#include "ckpt/store/media_watch.h"
#include "recipe/keys/config.h"
#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/mem_fs.h"

namespace titan::train::read_errors_test {
namespace {

using ckpt::Code;
using ckpt::Status;
using ckpt::UnreadablePlace;
using ckpt::testing::FailingFs;
using ckpt::testing::MemFs;
using ckpt::testing::Op;
using ckpt::testing::Repeat;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kDir = "/run/checkpoint";

struct Start {
  MemFs memory;
  FailingFs fs{memory};
  recipe::Config config;
  StartRequest request;
  std::vector<std::string> said;

  Start() {
    request.checkpoint_dir = kDir;
    for (const std::uint64_t step : {10, 20, 30}) {
      EXPECT_TRUE(ckpt::make_dirs(memory, kDir).ok());
      EXPECT_TRUE(ckpt::testing::save(memory, kDir,
                                      ckpt::testing::make_snapshot(ckpt::testing::small_model(), {1, 1, 1}, 64, step))
                      .ok());
    }
  }
  ckpt::Result<StartDecision> decide() { return decide_alone(fs, config, request, {}, &said); }
  // The newest step's manifest cannot be read, now or ever.
  void lose(const char* what = "step-00000030/manifest.json") {
    fs.arm({.op = Op::kPread, .path_part = what, .repeat = Repeat::kSticky});
  }
};

TEST(ReadErrors, StopAndTheHintNamesTheKeyThatGoesOn) {
  Start start;
  start.lose();
  const auto decision = start.decide();
  ASSERT_FALSE(decision.ok());
  EXPECT_EQ(decision.status().code, Code::kMediaError);
  EXPECT_THAT(decision.status().hint, HasSubstr("checkpoint.on_read_error = \"fallback\""));
  EXPECT_THAT(decision.status().to_string(), HasSubstr("step-00000030/manifest.json"));
}

TEST(ReadErrors, FallbackPassesOverTheStepAndSaysSoAndLeavesItAsItIs) {
  Start start;
  start.config.checkpoint.on_read_error = "fallback";
  start.lose();
  const auto before = start.memory.list(kDir);
  const auto decision = start.decide();
  ASSERT_TRUE(decision.ok()) << decision.status().to_string();
  EXPECT_EQ(decision->step, 20u);
  EXPECT_THAT(start.request.unreadable, ElementsAre(30));
  EXPECT_THAT(start.said, ElementsAre(HasSubstr("step 30 cannot be read and is skipped")));
  EXPECT_EQ(*start.memory.list(kDir), *before);
}

TEST(ReadErrors, SeveralStepsMayBePassedOverUntilOneIsWhole) {
  Start start;
  start.config.checkpoint.on_read_error = "fallback";
  start.fs.arm({.op = Op::kPread, .path_part = "manifest.json", .repeat = Repeat::kSticky});
  const auto decision = start.decide();
  EXPECT_FALSE(decision.ok()) << "none is left";
  EXPECT_NE(decision.status().code, Code::kMediaError);
  EXPECT_THAT(start.request.unreadable, ElementsAre(10, 20, 30));
}

TEST(ReadErrors, WhatCanBeReadASecondTimeIsNotPassedOver) {
  Start start;
  start.config.checkpoint.on_read_error = "fallback";
  start.fs.arm({.op = Op::kPread, .path_part = "step-00000030/manifest.json"});  // once
  const auto decision = start.decide();
  ASSERT_FALSE(decision.ok());
  EXPECT_EQ(decision.status().code, Code::kMediaError);
  EXPECT_THAT(decision.status().to_string(), HasSubstr("a second reader could read the same place"));
  EXPECT_TRUE(start.request.unreadable.empty());
}

TEST(ReadErrors, AnotherErrorThanOneOfTheMediumIsNeverPassedOver) {
  Start start;
  start.config.checkpoint.on_read_error = "fallback";
  for (const int error : {EACCES, EMFILE, ENOMEM}) {
    start.fs.arm(
        {.op = Op::kOpenRead, .path_part = "step-00000030/manifest.json", .repeat = Repeat::kSticky, .error = error});
    EXPECT_EQ(start.decide().status().code, Code::kFailed);
  }
  // Confirmed only by the same kind of error.
  const UnreadablePlace place{"/run/checkpoint/step-00000030", "model/a"};
  const auto step = step_to_skip(start.config, start.request, ckpt::media_error("first"), place,
                                 [](const UnreadablePlace&) { return ckpt::failed("too many open files"); });
  EXPECT_EQ(step.status().code, Code::kMediaError);
  EXPECT_THAT(step.status().to_string(), HasSubstr("too many open files"));
}

TEST(ReadErrors, OnlyAStepThatTheStartChoseByItselfIsPassedOver) {
  Start start;
  start.config.checkpoint.on_read_error = "fallback";
  const UnreadablePlace place{"/run/checkpoint/step-00000030", "model/a", 5, 6};
  const auto again = [](const UnreadablePlace&) { return ckpt::media_error("again"); };
  const Status error = ckpt::media_error("first");
  EXPECT_EQ(*step_to_skip(start.config, start.request, error, place, again), 30u);
  EXPECT_EQ(step_to_skip(start.config, start.request, error, std::nullopt, again).status(), error);
  EXPECT_EQ(step_to_skip(start.config, start.request, error,
                         UnreadablePlace{"/other/checkpoint/step-00000030", "model/a"}, again)
                .status(),
            error);
  EXPECT_EQ(step_to_skip(start.config, start.request, error, UnreadablePlace{"/run", ""}, again).status(), error);
  for (const char* resume : {"/run@30", "never"}) {
    start.request.resume = resume;
    EXPECT_EQ(step_to_skip(start.config, start.request, error, place, again).status(), error);
  }
  start.request.resume = "auto";
  start.request.load_step = 30;
  EXPECT_EQ(step_to_skip(start.config, start.request, error, place, again).status(), error);
}

TEST(ReadErrors, ThoseOfTheNearFolderCostItsStepsAlone) {
  Start start;
  start.config.checkpoint.on_read_error = "stop";
  start.request.near_root = "/shm";
  const UnreadablePlace place{"/shm/titan-12/step-00000030", "model/a", 5, 6},
      own{"/run/checkpoint/step-00000030", "model/a"};
  const Status error = ckpt::media_error("first");
  const auto again = [](const UnreadablePlace&) { return ckpt::media_error("again"); };
  EXPECT_TRUE(is_near_place(start.request, place));
  EXPECT_FALSE(is_near_place(start.request, own));
  EXPECT_EQ(*step_to_skip(start.config, start.request, error, place, again), 30u);
  EXPECT_FALSE(step_to_skip(start.config, start.request, error, own, again).ok());
}

}  // namespace
}  // namespace titan::train::read_errors_test
