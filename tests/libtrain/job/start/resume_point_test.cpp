#include "libtrain/job/start/resume_point.h"

#include <gmock/gmock.h>

#include "ckpt/base/files.h"
#include "ckpt/base/path.h"
#include "ckpt/format/member_names.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/snapshot.h"
#include "ckpt/run/near_folder.h"
#include "ckpt/save/publish.h"
#include "recipe/keys/config.h"
#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/fake_weights.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::train::resume_point_test {
namespace {

using ckpt::testing::make_snapshot;
using ckpt::testing::MemFs;
using ckpt::testing::small_model;
using testing::HasSubstr;

constexpr const char* kOwn = "/own/checkpoint";
constexpr const char* kOther = "/other/checkpoint";

struct Folders {
  MemFs fs;

  std::string save(const char* dir, std::uint64_t step, const std::string& origin = "", std::uint64_t salt = 0) {
    EXPECT_TRUE(ckpt::make_dirs(fs, dir).ok());
    ckpt::Snapshot snapshot = make_snapshot(small_model(), {1, 1, 1}, 64, step);
    snapshot.train.origin = origin;
    const auto published = ckpt::testing::save(fs, dir, snapshot, salt);
    EXPECT_TRUE(published.ok()) << published.status().to_string();
    return published.ok() ? published->id.hex() : "";
  }

  /// Makes it look as if a later version of this toolkit had written the step.
  void of_a_newer_format(const std::string& step) {
    const std::string path = step + "/manifest.json", text = ckpt::testing::get_text(fs, path);
    const std::byte seven{'7'};
    EXPECT_TRUE(fs.overwrite(path, text.find("\"major\":1") + 8, {&seven, 1}).ok());
  }

  ckpt::Result<StartDecision> decide(const std::string& resume, const std::string& init_from = "") {
    StartRequest request;
    request.resume = resume;
    request.only_new = resume == "never";
    request.checkpoint_dir = kOwn;
    request.init_from = init_from;
    return decide_start(fs, request, {});
  }
};

TEST(DecideStart, RequiredTakesAStepAndNeverStartsAfresh) {
  Folders f;
  const StartRequest request = *start_request(recipe::Config{}, "required");
  EXPECT_EQ(request.resume, "auto");
  const auto decide = [&](const std::string& init_from) {
    StartRequest own = request;
    own.checkpoint_dir = kOwn;
    own.init_from = init_from;
    return decide_start(f.fs, own, {});
  };
  f.save(kOther, 40);
  for (const char* init_from : {"", "/other@40"}) {
    const auto refused = decide(init_from);
    EXPECT_EQ(refused.status().code, ckpt::Code::kNotFound);
    EXPECT_THAT(refused.status().message, HasSubstr(kOwn));
    EXPECT_THAT(refused.status().hint, HasSubstr("mounted"));
  }
  f.save(kOwn, 10);
  EXPECT_EQ(decide("")->step, 10u);
}

TEST(DecideStart, RequiredNeedsAFolderBeforeAnyIsCreated) {
  Folders f;
  for (const char* folder : {kOwn, kOther}) ASSERT_TRUE(ckpt::make_dirs(f.fs, folder).ok());
  StartRequest request = *start_request(recipe::Config{}, "required");
  request.checkpoint_dir = "/not-mounted/checkpoint";
  EXPECT_EQ(check_folder_to_resume(f.fs, request).code, ckpt::Code::kNotFound);
  request.near_root = kOther;
  EXPECT_TRUE(check_folder_to_resume(f.fs, request).ok()) << "its newest steps may be near";
  request.near_root = "/nowhere";
  request.checkpoint_dir = kOwn;
  EXPECT_TRUE(check_folder_to_resume(f.fs, request).ok());
  request = *start_request(recipe::Config{}, "auto");
  request.checkpoint_dir = "/not-mounted/checkpoint";
  EXPECT_TRUE(check_folder_to_resume(f.fs, request).ok()) << "a fresh start makes it";
}

TEST(DecideStart, AMistypedWordIsNoPath) {
  Folders f;
  f.save(kOwn, 10);
  const struct {
    const char *word, *hint;
  } cases[] = {{"Auto", "did you mean `auto`?"},
               {"NEVER", "did you mean `never`?"},
               {"requierd", "did you mean `required`?"},
               {"sometimes", "there is no file or folder of this name"}};
  for (const auto& c : cases) {
    StartRequest request = *start_request(recipe::Config{}, c.word);
    request.checkpoint_dir = kOwn;
    const ckpt::Status refused = decide_start(f.fs, request, {}).status();
    EXPECT_EQ(refused.code, ckpt::Code::kInvalid) << c.word;
    EXPECT_THAT(refused.message, HasSubstr("expected auto, required, never or a path")) << c.word;
    EXPECT_THAT(refused.hint, HasSubstr(c.hint)) << c.word;
  }
  // What has a slash or an "@", or is there, is a path; so is what no command line said.
  for (const char* path : {"gone/step", "gone@4"}) {
    StartRequest request = *start_request(recipe::Config{}, path);
    request.checkpoint_dir = "/new";
    EXPECT_EQ(decide_start(f.fs, request, {}).status().code, ckpt::Code::kNotFound) << path;
  }
  recipe::Config config;
  config.checkpoint.initial_load_path = "gone";
  config.checkpoint.initial_load_model_only = false;
  StartRequest request = *start_request(config, "auto");
  request.checkpoint_dir = "/new";
  EXPECT_EQ(decide_start(f.fs, request, {}).status().code, ckpt::Code::kNotFound);
}

// The launcher and `plan` decide before anything is put back.
TEST(DecideStart, AStepThatAnInterruptedToolMovedAsideIsTaken) {
  Folders f;
  f.save(kOwn, 10);
  const std::string step = std::string(kOwn) + "/step-00000010";
  ASSERT_TRUE(f.fs.make_dir(step + ".tmp-rewrite").ok());
  ASSERT_TRUE(f.fs.rename(step, step + ".tmp-rewrite/old").ok());
  StartRequest request = *start_request(recipe::Config{}, "required");
  request.checkpoint_dir = kOwn;
  for (const std::int64_t load_step : {-1, 10}) {
    request.load_step = load_step;
    const auto start = decide_start(f.fs, request, {});
    ASSERT_TRUE(start.ok()) << start.status().to_string();
    EXPECT_EQ(start->mode, StartMode::kResume);
    EXPECT_EQ(start->step, 10u);
    if (load_step < 0) {
      EXPECT_THAT(start->notes, testing::ElementsAre(HasSubstr("moved aside by an interrupted tool")));
    }
  }
}

TEST(DecideStart, AStopThatCouldNotSaveIsRefusedBeforeAnythingStarts) {
  recipe::Config config;
  config.debug.stop_at_step = 4;
  EXPECT_TRUE(start_request(config, "auto").ok());
  config.checkpoint.enable = false;
  const ckpt::Status refused = start_request(config, "auto").status();
  EXPECT_EQ(refused.code, ckpt::Code::kInvalid);
  EXPECT_EQ(refused.message, "debug.stop_at_step = 4 saves a step, but checkpoint.enable = false");
  EXPECT_FALSE(refused.hint.empty());
  config.debug.stop_at_step.reset();
  EXPECT_TRUE(start_request(config, "auto").ok());
}

TEST(DecideStart, AnotherRunsCheckpointStartsThisRunAndIsItsOrigin) {
  Folders f;
  const std::string id = f.save(kOther, 40);
  const auto start = f.decide("/other/checkpoint/step-00000040");
  ASSERT_TRUE(start.ok()) << start.status().to_string();
  EXPECT_EQ(start->mode, StartMode::kResume);
  EXPECT_EQ(start->origin, id);
  EXPECT_EQ(start->step, 40u);
}

TEST(DecideStart, TheSameCommandLineThenGoesOnWithTheRunsOwnNewestStep) {
  Folders f;
  const std::string id = f.save(kOther, 40);
  f.save(kOwn, 50, id, 1);
  for (const auto& [resume, init] : {std::pair{"/other@40", ""}, std::pair{"auto", "/other@40"}}) {
    const auto start = f.decide(resume, init);
    ASSERT_TRUE(start.ok()) << start.status().to_string();
    EXPECT_EQ(start->mode, StartMode::kResume);
    EXPECT_EQ(start->step, 50u);
    EXPECT_EQ(start->origin, "");
    EXPECT_TRUE(start->may_fall_back);
  }
}

TEST(DecideStart, ARunThatBeganElsewhereIsRefused) {
  Folders f;
  f.save(kOther, 40);
  f.save(kOwn, 50, "", 1);
  EXPECT_EQ(f.decide("/other@40").status().code, ckpt::Code::kIncompatible);
  EXPECT_EQ(f.decide("auto", "/other@40").status().code, ckpt::Code::kIncompatible);
  EXPECT_THAT(f.decide("auto", "/other@40").status().message, HasSubstr("did not begin from"));
}

TEST(DecideStart, AnotherRunsStepOfTheSameNumberIsNotTheRunsOwn) {
  Folders f;
  f.save(kOther, 50);
  f.save(kOwn, 50, "", 1);
  const auto refused = f.decide("/other@50");
  ASSERT_FALSE(refused.ok()) << refused->reason;
  EXPECT_EQ(refused.status().code, ckpt::Code::kIncompatible);
  EXPECT_THAT(refused.status().message, HasSubstr("did not begin from"));
}

TEST(DecideStart, WeightsWithoutAnIdAreNotThoseOfARunThatBeganFromNothing) {
  Folders f;
  f.save(kOwn, 50);
  StartRequest request;
  request.checkpoint_dir = kOwn;
  request.init_from = "weights";
  request.open_weights = [](ckpt::Fs&, const std::string&) -> ckpt::Result<std::unique_ptr<ckpt::WeightSource>> {
    return ckpt::testing::fake_weights({}, "");
  };
  const auto refused = decide_start(f.fs, request, {});
  EXPECT_EQ(refused.status().code, ckpt::Code::kIncompatible) << refused.status().to_string();
  EXPECT_THAT(refused.status().message, HasSubstr("did not begin from"));
}

TEST(DecideStart, AStepOfANewerFormatIsNeverPassedOver) {
  for (const char* resume : {"auto", "/other@40", "/gone@40"}) {
    Folders f;
    f.save(kOther, 40);
    f.save(kOwn, 50, "", 1);
    f.of_a_newer_format("/own/checkpoint/step-00000050");
    const auto refused = f.decide(resume);
    ASSERT_FALSE(refused.ok()) << resume << ": " << refused->reason;
    EXPECT_EQ(refused.status().code, ckpt::Code::kIncompatible) << refused.status().to_string();
    EXPECT_THAT(refused.status().to_string(), HasSubstr("format version 7")) << resume;
  }
}

TEST(DecideStart, WeightsStartANewRunWhileThereIsNoValidStep) {
  Folders f;
  const std::string id = f.save(kOther, 40);
  const auto start = f.decide("auto", "/other@latest");
  ASSERT_TRUE(start.ok()) << start.status().to_string();
  EXPECT_EQ(start->mode, StartMode::kTransfer);
  EXPECT_EQ(start->step, 0u);
  EXPECT_EQ(start->origin, id);
  EXPECT_THAT(start->reason, HasSubstr("a new run from the weights"));
}

TEST(DecideStart, WeightsThatAreGoneAreNoLongerNeededByARunThatBeganFromSome) {
  Folders f;
  f.save(kOwn, 50, "0123456789abcdef0123456789abcdef");
  const auto start = f.decide("auto", "/gone@40");
  ASSERT_TRUE(start.ok()) << start.status().to_string();
  EXPECT_EQ(start->step, 50u);
  Folders fresh;
  EXPECT_EQ(fresh.decide("auto", "/gone@40").status().code, ckpt::Code::kNotFound);
  Folders unrelated;
  unrelated.save(kOwn, 50);
  EXPECT_FALSE(unrelated.decide("auto", "/gone@40").ok());
}

TEST(DecideStart, WeightsThatDoNotOpenAreNoLongerNeededEither) {
  StartRequest request;
  request.checkpoint_dir = kOwn;
  request.init_from = "hf";
  for (const ckpt::Status& error :
       {ckpt::not_found("no such folder"), ckpt::incompatible("hf has no config.json"),
        ckpt::corrupt("hf/model.safetensors is cut short"), ckpt::failed("hf/config.json: permission denied"),
        ckpt::unsupported("hf: no such form")}) {
    request.open_weights = [&](ckpt::Fs&, const std::string&) -> ckpt::Result<std::unique_ptr<ckpt::WeightSource>> {
      return error;
    };
    Folders f;
    f.save(kOwn, 50, "0123456789abcdef0123456789abcdef");
    const auto start = decide_start(f.fs, request, {});
    ASSERT_TRUE(start.ok()) << start.status().to_string();
    EXPECT_EQ(start->mode, StartMode::kResume);
    EXPECT_EQ(start->step, 50u);
    EXPECT_THAT(start->notes,
                testing::ElementsAre(testing::AllOf(HasSubstr("hf cannot be compared"), HasSubstr(error.message))));
    // A new run needs them, and one that began without weights is not the run that the command line means.
    Folders fresh, unrelated;
    unrelated.save(kOwn, 50);
    EXPECT_EQ(decide_start(fresh.fs, request, {}).status().code, error.code);
    EXPECT_EQ(decide_start(unrelated.fs, request, {}).status().code, error.code);
  }
}

TEST(DecideStart, APathThatIsGoneIsNoLongerNeededByARunThatBeganFromOne) {
  Folders f;
  const std::string id = f.save(kOther, 40);
  f.save(kOther, 60, "", 2);
  f.save(kOwn, 50, id, 1);
  const std::string source = std::string(kOther) + "/step-00000040";
  ASSERT_TRUE(f.fs.remove_file(source + "/manifest.json").ok());
  for (const std::string& given :
       {std::string("/other@41"), std::string("/gone@40"), std::string("/gone/step-00000040"), source}) {
    const auto start = f.decide(given);
    ASSERT_TRUE(start.ok()) << given << ": " << start.status().to_string();
    EXPECT_EQ(start->mode, StartMode::kResume);
    EXPECT_EQ(start->step, 50u);
    EXPECT_EQ(start->origin, "");
    EXPECT_THAT(start->notes,
                testing::ElementsAre(HasSubstr(given + " cannot be compared with what the run began from, id " + id)));
    Folders fresh, unrelated;
    unrelated.save(kOwn, 50);
    EXPECT_EQ(fresh.decide(given).status().code, ckpt::Code::kNotFound);
    EXPECT_EQ(unrelated.decide(given).status().code, ckpt::Code::kNotFound) << "it began from nothing";
  }
  // A step of the run itself is taken or refused.
  for (const char* own : {"/own@49", "/own/checkpoint/step-00000049", "/own/checkpoint@49"})
    EXPECT_EQ(f.decide(own).status().code, ckpt::Code::kNotFound) << own;
  EXPECT_FALSE(f.decide("/other@60").ok()) << "one that is there is compared";
  // Folders that are there and are no checkpoints are slips.
  for (const char* folder : {"/own", "/own/checkpoint", "/other"})
    EXPECT_EQ(f.decide(folder).status().code, ckpt::Code::kNotFound) << folder;
  const std::byte wrong[] = {std::byte{0}};
  ASSERT_TRUE(f.fs.overwrite(std::string(kOther) + "/step-00000060/manifest.json", 20, wrong).ok());
  EXPECT_EQ(f.decide("/other@60").status().code, ckpt::Code::kCorrupt);
}

TEST(DecideStart, AStepByNumberOfARunFromWeightsMustHaveBegunFromThem) {
  Folders f;
  const std::string id = f.save(kOther, 40);
  f.save(kOther, 60, "", 2);
  f.save(kOwn, 50, id, 1);
  recipe::Config config;
  config.job.dump_folder = "/own";
  config.checkpoint.load_step = 50;
  const auto decide = [&](const char* weights) {
    config.checkpoint.initial_load_path = weights;
    const auto request = start_request(config, "auto");
    EXPECT_TRUE(request.ok());
    return decide_start(f.fs, *request, {});
  };
  const auto start = decide("/other@40");
  ASSERT_TRUE(start.ok()) << start.status().to_string();
  EXPECT_EQ(start->mode, StartMode::kResume);
  EXPECT_EQ(start->step, 50u);
  EXPECT_TRUE(decide("/gone@40").ok());
  EXPECT_EQ(decide("/other@60").status().code, ckpt::Code::kIncompatible);
  config.checkpoint.load_step = 49;
  EXPECT_EQ(decide("/other@40").status().code, ckpt::Code::kNotFound);
}

TEST(DecideStart, AnOlderStepOfTheRunIsRefusedAndTheNewestTaken) {
  Folders f;
  f.save(kOwn, 40);
  f.save(kOwn, 49, "", 2);
  f.save(kOwn, 50, "", 1);
  EXPECT_EQ(f.decide("/own@40").status().code, ckpt::Code::kIncompatible);
  EXPECT_EQ(f.decide("/own@49").status().code, ckpt::Code::kIncompatible) << "the one right before it, too";
  EXPECT_EQ(f.decide("/own@50")->step, 50u);
  EXPECT_EQ(f.decide("auto")->step, 50u);
  EXPECT_EQ(f.decide("never").status().code, ckpt::Code::kInvalid);
}

TEST(DecideStart, AnImportedStepWithoutADataPositionNeedsPermission) {
  Folders f;
  f.save(kOwn, 40);
  // As an import leaves it: valid, without the component dataloader.
  const std::string step = std::string(kOwn) + "/step-00000040";
  auto reader = ckpt::CheckpointReader::open(f.fs, step);
  ASSERT_TRUE(reader.ok());
  ckpt::Manifest manifest = reader->manifest();
  std::erase_if(manifest.components, [](const ckpt::ComponentEntry& c) { return c.name == "dataloader"; });
  std::erase_if(manifest.files, [](const ckpt::FileEntry& file) { return file.path == "dataloader.json"; });
  ASSERT_TRUE(f.fs.remove_file(step + "/dataloader.json").ok());
  ASSERT_TRUE(f.fs.remove_file(step + "/manifest.json").ok());
  ASSERT_TRUE(ckpt::write_manifest(f.fs, step, manifest).ok());
  const auto refused = f.decide("auto");
  EXPECT_EQ(refused.status().code, ckpt::Code::kIncompatible);
  EXPECT_THAT(refused.status().hint, HasSubstr("--allow training.dataset"));
  StartRequest request;
  request.checkpoint_dir = kOwn;
  request.exclude = {"dataloader"};
  const auto allowed = decide_start(f.fs, request, {});
  ASSERT_TRUE(allowed.ok()) << allowed.status().to_string();
  EXPECT_EQ(allowed->step, 40u);
}

TEST(DecideStart, AStepConvertedWithoutAConfigurationSaysWhatItLacks) {
  Folders f;
  f.save(kOwn, 40);
  const std::string step = std::string(kOwn) + "/step-00000040";
  auto reader = ckpt::CheckpointReader::open(f.fs, step);
  ASSERT_TRUE(reader.ok());
  ckpt::Manifest manifest = reader->manifest();
  for (const std::string name : {"lr_scheduler", "dataloader", "train_state"}) {
    std::erase_if(manifest.components, [&](const ckpt::ComponentEntry& c) { return c.name == name; });
    std::erase_if(manifest.files, [&](const ckpt::FileEntry& file) { return file.path == name + ".json"; });
    ASSERT_TRUE(f.fs.remove_file(step + "/" + name + ".json").ok());
  }
  ASSERT_TRUE(f.fs.remove_file(step + "/manifest.json").ok());
  ASSERT_TRUE(ckpt::write_manifest(f.fs, step, manifest).ok());
  for (const std::string& resume : {std::string("auto"), step}) {
    const auto refused = f.decide(resume);
    EXPECT_EQ(refused.status().code, ckpt::Code::kIncompatible) << resume;
    EXPECT_THAT(refused.status().message, HasSubstr("has no lr_scheduler, dataloader, train_state"));
    EXPECT_THAT(refused.status().hint, HasSubstr("--config torchtitan.toml"));
  }
}

// A run that reaches a valid step which no resume can take would end at its save, at every restart.
TEST(DecideStart, AValidStepInTheWayOfASaveIsRefusedAtTheStart) {
  Folders f;
  f.save(kOwn, 40);
  ckpt::Snapshot weights = make_snapshot(small_model(), {1, 1, 1}, 64, 60);
  weights.slots.clear();
  ASSERT_TRUE(ckpt::testing::save(f.fs, kOwn, weights).ok());
  ASSERT_TRUE(ckpt::write_new_file(f.fs, "/own/checkpoint/step-00000060/.keep", {}).ok());
  StartRequest request;
  request.checkpoint_dir = kOwn;
  request.saves = {.enabled = true, .interval = 20, .last = 100};
  const auto refused = decide_start(f.fs, request, {});
  EXPECT_EQ(refused.status().code, ckpt::Code::kIncompatible);
  EXPECT_THAT(refused.status().message, HasSubstr("step-00000060, pinned by .keep, is valid"));
  EXPECT_THAT(refused.status().hint, HasSubstr("move it out"));
  // A run that stops before it, or saves at other steps, is warned.
  for (const SavePlan& saves : {SavePlan{.enabled = true, .interval = 20, .last = 100, .stop_at = 50},
                                SavePlan{.enabled = true, .interval = 50, .last = 100}}) {
    request.saves = saves;
    const auto start = decide_start(f.fs, request, {});
    ASSERT_TRUE(start.ok()) << start.status().to_string();
    EXPECT_EQ(start->step, 40u);
    EXPECT_THAT(start->notes, ::testing::ElementsAre(HasSubstr("a save of step 60 moves it aside")));
  }
  request.saves.enabled = false;
  EXPECT_TRUE(decide_start(f.fs, request, {})->notes.empty());
}

TEST(DecideStart, ADamagedStepIsNotInTheWay) {
  Folders f;
  f.save(kOwn, 40);
  f.save(kOwn, 60);
  StartRequest request;
  request.checkpoint_dir = kOwn;
  request.saves = {.enabled = true, .interval = 20, .last = 100};
  const auto start = decide_start(f.fs, request, {60});
  ASSERT_TRUE(start.ok()) << start.status().to_string();
  EXPECT_EQ(start->step, 40u);
}

TEST(SavePlan, NamesTheStepsThatARunPublishesForCertain) {
  const SavePlan saves{.enabled = true, .interval = 10, .last = 25, .first = true};
  for (const std::uint64_t step : {1, 10, 20, 25}) EXPECT_TRUE(saves.publishes(step)) << step;
  for (const std::uint64_t step : {2, 15, 30}) EXPECT_FALSE(saves.publishes(step)) << step;
  const SavePlan stopped{.enabled = true, .interval = 10, .last = 25, .stop_at = 15};
  for (const std::uint64_t step : {10, 15}) EXPECT_TRUE(stopped.publishes(step)) << step;
  for (const std::uint64_t step : {1, 20, 25}) EXPECT_FALSE(stopped.publishes(step)) << step;
}

TEST(DecideStart, TheNewestStepMayBeALink) {
  Folders f;
  f.save(kOther, 40);
  ASSERT_TRUE(ckpt::make_dirs(f.fs, kOwn).ok());
  ASSERT_TRUE(f.fs.symlink("/other/checkpoint/step-00000040", "/own/checkpoint/step-00000040").ok());
  const auto start = f.decide("auto");
  ASSERT_TRUE(start.ok()) << start.status().to_string();
  EXPECT_EQ(start->step, 40u);
  EXPECT_THAT(start->notes, ::testing::ElementsAre(HasSubstr("is a link to /other/checkpoint/step-00000040")));
}

TEST(DecideStart, ATorchRunIsNotAbandonedSilently) {
  Folders f;
  ASSERT_TRUE(ckpt::make_dirs(f.fs, "/own/checkpoint/step-10").ok());
  EXPECT_TRUE(f.decide("auto").ok()) << "an empty folder is no checkpoint";
  ASSERT_TRUE(ckpt::write_new_file(f.fs, "/own/checkpoint/step-10/.metadata", {}).ok());
  const auto refused = f.decide("auto");
  EXPECT_EQ(refused.status().code, ckpt::Code::kIncompatible);
  EXPECT_THAT(refused.status().message, HasSubstr("holds torch checkpoints (step-10)"));
  EXPECT_THAT(refused.status().hint, HasSubstr("titan-ckpt convert /own/checkpoint/step-10"));
  EXPECT_TRUE(f.decide("never").ok());
  f.save(kOwn, 50);
  EXPECT_EQ(f.decide("auto")->step, 50u) << "a step of its own goes on";
}

/// Calls of Fs::stat that a decision makes in a folder of `steps` steps; those below the older ones are counted apart.
struct Looks {
  std::uint64_t all = 0, older = 0;
};
Looks looks_of(int steps, const std::string& resume) {
  Folders f;
  for (int step = 1; step <= steps; ++step)
    f.save(kOwn, static_cast<std::uint64_t>(step) * 10, "", static_cast<std::uint64_t>(step));
  const std::string newest = kOwn + std::string("/") + ckpt::step_name(static_cast<std::uint64_t>(steps) * 10);
  ckpt::testing::FailingFs counted(f.fs);
  StartRequest request;
  request.resume = resume;
  request.checkpoint_dir = kOwn;
  const auto start = decide_start(counted, request, {});
  EXPECT_TRUE(start.ok()) << start.status().to_string();
  EXPECT_EQ(start->path, newest);
  EXPECT_TRUE(start->manifest && start->manifest->step == start->step) << "whoever loads it need not look again";
  Looks looks;
  for (const ckpt::testing::Call& call : counted.calls()) {
    if (call.op != ckpt::testing::Op::kStat) continue;
    ++looks.all;
    if (call.path.find("/step-") != std::string::npos && call.path.find(newest) == std::string::npos) ++looks.older;
  }
  return looks;
}

TEST(DecideStart, OnlyTheStepThatIsTakenIsLookedAt) {
  Folders f;
  f.save(kOwn, 10);
  const std::uint64_t files =
      ckpt::CheckpointReader::open(f.fs, std::string(kOwn) + "/step-00000010")->manifest().files.size();
  const Looks one = looks_of(1, "auto"), many = looks_of(20, "auto");
  EXPECT_EQ(many.older, 0u);
  EXPECT_EQ(many.all, one.all) << "however many steps there are";
  EXPECT_LE(one.all, files + 2) << "its members, its manifest, its pin";
  EXPECT_EQ(looks_of(20, std::string(kOwn) + "/step-00000200").older, 0u) << "by name, too";
}

TEST(DecideStart, OlderStepsAreLookedAtAsFarAsNewerOnesAreDamaged) {
  Folders f;
  for (const std::uint64_t step : {10, 20, 30, 40}) f.save(kOwn, step, "", step);
  for (const char* name : {"/step-00000040/manifest.json", "/step-00000030/train_state.json"})
    ASSERT_TRUE(f.fs.remove_file(kOwn + std::string(name)).ok());
  ckpt::testing::FailingFs counted(f.fs);
  StartRequest request;
  request.checkpoint_dir = kOwn;
  const auto start = decide_start(counted, request, {});
  ASSERT_TRUE(start.ok()) << start.status().to_string();
  EXPECT_EQ(start->step, 20u);
  EXPECT_THAT(start->skipped, testing::ElementsAre(HasSubstr("step-00000040: "), HasSubstr("step-00000030: ")));
  for (const ckpt::testing::Call& call : counted.calls())
    EXPECT_EQ(call.path.find("step-00000010"), std::string::npos) << call.path;
}

TEST(DecideStart, TwoPathsToStartFromAreAUsageError) {
  recipe::Config config;
  config.checkpoint.initial_load_path = "/a";
  EXPECT_EQ(start_request(config, "/b").status().code, ckpt::Code::kInvalid);
  EXPECT_EQ(start_request(config, "auto")->init_from, "/a");
  config.checkpoint.initial_load_model_only = false;
  EXPECT_EQ(start_request(config, "auto")->resume, "/a");
  EXPECT_EQ(start_request(config, "auto")->init_from, "");
  EXPECT_EQ(start_request(config, "never")->resume, "/a");
  EXPECT_TRUE(start_request(config, "never")->only_new);
  recipe::Config step;
  step.checkpoint.load_step = 40;
  EXPECT_EQ(start_request(step, "/b").status().code, ckpt::Code::kInvalid);
  step.checkpoint.initial_load_path = "/a";
  step.checkpoint.initial_load_model_only = false;
  EXPECT_THAT(start_request(step, "auto").status().message, HasSubstr("a run starts from one checkpoint"));
  recipe::Config map;
  map.checkpoint.initial_load_map = "/rules.toml";
  EXPECT_EQ(start_request(map, "auto").status().code, ckpt::Code::kInvalid);
  recipe::Config skip;
  skip.checkpoint.initial_load_skip = {"a"};
  EXPECT_THAT(start_request(skip, "auto").status().message, HasSubstr("without --init-from"));
}

// A run folder and its near folder, which lies below /near.
struct NearFolders : Folders {
  std::string near;
  NearFolders() {
    EXPECT_TRUE(ckpt::make_dirs(fs, kOwn).ok());
    near = *ckpt::open_near(fs, kOwn, "/near");
  }
  std::string save_of(const std::string& dir, std::uint64_t step, std::uint32_t attempt, std::uint64_t salt = 0) {
    ckpt::Snapshot snapshot = make_snapshot(small_model(), {1, 1, 1}, 64, step);
    snapshot.train.attempts.back().number = attempt;
    const auto published = ckpt::testing::save(fs, dir, snapshot, salt);
    EXPECT_TRUE(published.ok()) << published.status().to_string();
    return published.ok() ? published->path : "";
  }
  StartDecision decide_near(const std::set<std::uint64_t>& damaged = {}, const std::set<std::uint64_t>& lost = {}) {
    StartRequest request;
    request.checkpoint_dir = kOwn;
    request.near_root = "/near";
    request.near_lost = lost;
    const auto decision = decide_start(fs, request, damaged);
    EXPECT_TRUE(decision.ok()) << decision.status().to_string();
    return decision.ok() ? *decision : StartDecision{};
  }
};

TEST(DecideNear, TheNewestStepOfEitherFolderIsTaken) {
  NearFolders f;
  EXPECT_EQ(f.decide_near().mode, StartMode::kFresh);
  const std::string first = f.save_of(f.near, 10, 1);
  StartDecision decision = f.decide_near();
  EXPECT_EQ(decision.path, first);
  EXPECT_TRUE(decision.near);
  EXPECT_FALSE(decision.durable);
  const std::string second = f.save_of(kOwn, 20, 1);
  decision = f.decide_near();
  EXPECT_EQ(decision.path, second);
  EXPECT_FALSE(decision.near);
  EXPECT_TRUE(decision.durable);
  EXPECT_EQ(f.decide("auto")->path, second) << "without checkpoint.near the run folder alone counts";
}

TEST(DecideNear, AnEqualCopyIsReadFromTheNearFolder) {
  NearFolders f;
  const std::string own = f.save_of(kOwn, 10, 1), near = f.save_of(f.near, 10, 1);
  ASSERT_TRUE(ckpt::note_durable(f.fs, near).ok());
  StartDecision decision = f.decide_near();
  EXPECT_EQ(decision.path, near);
  EXPECT_TRUE(decision.near);
  EXPECT_TRUE(decision.durable);
  EXPECT_EQ(f.decide_near({10}).path, near) << "the near copy outlives damage of the other";
  EXPECT_EQ(f.decide_near({}, {10}).path, own);
  ASSERT_TRUE(f.fs.remove_file(ckpt::join_path(own, "train_state.json")).ok());
  EXPECT_EQ(f.decide_near().path, near);
  ASSERT_TRUE(ckpt::remove_tree(f.fs, f.near).ok());
  ASSERT_TRUE(ckpt::remove_tree(f.fs, own).ok());
  const std::string other = f.save_of(kOwn, 10, 1, 5);
  f.save_of(f.near, 10, 1);
  EXPECT_EQ(f.decide_near().path, other) << "another checkpoint is the run folder's";
}

TEST(DecideNear, WhatWasRemovedFromTheRunFolderIsNotTaken) {
  NearFolders f;
  const std::string older = f.save_of(kOwn, 10, 1), near = f.save_of(f.near, 20, 1);
  ASSERT_TRUE(ckpt::note_durable(f.fs, near).ok());
  EXPECT_EQ(f.decide_near().path, older);
}

TEST(DecideNear, AStartThatWentOnWithoutItMakesItStale) {
  NearFolders f;
  const std::string later = f.save_of(kOwn, 10, 3);
  f.save_of(f.near, 20, 2);
  const StartDecision decision = f.decide_near();
  EXPECT_EQ(decision.path, later);
  ASSERT_EQ(decision.skipped.size(), 1u);
  EXPECT_THAT(decision.skipped[0], HasSubstr("is of start 2 of the run"));
  const std::string newest = f.save_of(f.near, 30, 3);
  EXPECT_EQ(f.decide_near().path, newest);
}

TEST(DecideNear, DamageInTheNearFolderCostsItsStepAlone) {
  NearFolders f;
  const std::string own = f.save_of(kOwn, 10, 1), near = f.save_of(f.near, 20, 1);
  EXPECT_EQ(f.decide_near({20}).path, near) << "of the run folder";
  EXPECT_EQ(f.decide_near({}, {20}).path, own);
  ASSERT_TRUE(f.fs.remove_file(ckpt::join_path(near, "train_state.json")).ok());
  EXPECT_EQ(f.decide_near().path, own);
}

TEST(DecideNear, AStepIsNamedInEitherFolder) {
  NearFolders f;
  f.save_of(kOwn, 10, 1);
  const std::string near = f.save_of(f.near, 20, 1);
  StartRequest request;
  request.checkpoint_dir = kOwn;
  request.near_root = "/near";
  request.load_step = 20;
  EXPECT_EQ(decide_start(f.fs, request, {})->path, near);
  EXPECT_FALSE(decide_start(f.fs, request, {})->durable);
  request.load_step = 10;
  const ckpt::Status older = decide_start(f.fs, request, {}).status();
  EXPECT_EQ(older.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(older.message, HasSubstr("older than step 20"));
}

}  // namespace
}  // namespace titan::train::resume_point_test
