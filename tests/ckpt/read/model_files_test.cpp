// Files that came with a model: read once, written into every save, protected as all members are.
#include "ckpt/read/model_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ckpt/base/hash.h"
#include "ckpt/base/text.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/verifier.h"
#include "ckpt/read/weight_source.h"
#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::model_files_test {
namespace {

using ::testing::ElementsAre;
using testing::get_text;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::make_snapshot;
using testing::MemFs;
using testing::put_text;
using ::testing::SizeIs;
using testing::small_model;

ModelFile file_of(const std::string& member, const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {member, {bytes.begin(), bytes.end()}, digest_of(text)};
}

std::vector<std::string> members(const std::vector<ModelFile>& files) {
  std::vector<std::string> names;
  for (const ModelFile& file : files) names.push_back(file.member);
  return names;
}

class ModelFiles : public ::testing::Test {
 protected:
  Result<Published> save(Fs& fs, std::vector<ModelFile> files, const std::string& dir = "/run/checkpoint") {
    Snapshot snapshot = make_snapshot(small_model(), {2, 2, 1}, 64);
    if (!files.empty()) snapshot.model_files = std::make_shared<const std::vector<ModelFile>>(std::move(files));
    return testing::save(fs, dir, snapshot);
  }
  MemFs fs;
  const std::vector<ModelFile> two{file_of("hf/config.json", "{}"), file_of("hf/tokenizer.json", "words")};
};

TEST_F(ModelFiles, ASaveHasThemAndTheSameId) {
  testing::FailingFs watched(fs);
  const auto with = save(watched, two), without = save(fs, {}, "/other/checkpoint");
  ASSERT_TRUE(with.ok()) << with.status().to_string();
  EXPECT_EQ(with->id, without->id);
  EXPECT_EQ(get_text(fs, with->path + "/hf/tokenizer.json"), "words");
  const std::vector<testing::Call> calls = watched.calls();
  EXPECT_EQ(std::ranges::count_if(calls,
                                  [](const auto& call) {
                                    return call.op == testing::Op::kSetReadOnly &&
                                           call.path.find("/hf/") != std::string::npos;
                                  }),
            2);
  EXPECT_TRUE(verify_checkpoint(fs, with->path)->damage.empty());

  const auto source = open_weights(fs, with->path);
  ASSERT_TRUE(source.ok());
  std::vector<std::string> notes;
  const auto again = read_model_files(fs, (*source)->model_files(), notes);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_THAT(members(*again), ElementsAre("hf/config.json", "hf/tokenizer.json"));
  EXPECT_EQ((*again)[1].bytes, two[1].bytes);
  EXPECT_THAT(notes, IsEmpty());
  EXPECT_THAT((*open_weights(fs, without->path))->model_files(), IsEmpty()) << "model.h5 is made from the others";
}

TEST_F(ModelFiles, OneThatChangedIsDamageOfTheCheckpoint) {
  const auto published = save(fs, two);
  const std::string path = published->path + "/hf/tokenizer.json";
  std::vector<ModelFilePlace> places = CheckpointReader::open(fs, published->path)->model_files();
  ASSERT_TRUE(fs.remove_file(path).ok());
  std::vector<std::string> notes;
  EXPECT_EQ(read_model_files(fs, places, notes).status().code, Code::kCorrupt);
  ASSERT_TRUE(put_text(fs, path, "w0rds").ok());
  const auto read = read_model_files(fs, places, notes);
  EXPECT_EQ(read.status().code, Code::kCorrupt);
  EXPECT_THAT(read.status().message, HasSubstr("hf/tokenizer.json does not match its digest"));
  const auto report = verify_checkpoint(fs, published->path);
  ASSERT_THAT(report->damage, SizeIs(1));
  EXPECT_EQ(report->damage[0].unit, "derived");
}

TEST_F(ModelFiles, WhatIsTooLargeInAllIsLeftOutAndSaid) {
  ASSERT_TRUE(put_text(fs, "/hf/a", std::string(60, 'a')).ok());
  ASSERT_TRUE(put_text(fs, "/hf/b", std::string(50, 'b')).ok());
  ASSERT_TRUE(put_text(fs, "/hf/c", std::string(40, 'c')).ok());
  const std::vector<ModelFilePlace> places{
      {"", "/hf/a", "hf/a", {}}, {"", "/hf/b", "hf/b", {}}, {"", "/hf/c", "hf/c", {}}, {"", "/hf/gone", "hf/gone", {}}};
  std::vector<std::string> notes;
  const auto files = read_model_files(fs, places, notes, 100);
  ASSERT_TRUE(files.ok()) << files.status().to_string();
  EXPECT_THAT(members(*files), ElementsAre("hf/a", "hf/c"));
  EXPECT_THAT(
      notes,
      ElementsAre(
          "/hf/b does not go into the run's checkpoints: it has 50 bytes, and the files of a model 100 at most in all",
          HasSubstr("/hf/gone")));
}

TEST_F(ModelFiles, OneThatIsKnownByItsDigestAndCannotBeReadIsAnError) {
  ASSERT_TRUE(put_text(fs, "/hf/a", "words").ok());
  testing::FailingFs failing(fs);
  failing.arm({.op = testing::Op::kPread, .path_part = "/hf/a", .repeat = testing::Repeat::kSticky});
  std::vector<std::string> notes;
  const auto known = read_model_files(failing, {{"", "/hf/a", "hf/a", digest_of(std::string("words"))}}, notes);
  EXPECT_EQ(known.status().code, Code::kMediaError);
  EXPECT_TRUE(read_model_files(failing, {{"", "/hf/a", "hf/a", {}}}, notes).ok());
  EXPECT_THAT(notes, SizeIs(1));
}

TEST_F(ModelFiles, OneThatIsMadeOfWhatAFileSaysCountsAsTheOthers) {
  std::vector<ModelFilePlace> places{{"", "", "hf/config.json", {}, "{\"a\": 1}"}};
  std::vector<std::string> notes;
  const auto files = read_model_files(fs, places, notes, 8);
  ASSERT_TRUE(files.ok()) << files.status().to_string();
  ASSERT_THAT(members(*files), ElementsAre("hf/config.json"));
  EXPECT_EQ(text_of((*files)[0].bytes), "{\"a\": 1}");
  EXPECT_EQ((*files)[0].digest, digest_of(std::string("{\"a\": 1}")));
  EXPECT_THAT(*read_model_files(fs, places, notes, 7), IsEmpty());
  EXPECT_THAT(notes, ElementsAre(HasSubstr("hf/config.json does not go into the run's checkpoints: it has 8 bytes")));
  EXPECT_EQ(read_model_file(fs, places[0], 7).status().code, Code::kCorrupt);
}

TEST_F(ModelFiles, OnlyFilesInAFolderOfAFormatAreTaken) {
  Manifest manifest;
  for (const char* path :
       {"model/model.h5", "model/other", "optimizer/x", "plain", "hf/a/b", "hf/vocab.json", "gguf/x"}) {
    manifest.files.push_back({});
    manifest.files.back().path = path;
    manifest.files.back().role = FileRole::kDerived;
  }
  manifest.files.push_back({});
  manifest.files.back().path = "hf/shard";
  std::vector<std::string> found;
  for (const ModelFilePlace& place : model_files_in("/s", manifest)) found.push_back(place.member);
  EXPECT_THAT(found, ElementsAre("gguf/x", "hf/vocab.json"));
}

TEST_F(ModelFiles, ASaveThatCannotWriteThemFails) {
  testing::FailingFs failing(fs);
  using testing::Op;
  for (const Op op : {Op::kMakeDir, Op::kCreate, Op::kPwrite, Op::kDatasync, Op::kSyncDir}) {
    failing.arm({.op = op, .path_part = "/hf", .repeat = testing::Repeat::kSticky, .error = ENOSPC});
    EXPECT_FALSE(save(failing, two).ok()) << testing::op_name(op);
    EXPECT_TRUE(failing.fired()) << testing::op_name(op);
    EXPECT_THAT(testing::tree(fs, "/run/checkpoint"), IsEmpty()) << testing::op_name(op);
  }
  failing.disarm();
  EXPECT_TRUE(save(failing, two).ok());
}

TEST_F(ModelFiles, TheyCountWhereSpaceIsShort) {
  MemFs small(4 << 20);
  EXPECT_TRUE(save(small, {}).ok());
  EXPECT_THAT(save(small, {file_of("hf/tokenizer.json", std::string(3 << 20, 'x'))}, "/b/checkpoint").status().message,
              HasSubstr("not enough space"));
}

}  // namespace
}  // namespace titan::ckpt::model_files_test
