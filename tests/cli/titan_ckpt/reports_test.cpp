#include <gmock/gmock.h>

#include "cli/titan_ckpt/cat.h"
#include "cli/titan_ckpt/diff.h"
#include "cli/titan_ckpt/inspect.h"
#include "cli/titan_ckpt/ls.h"
#include "cli/titan_ckpt/verify.h"

namespace titan::cli::reports_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kEvil =
    "a\x1b]0;owned\x07"
    "b";
constexpr const char* kSafe = "a\\x1b]0;owned\\x07b";

ckpt::Manifest manifest() {
  ckpt::Manifest m;
  m.step = 7;
  m.created = kEvil;
  m.writer = kEvil;
  m.mesh = {1, 2, 1};
  m.components = {{"model", {}, 64, 100, 1}};
  ckpt::ParameterRecord record;
  record.meta = {kEvil, {4, 4}, 0};
  record.model = ckpt::StoredTensor{};
  m.parameters = {record};
  m.config = {{kEvil, kEvil}};
  return m;
}

/// Every text report made of hostile names.
std::vector<std::string> hostile_texts() {
  const TextStyle style;
  ckpt::ListReport list;
  list.folder = kEvil;
  list.leftovers = list.foreign = {kEvil};
  ckpt::InspectReport inspect{kEvil, manifest(), {}, ckpt::DataPosition{}, ckpt::TrainState{}};
  inspect.data->kind = inspect.data->tokenizer = kEvil;
  inspect.data->files = {{kEvil, 1, {}}};
  inspect.train->attempts.resize(1);
  inspect.train->attempts[0].schedule = inspect.train->attempts[0].version = kEvil;
  ckpt::VerifySummary verify;
  verify.steps = {{kEvil, {}, {{}, 1, 1, {{kEvil, "leaf", kEvil, 1, 2, 3, kEvil}}}}};
  ckpt::DiffReport diff;
  diff.a.path = diff.b.path = kEvil;
  diff.differences = {{"tensor", kEvil, kEvil, kEvil, {}}};
  diff.notes = {{"config", kEvil, kEvil, kEvil, {}}};
  ckpt::CatReport cat;
  cat.path = cat.tensor.name = cat.out = kEvil;
  return {ls_text(list, style), inspect_text(inspect, {"*", true, {}}, style), verify_text(verify, style),
          diff_text(diff, {}, style), cat_text(cat, style)};
}

TEST(Reports, EscapeEveryNameThatComesFromAFile) {
  for (const std::string& text : hostile_texts()) {
    EXPECT_THAT(text, HasSubstr(kSafe));
    EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\x07"))));
  }
}

TEST(DiffReport, HasNoDistanceWhereOnlyNonFiniteValuesDiffer) {
  ckpt::DiffReport report;
  ckpt::TensorDistance infinite{
      .elements = 4, .different = 1, .beyond = 1, .first_a = "inf", .first_b = "-0.63", .non_finite = 1};
  report.differences = {{"tensor", "w", "", "", infinite}};
  EXPECT_THAT(diff_text(report, {.stats = true}, {}), ::testing::ContainsRegex("w +n/a +n/a +n/a +n/a"));
  EXPECT_THAT(diff_json(report, true),
              HasSubstr(R"("max_abs":null,"max_rel":null,"beyond_tolerance":1,"mean_abs":null,"rms":null)"));
  infinite.different = 2;
  infinite.max_abs = infinite.sum_abs = 0.5;
  report.differences[0].distance = infinite;
  EXPECT_THAT(diff_text(report, {}, {}), ::testing::ContainsRegex("w +n/a +n/a +0 +0.5 "));
  EXPECT_THAT(diff_json(report, false), HasSubstr(R"("max_abs":0.5)"));
}

TEST(ListReport, PrintsStepsWithoutAManifestByTheirFolder) {
  ckpt::ListReport report{"run/checkpoint", {}, {}, {}};
  report.steps.push_back({.step = 3, .path = "p", .reason = "no manifest", .bytes = 2048, .mtime_ns = 940'000'000'000});
  report.steps.push_back({.step = 2,
                          .path = "q",
                          .valid = true,
                          .full = false,
                          .pinned = true,
                          .reason = "not a full checkpoint",
                          .bytes = 1,
                          .id = ckpt::digest_of("x"),
                          .mesh = ckpt::Mesh{3, 2, 1},
                          .created = "1970-01-01T00:10:00Z"});
  EXPECT_EQ(ls_text(report, {{}, false, 1000}),
            " step     size    age  mesh     state    id\n"
            "    3  2.0 KiB  1m00s  ?        invalid  ?             no manifest\n"
            "    2      1 B  6m40s  2x3      partial  " +
                ckpt::digest_of("x").hex().substr(0, 12) +
                "  not a full checkpoint; pinned\n"
                "total  2.0 KiB         2 steps\n");
  EXPECT_THAT(ls_json(report), AllOf(HasSubstr(R"("resume":null)"),
                                     HasSubstr(R"("id":null,"mesh":null,"saved":"1970-01-01T00:15:40Z")")));
}

TEST(InspectReport, SaysWhatIsAbsent) {
  const ckpt::InspectReport report{"p", manifest(), {}, {}, {}};
  EXPECT_THAT(
      inspect_text(report, {}, {}),
      AllOf(HasSubstr("LR schedule\n  absent"), HasSubstr("data position\n  absent"), HasSubstr("attempts\n  absent")));
  EXPECT_THAT(inspect_json(report, {}),
              AllOf(HasSubstr(R"("lr_schedule":null,"data":null,"train_state":null,"derived_from":null})"),
                    Not(HasSubstr("\"tensors\":["))));
}

TEST(InspectReport, SaysWhatEachSetHasGivenItself) {
  ckpt::InspectReport report{"p", manifest(), {}, ckpt::DataPosition{}, {}};
  report.data->samples = report.data->epoch_base = 30;
  for (const std::uint64_t drawn : {100, 40})
    report.data->sets.push_back({.name = "train.jsonl",
                                 .share = std::uint64_t{1} << 31,
                                 .samples = 100,
                                 .drawn = drawn,
                                 .uncounted = drawn == 100 ? 80u : 0u});
  EXPECT_THAT(inspect_text(report, {}, {}), AllOf(HasSubstr("set train.jsonl (1) 50 %: 20 samples drawn, 0.2 epochs"),
                                                  HasSubstr("set train.jsonl (2) 50 %: 40 samples drawn, 0.4 epochs")));
}

TEST(InspectReport, LeavesOutPhasesThatNeverApply) {
  ckpt::InspectReport report{"p", manifest(), {}, {}, {}};
  report.lr = ckpt::LrSchedule{
      {{1, ckpt::PhaseKind::kConstant, 0.5, 0.5, 1, 0}, {1, ckpt::PhaseKind::kCosine, 0.5, 0, 1, 10}}, {}};
  EXPECT_THAT(inspect_text(report, {}, {}),
              AllOf(Not(HasSubstr("constant")), HasSubstr("from step 1: cosine 0.5 -> 0 over 10 steps"),
                    HasSubstr("ends at step 10")));
}

TEST(VerifyReport, TellsUncheckedFromDamagedAndWhole) {
  ckpt::VerifySummary summary;
  summary.is_run = true;
  summary.steps = {{"new", ckpt::incompatible("format 2.0"), {}},
                   {"bad", {}, {{}, 1, 1, {{"f", "json", "", 0, 0, 5, "x"}}}},
                   {"good", {}, {{}, 3, 4096, {}}}};
  EXPECT_EQ(verify_text(summary, {}).substr(0, 95),
            "unchecked  new  format 2.0\ndamaged  bad  1 place\n  f: json, 5 bytes at offset 0: x\nok  good  3 ");
  EXPECT_FALSE(summary.ok());
  EXPECT_EQ(summary.unreadable().code, ckpt::Code::kIncompatible);
  summary.damage = 1;
  EXPECT_TRUE(summary.unreadable().ok());
}

TEST(VerifyReport, ListsWhatCannotBeReadApartFromDamage) {
  ckpt::VerifySummary summary;
  ckpt::VerifiedStep step{"p", {}, {}};
  step.report.unreadable = {{"model/s.h5", "leaf", "w", 3, 4096, 512, "pread: Input/output error"}};
  summary.add(step);
  EXPECT_FALSE(summary.ok());
  EXPECT_EQ(summary.unreadable().code, ckpt::Code::kMediaError);
  EXPECT_EQ(verify_text(summary, {}),
            "unreadable  p  1 place, no damage known\n  unreadable: model/s.h5: leaf 3 of w, 512 bytes at offset "
            "4,096: pread: Input/output error\n");
  EXPECT_THAT(verify_json(summary),
              AllOf(HasSubstr(R"("ok":false)"), HasSubstr(R"("damage":[])"),
                    HasSubstr(R"("unreadable":[{"checkpoint":"p","file":"model/s.h5","unit":"leaf")")));
  step.report.damage = {{"f", "json", "", 0, 0, 5, "x"}};
  step.report.not_named = 7;
  summary = {};
  summary.add(step);
  EXPECT_TRUE(summary.unreadable().ok()) << "damage is the answer (1)";
  EXPECT_EQ(summary.damage, 8u);
  EXPECT_THAT(verify_text(summary, {}),
              AllOf(HasSubstr("damaged  p  1 place, 1 place unreadable\n"), HasSubstr("  and 7 places more\n")));
}

TEST(DiffReport, NeverRoundsAShareToAllOrNothing) {
  ckpt::DiffReport report;
  ckpt::TensorDistance distance{.elements = 1'000'000, .different = 1};
  report.differences = {{"tensor", "t", "", "", distance}};
  EXPECT_THAT(diff_text(report, {}, {}), HasSubstr("<0.01%"));
  report.differences[0].distance->different = 999'999;
  EXPECT_THAT(diff_text(report, {}, {}), HasSubstr("99.99%"));
  report.differences[0].distance->different = 1'000'000;
  EXPECT_THAT(diff_text(report, {}, {}), HasSubstr(" 100%\n"));
}

TEST(CatReport, WritesNonFiniteValuesAsStringsInJson) {
  ckpt::CatReport report;
  report.first = {"1.5", "nan", "-inf"};
  EXPECT_THAT(cat_json(report), HasSubstr(R"("first":[1.5,"nan","-inf"],"last":[]})"));
}

}  // namespace
}  // namespace titan::cli::reports_test
