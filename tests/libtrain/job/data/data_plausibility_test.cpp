#include "libtrain/job/data/data_plausibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scratch_dir.h"

namespace titan::train::data_plausibility_test {
namespace {

using ckpt::Code;
using testing::HasSubstr;

constexpr TokenKind kText = TokenKind::kUtf8Bytes, kIds = TokenKind::kUint16;

TEST(DataPlausibility, NamesOfOtherKindsAreRefusedWithAWayToMakeThemReadable) {
  const struct {
    const char *path, *what, *hint;
  } cases[] = {
      {"d/x.jsonl", "'d/x.jsonl' is JSON lines, not text",
       "\n    import json\n    with open(\"d/x.txt\", \"w\") as text, open(\"d/x.jsonl\", encoding=\"utf-8-sig\") as "
       "rows:\n"},
      {"X.JSONL", "is JSON lines", "rename it to .txt"},
      {"x.ndjson", "is JSON lines", "json.loads"},
      {"x.json", "is JSON, not text", "json.load(file)"},
      {"x.parquet", "is Parquet", "pandas.read_parquet(\"x.parquet\")"},
      {"x.arrow", "is Arrow", "Dataset.from_file(\"x.arrow\")"},
      {"x.txt.gz", "is packed by gzip", "gzip -dc < x.txt.gz > NEW.txt"},
      {"x.jsonl.zst", "is packed by zstd", "zstd -dc < "},
      {"x.tar.gz", "is a tar archive", "tar -xf x.tar.gz"},
      {"quo\"te.json", "is JSON", "open(\"quo\\\"te.json\", encoding=\"utf-8-sig\")"},
  };
  for (const auto& c : cases) {
    const ckpt::Status status = check_data_name(c.path, kText);
    EXPECT_EQ(status.code, Code::kInvalid) << c.path;
    EXPECT_THAT(status.message, HasSubstr(c.what));
    EXPECT_THAT(status.hint, HasSubstr(c.hint));
    EXPECT_EQ(check_data_name(c.path, kIds).code, Code::kInvalid) << c.path;
  }
  EXPECT_THAT(check_data_name("x.jsonl", kIds).hint, HasSubstr("titan-ckpt tokenize x.jsonl -o DATA"));
  for (const char* path : {"x.txt", "x", "x.py", "x.md", "json", "x.csv", "x.log"})
    EXPECT_TRUE(check_data_name(path, kText).ok()) << path;
  EXPECT_THAT(check_data_name("x.npy", kText).hint, HasSubstr("--training.dataset=tokens"));
  for (const char* path : {"x.bin", "x.u16", "x.npy"}) EXPECT_TRUE(check_data_name(path, kIds).ok()) << path;
}

TEST(DataPlausibility, WhatBeginsAsAnArchiveIsNoText) {
  EXPECT_THAT(check_data_bytes("x.txt", "\x1f\x8b\x08", kText).message, HasSubstr("packed by gzip"));
  EXPECT_THAT(check_data_bytes("x.txt", "PAR1", kText).message, HasSubstr("Parquet"));
  EXPECT_THAT(check_data_bytes("x.txt",
                               std::string("\xff\xfe"
                                           "a\0",
                                           4),
                               kText)
                  .hint,
              HasSubstr("iconv -f UTF-16 -t UTF-8 x.txt"));
  EXPECT_TRUE(check_data_bytes("x.bin", "\x1f\x8b\x08", kIds).ok()) << "ids may be anything";
  EXPECT_TRUE(check_data_bytes("x.txt", "", kText).ok());
}

TEST(DataPlausibility, BinaryAsTextAndTextAsIdsAreDoubted) {
  const std::string ids("\x07\0\x41\0", 4), text(100, 'x');
  EXPECT_THAT(doubt_of("x", ids, kText).message,
              HasSubstr("'x' is binary, not text: 3 of its first 4 bytes are control characters"));
  EXPECT_TRUE(doubt_of("x", "a\tb\r\nc\x1b[1m\f", kText).ok());
  EXPECT_TRUE(doubt_of("x", std::string("1234567\0", 8), kText).ok()) << "one in eight";
  EXPECT_FALSE(doubt_of("x", std::string("123456\0", 7), kText).ok());
  EXPECT_TRUE(doubt_of("x", "", kText).ok());
  EXPECT_THAT(doubt_of("x", text, kIds).message, HasSubstr("'x' is text, not tokens"));
  EXPECT_TRUE(doubt_of("x", text.substr(0, 63), kIds).ok()) << "too few to tell";
  EXPECT_TRUE(doubt_of("x.bin", "PAR1", kIds).ok()) << "two ids by chance";
  EXPECT_THAT(doubt_of("x.bin", "\x89HDF\r\n\x1a\n", kIds).message, HasSubstr("an HDF5 file, not bare tokens"));
  EXPECT_THAT(doubt_of("x.txt", "%PDF-1.7 and so on", kText).message, HasSubstr("a PDF document, not text"));
  EXPECT_THAT(doubt_of("x.txt", "version https://git-lfs.github.com/spec/v1\noid", kText).hint,
              HasSubstr("git lfs pull"));
  for (const char* text : {"<!DOCTYPE html>", "#!/bin/sh\necho", "{\"a\": 1}"})
    EXPECT_TRUE(doubt_of("x.txt", text, kText).ok()) << text << ": some train on such";
  EXPECT_TRUE(doubt_of("x", text + '\0', kIds).ok());
}

TEST(DataPlausibility, OddFilesAreWarnedOf) {
  EXPECT_THAT(odd_look("{\"text\": 1}\n{\"text\": 2}\n", kText), HasSubstr("JSON lines"));
  EXPECT_EQ(odd_look("{\"text\": 1\n}", kText), "");
  const std::string row = "{\"time\": \"2026-11-21T22:30:51\"}\n";
  EXPECT_THAT(odd_look(row + row + row, kText), HasSubstr("JSON lines")) << "though it has times as a log has";
  EXPECT_EQ(odd_look("", kText), "");
  EXPECT_EQ(odd_look(std::string(2, '\0'), kIds), "");
}

TEST(DataPlausibility, LogsAreKnownByTheTimesThatTheirLinesBeginWith) {
  for (const std::string line : {"2026-11-21T22:30:51.066Z I r0 step 1", "Nov 22 21:00:01 host sshd[1]: accepted",
                                 "[titan] 2026-11-22 21:00:01,123 - root - INFO - step: 1",
                                 "1.2.3.4 - - [22/Nov/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 200"}) {
    EXPECT_EQ(odd_look(line + "\n" + line + "\n\n" + line, kText), "looks like a log") << line;
    EXPECT_EQ(odd_look(line + "\n" + line + "\n", kText), "") << "too few to tell";
    EXPECT_EQ(odd_look(line + "\nand\n" + line + "\nthen\n" + line + "\nprose\n", kText), "") << "half is not most";
  }
  EXPECT_EQ(odd_look("At 9:30 she left.\nAt 10:00:5 she came.\nThe ratio is 1:2:3.\n", kText), "");
}

TEST(DataPlausibility, FoldersOfOtherThingsAreRefused) {
  const ScratchDir dir;
  dir.write("run/checkpoint/step-00000004/manifest.json", "");
  std::filesystem::create_directories(dir / "run/checkpoint/step-00000004/model");
  dir.write("started/metrics.jsonl", "");
  dir.write("started/config.toml", "");
  dir.write("locked/checkpoint/run.lock", "");
  dir.write("titan/checkpoint/step-10/.metadata", "");
  dir.write("hf/config.json", "");
  dir.write("hf/model-00001-of-00002.safetensors", "");
  dir.write("data/step-by-step.txt", "");
  dir.write("data/step-1/x.txt", "");
  dir.write("good/metrics.jsonl", "");
  dir.write("good/checkpoint/x.txt", "");
  const auto refusal = [&](const char* folder) { return check_data_folder(dir / folder, "key"); };
  EXPECT_THAT(refusal("run").message, HasSubstr("run' is a run folder, not a folder of data"));
  EXPECT_THAT(refusal("titan").message, HasSubstr("is a run folder")) << "torchtitan's";
  EXPECT_THAT(refusal("started").message, HasSubstr("is a run folder"));
  EXPECT_THAT(refusal("locked").message, HasSubstr("is a run folder"));
  EXPECT_THAT(refusal("run/checkpoint").message, HasSubstr("is a folder of checkpoints"));
  EXPECT_THAT(refusal("run/checkpoint/step-00000004").message, HasSubstr("is a checkpoint"));
  EXPECT_THAT(refusal("hf").hint, HasSubstr("--init-from "));
  dir.write("mds/index.json", "{}");
  dir.write("mds/shard.00000.mds", "");
  dir.write("lit/index.json", "{}");
  dir.write("lit/chunk-0-0.bin", "");
  EXPECT_THAT(refusal("mds").message, HasSubstr("MosaicML"));
  EXPECT_THAT(refusal("mds").hint, HasSubstr("from streaming import StreamingDataset as Data\n"));
  EXPECT_THAT(refusal("lit").message, HasSubstr("litdata"));
  EXPECT_TRUE(refusal("data").ok());
  EXPECT_TRUE(refusal("good").ok());
  EXPECT_EQ(refusal("run").code, Code::kInvalid);
}

}  // namespace
}  // namespace titan::train::data_plausibility_test
