#include "ckpt/store/media_watch.h"

#include <gtest/gtest.h>

#include "ckpt/read/reader.h"
#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::media_watch_test {
namespace {

using testing::FailingFs;
using testing::MemFs;
using testing::Op;
using testing::put_text;

std::string read(Fs& fs, std::uint64_t offset, std::size_t bytes) {
  auto file = fs.open_member("/run/step", "model/a");
  if (!file.ok()) return file.status().message;
  std::string text(bytes, '?');
  const Status status = (*file)->pread(offset, std::as_writable_bytes(std::span(text)));
  return status.ok() ? text : status.message;
}

TEST(MediaWatch, RemembersThePlaceOfTheLastMediaErrorAndOfNoOther) {
  MemFs memory;
  ASSERT_TRUE(put_text(memory, "/run/step/model/a", "0123456789").ok());
  FailingFs failing(memory);
  MediaWatch watch(failing);
  EXPECT_EQ(read(watch, 2, 3), "234");
  EXPECT_EQ(watch.place(), std::nullopt);
  failing.arm({.op = Op::kPread, .error = EMFILE});
  EXPECT_NE(read(watch, 2, 3), "234");
  EXPECT_EQ(watch.place(), std::nullopt) << "no media error";
  failing.arm({.op = Op::kPread, .error = EIO});
  EXPECT_NE(read(watch, 2, 3), "234");
  EXPECT_EQ(watch.place(), (UnreadablePlace{"/run/step", "model/a", 2, 3}));
  watch.forget();
  failing.arm({.op = Op::kOpenRead, .error = EIO});
  EXPECT_NE(read(watch, 2, 3), "234");
  EXPECT_EQ(watch.place(), (UnreadablePlace{"/run/step", "model/a"}));
  failing.arm({.op = Op::kStat, .error = EIO});
  EXPECT_FALSE(watch.stat("/run/step").ok());
  EXPECT_EQ(watch.place(), (UnreadablePlace{"/run", "step"}));
  failing.arm({.op = Op::kList, .error = EIO});
  EXPECT_FALSE(watch.list("/run").ok());
  EXPECT_EQ(watch.place(), (UnreadablePlace{"/run", ""}));
}

TEST(MediaWatch, AReaderThroughItTellsWhereALeafCouldNotBeRead) {
  MemFs memory;
  const auto published =
      testing::save(memory, "/run/checkpoint", testing::make_snapshot(testing::small_model(), {1, 1, 1}, 100));
  ASSERT_TRUE(published.ok());
  FailingFs failing(memory);
  MediaWatch watch(failing);
  auto reader = CheckpointReader::open(watch, published->path);
  ASSERT_TRUE(reader.ok());
  const Piece piece = reader->manifest().parameters[0].model->pieces[0];
  const LeafGrid grid = reader->manifest().parameters[0].meta.grid(reader->manifest().leaf_elements);
  std::vector<std::byte> out(grid.length(0) * 4);
  ASSERT_TRUE(reader->read({0, ""}, {0, 1}, out).ok());
  failing.arm({.op = Op::kPread});
  EXPECT_EQ(reader->read({0, ""}, {0, 1}, out).code, Code::kMediaError);
  EXPECT_EQ(watch.place(),
            (UnreadablePlace{published->path, reader->manifest().files[piece.file].path, piece.offset, out.size()}));
}

TEST(ReadAgain, IsOkWhereThePlaceCanBeReadAndTellsWhyNotElsewhere) {
  MemFs memory;
  ASSERT_TRUE(put_text(memory, "/run/step/model/a", std::string(3'000'000, 'x')).ok());
  FailingFs failing(memory);
  const UnreadablePlace part{"/run/step", "model/a", 100, 2'500'000}, whole{"/run/step", "model/a"}, folder{"/run", ""};
  for (const UnreadablePlace& place : {part, whole, folder}) EXPECT_TRUE(read_again(failing, place).ok());
  failing.arm({.op = Op::kPread, .k = 3, .repeat = testing::Repeat::kSticky});
  EXPECT_EQ(read_again(failing, part).code, Code::kMediaError) << "also when only the end is bad";
  for (const auto& [op, place] : {std::pair(Op::kOpenRead, whole), {Op::kSize, whole}, {Op::kList, folder}}) {
    failing.arm({.op = op});
    EXPECT_EQ(read_again(failing, place).code, Code::kMediaError) << op_name(op);
  }
  EXPECT_EQ(read_again(failing, {"/run/step", "model/b"}).code, Code::kNotFound);
}

TEST(UnreadablePlaces, GoThroughTextUnchanged) {
  for (const UnreadablePlace& place : {UnreadablePlace{"/a b/7 step", "model/x y", 12, 34}, UnreadablePlace{"", ""},
                                       UnreadablePlace{"/r", "", ~std::uint64_t{0}, 1}}) {
    const auto back = decode_place(encode_place(place));
    ASSERT_TRUE(back.ok()) << back.status().to_string();
    EXPECT_EQ(*back, place);
  }
  for (const char* text : {"", "1", "1 2", "1 2 3", "1 2 9 /r", "x 2 1 /r", "1 2 -1 /r", "1,2,0 /r"})
    EXPECT_FALSE(decode_place(text).ok()) << text;
}

}  // namespace
}  // namespace titan::ckpt::media_watch_test
