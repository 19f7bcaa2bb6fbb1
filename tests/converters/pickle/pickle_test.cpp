#include "converters/pickle/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "converters/pickle/item.h"
#include "tests/converters/dcp/bytes.h"

namespace titan::convert::pickle_test {
namespace {

using dcp::testing::bytes_of;
using ::testing::HasSubstr;

Result<Pickle> decode(const std::string& spec, const PickleLimits& limits = {}) {
  return Pickle::decode("p", bytes_of(spec), limits);
}

std::string value_text(const std::string& spec) {
  const Result<Pickle> pickle = decode(spec);
  if (!pickle.ok()) return pickle.status().message;
  const Result<ItemContent> item = parse_item(*pickle);
  if (!item.ok()) return item.status().message;
  const auto* value = std::get_if<ItemValue>(&*item);
  return value == nullptr ? "a tensor" : value->to_string();
}

TEST(Pickle, ReadsTheValuesOfTheTestVectors) {
  EXPECT_EQ(value_text("80 02 4b 05 2e"), "5");
  EXPECT_EQ(value_text("80 02 47 3fe0000000000000 2e"), "0.5");
  EXPECT_EQ(value_text("80 02 47 3feccccccccccccd 47 3fee666666666666 86 71 00 2e"), "(0.9, 0.95)");
  EXPECT_EQ(value_text("80 02 4a ffffffff 2e"), "-1");
  EXPECT_EQ(value_text("80 02 4d ffff 2e"), "65535");
  EXPECT_EQ(value_text("80 02 8a 05 0000000080 2e"), "-549755813888");
  EXPECT_EQ(value_text("80 02 8a 00 2e"), "0");
  EXPECT_EQ(value_text("80 02 8a 08 ffffffffffffff7f 2e"), "9223372036854775807");
  EXPECT_EQ(value_text("80 02 5d 71 00 28 4e 88 89 65 2e"), "[None, True, False]");
  EXPECT_EQ(value_text("80 04 95 0700000000000000 7d 94 8c 01 'k' 4b 01 73 2e"), "dict of 1");
}

TEST(Pickle, ReadsABytesValueThatProtocolTwoSpellsAsACall) {
  const Result<Pickle> pickle =
      decode("80 02 63 '_codecs' 0a 'encode' 0a 58 04000000 'ab' c3bf 58 06000000 'latin1' 86 52 2e");
  ASSERT_TRUE(pickle.ok()) << pickle.status().to_string();
  const Result<ItemContent> item = parse_item(*pickle);
  ASSERT_TRUE(item.ok()) << item.status().to_string();
  EXPECT_EQ(std::get<ItemValue>(*item).text, "ab\xff");
}

TEST(Pickle, SharesMemoisedValues) {
  const Result<Pickle> pickle = decode("80 04 5d 94 28 8c 01 'x' 94 68 01 65 2e");
  ASSERT_TRUE(pickle.ok());
  ASSERT_EQ(pickle->size(pickle->root()), 2u);
  EXPECT_EQ(pickle->item(pickle->root(), 0), pickle->item(pickle->root(), 1));
}

TEST(Pickle, RefusesCallsOutsideTheListByNameAndOffset) {
  const Result<Pickle> pickle = decode("80 02 63 'posix' 0a 'system' 0a 58 02000000 'id' 85 52 2e");
  ASSERT_FALSE(pickle.ok());
  EXPECT_EQ(pickle.status().code, ckpt::Code::kCorrupt);
  EXPECT_THAT(pickle.status().message, HasSubstr("opcode REDUCE at offset 24: calls posix.system"));
}

TEST(Pickle, KeepsANameThatNobodyCalls) {
  const Result<Pickle> pickle = decode("80 02 63 'posix' 0a 'system' 0a 2e");
  ASSERT_TRUE(pickle.ok());
  EXPECT_TRUE(pickle->is_global(pickle->root(), "posix", "system"));
}

TEST(Pickle, AcceptsGetattrForTheMemoryFormatOnly) {
  const std::string getattr = "8c 08 'builtins' 8c 07 'getattr' 93 ";
  EXPECT_TRUE(decode("80 04 " + getattr +
                     "8c 25 'torch.distributed.checkpoint.metadata' 8c 14 '_MEM_FORMAT_ENCODING' 93 8c 17 "
                     "'TORCH_CONTIGUOUS_FORMAT' 86 52 2e")
                  .ok());
  const Result<Pickle> other = decode("80 04 " + getattr + "8c 02 'os' 8c 04 'path' 93 8c 04 'join' 86 52 2e");
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.status().message, HasSubstr("calls builtins.getattr on something else"));
}

TEST(Pickle, BoundsAListThatContainsItself) {
  const Result<Pickle> pickle = decode("80 02 5d 71 00 68 00 61 2e");
  ASSERT_TRUE(pickle.ok());
  const Result<ItemValue> value = parse_value(*pickle, pickle->root());
  ASSERT_FALSE(value.ok());
  EXPECT_THAT(value.status().message, HasSubstr("too deep or too large"));
}

TEST(Pickle, BoundsValuesThatDoubleAtEachLevel) {
  std::string spec = "80 02 4b 01 71 00 ";
  for (int i = 0; i < 40; ++i) spec += "68 00 68 00 86 71 00 30 ";
  // POP is not in the list, so the stack grows: the doubling is what counts.
  std::string doubling = "80 02 28 4b 01 71 00 ";
  for (int i = 0; i < 40; ++i) doubling += "68 00 68 00 86 71 00 ";
  doubling += "74 2e";
  const Result<Pickle> pickle = decode(doubling);
  ASSERT_TRUE(pickle.ok()) << pickle.status().to_string();
  EXPECT_THAT(parse_value(*pickle, pickle->root()).status().message, HasSubstr("too deep or too large"));
  EXPECT_THAT(decode(spec).status().message, HasSubstr("opcode POP at offset"));
}

struct Malformed {
  const char* name;
  const char* spec;
  const char* message;
};

class MalformedPickle : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedPickle, IsRefused) {
  PickleLimits limits;
  limits.depth = 4;
  limits.nodes = 50;
  limits.text = 100;
  const Result<Pickle> pickle = decode(GetParam().spec, limits);
  ASSERT_FALSE(pickle.ok());
  EXPECT_EQ(pickle.status().code, ckpt::Code::kCorrupt);
  EXPECT_THAT(pickle.status().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Table, MalformedPickle,
    ::testing::Values(
        Malformed{"Empty", "", "ends at offset 0 without STOP"},
        Malformed{"NoProto", "4b 05 2e", "opcode BININT1 at offset 0: a pickle begins with PROTO"},
        Malformed{"ProtoInside", "80 02 80 02 4b 05 2e", "opcode PROTO at offset 2: stands inside"},
        Malformed{"OldProtocol", "80 01 4b 05 2e", "protocol 1, 2 to 5 are read"},
        Malformed{"NewProtocol", "80 06 4b 05 2e", "protocol 6, 2 to 5 are read"},
        Malformed{"NoStop", "80 02 4b 05", "ends at offset 4 without STOP"},
        Malformed{"BytesAfterStop", "80 02 4b 05 2e 2e", "opcode STOP at offset 4: 1 bytes follow"},
        Malformed{"StopOnEmptyStack", "80 02 2e", "the stack holds 0 values"},
        Malformed{"TwoValuesAtStop", "80 02 4e 4e 2e", "the stack holds 2 values"},
        Malformed{"OpenMarkAtStop", "80 02 4e 28 2e", "the stack holds 1 values"},
        Malformed{"ShortInt", "80 02 4a 00 00", "opcode BININT at offset 2: needs 4 bytes, 2 are left"},
        Malformed{"LongTooLong", "80 02 8a 09 000000000000000000 2e", "an integer of 9 bytes"},
        Malformed{"TextTooLong", "80 02 58 ffffffff 2e", "opcode BINUNICODE at offset 2: a string of 4294967295 bytes"},
        Malformed{"TextOverEnd", "80 04 8c 05 'abc'", "needs 5 bytes, 3 are left"},
        Malformed{"FrameOverEnd", "80 04 95 ffffffffffffffff 4e 2e", "opcode FRAME at offset 2: needs"},
        Malformed{"GlobalWithoutLine", "80 02 63 'os' 0a 'system'",
                  "opcode GLOBAL at offset 2: a name without its end of line"},
        Malformed{"StackGlobalOfInts", "80 04 4b 01 4b 02 93 2e", "opcode STACK_GLOBAL at offset 6: needs two strings"},
        Malformed{"MemoNeverSet", "80 02 68 07 2e", "opcode BINGET at offset 2: memo 7 was never set"},
        Malformed{"MemoIndexMadeUp", "80 02 4e 72 00ffffff 2e",
                  "opcode LONG_BINPUT at offset 3: memo index 4294967040 is out of sequence"},
        Malformed{"MemoOfNothing", "80 02 94 2e", "opcode MEMOIZE at offset 2: the stack is empty"},
        Malformed{"TupleOfNothing", "80 02 4e 87 2e", "opcode TUPLE3 at offset 3: needs 3 values"},
        Malformed{"TupleWithoutMark", "80 02 4e 74 2e", "opcode TUPLE at offset 3: there is no MARK"},
        Malformed{"TupleThroughMark", "80 02 4e 4e 28 86 2e", "opcode TUPLE2 at offset 5: needs 2 values"},
        Malformed{"AppendToTuple", "80 02 29 4e 61 2e", "opcode APPEND at offset 4: adds to tuple of 0"},
        Malformed{"SetItemOfList", "80 02 5d 4e 4e 73 2e", "opcode SETITEM at offset 5: adds to list of 0"},
        Malformed{"KeyWithoutValue", "80 02 7d 28 4e 75 2e", "opcode SETITEMS at offset 5: a key without a value"},
        Malformed{"CallOfText", "80 02 58 01000000 'f' 29 52 2e", "opcode REDUCE at offset 9: calls str 'f'"},
        Malformed{"CallWithList", "80 02 63 'torch' 0a 'Size' 0a 5d 52 2e", "calls with list of 0 instead of a tuple"},
        Malformed{"CallOfCallResult", "80 02 63 'torch' 0a 'Size' 0a 29 52 29 52 2e", "calls a call of torch.Size"},
        Malformed{"InstanceOfUnknown", "80 02 63 'subprocess' 0a 'Popen' 0a 29 81 2e",
                  "opcode NEWOBJ at offset 21: makes an instance of subprocess.Popen"},
        Malformed{"CallOfAClass", "80 02 63 'torch.distributed.checkpoint.metadata' 0a 'Metadata' 0a 29 52 2e",
                  "calls torch.distributed.checkpoint.metadata.Metadata, which is not in the list"},
        Malformed{"OrderedDictWithItems", "80 02 63 'collections' 0a 'OrderedDict' 0a 5d 85 52 2e",
                  "collections.OrderedDict with arguments"},
        Malformed{"BuildOnDict", "80 02 7d 7d 62 2e", "opcode BUILD at offset 4: gives a state to dict of 0"},
        Malformed{"SecondState",
                  "80 02 63 'torch.distributed.checkpoint.metadata' 0a 'Metadata' 0a 29 81 7d 62 7d 62 2e",
                  "gives a second state"},
        Malformed{"TooDeep", "80 02 4e 85 85 85 85 2e", "nested more than 4 deep"},
        Malformed{"TooDeepByAppend", "80 02 5d 4e 85 85 85 61 2e", "nested more than 4 deep"},
        Malformed{"TooManyMarks", "80 02 28 28 28 28 28 2e", "more than 4 open marks"},
        Malformed{
            "TooManyValues",
            "80 02 28 "
            "4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e 2e",
            "more than 50 values"},
        Malformed{"OpcodeInst", "80 02 28 69 'os' 0a 'system' 0a 2e", "opcode INST at offset 3: is not in the list"},
        Malformed{"OpcodeExt", "80 02 82 01 2e", "opcode EXT1 at offset 2: is not in the list"},
        Malformed{"OpcodePersid", "80 02 50 'x' 0a 2e", "opcode PERSID at offset 2: is not in the list"},
        Malformed{"OpcodeUnknown", "80 02 ff 2e", "opcode 0xff at offset 2: is not in the list"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace titan::convert::pickle_test
