// Everything that a pickle could do and a checkpoint may not: refused by the opcode's name and its offset, nothing
// executed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "converters/dcp/metadata.h"
#include "converters/pickle/item.h"
#include "converters/pickle/pickle.h"
#include "converters/pickle/pickle_names.h"
#include "tests/converters/dcp/bytes.h"

namespace titan::convert::pickle_refused_test {
namespace {

using dcp::testing::bytes_of;
using ::testing::HasSubstr;

std::string error_of(const std::string& bytes) { return Pickle::decode("p", bytes).status().message; }

// The opcodes that torch's checkpoints use; every other byte ends the decoding, whatever stands behind it.
constexpr unsigned char kUsed[] = {'(',  '.',  'J',  'K',  'M',  'N',  'Q',  'R',  'X',  'a',  'b',  'c',
                                   '}',  'e',  'h',  'j',  ']',  'q',  'r',  's',  't',  ')',  'u',  'G',
                                   0x80, 0x81, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x8c, 0x93, 0x94, 0x95};

TEST(PickleRefuses, EveryOpcodeOutsideTheListByNameAndOffset) {
  const std::set<unsigned char> used(std::begin(kUsed), std::end(kUsed));
  ASSERT_EQ(used.size(), 36u);
  for (int byte = 0; byte < 256; ++byte) {
    const auto opcode = static_cast<unsigned char>(byte);
    const std::string pickle =
        bytes_of("80 04 5d") + std::string(1, static_cast<char>(opcode)) + std::string(16, '\0') + ".";
    const std::string said =
        "p: opcode " + opcode_name(opcode) + " at offset 3: is not in the list of opcodes that a checkpoint uses";
    if (used.contains(opcode))
      EXPECT_NE(error_of(pickle), said);
    else
      EXPECT_EQ(error_of(pickle), said);
  }
}

TEST(PickleRefuses, EveryWayToCallWhatIsNotInTheList) {
  for (const auto& [module, name] :
       {std::pair("os", "system"), std::pair("posix", "system"), std::pair("builtins", "eval"),
        std::pair("builtins", "exec"), std::pair("builtins", "__import__"), std::pair("torch", "load"),
        std::pair("torch.hub", "load"), std::pair("subprocess", "Popen"), std::pair("shutil", "rmtree"),
        std::pair("runpy", "run_path"), std::pair("torch._utils", "_rebuild_sparse_tensor"),
        std::pair("torch", "Size.__new__"), std::pair("operator", "attrgetter"), std::pair("", "")}) {
    const std::string full = std::string(module) + "." + name,
                      line = std::string("63 '") + module + "' 0a '" + name + "' 0a ";
    // PROTO, then GLOBAL with two lines, then one byte
    const std::string at = std::to_string(2 + 1 + full.size() + 1 + 1);
    const std::string short_text = [&] {
      std::string out = "\x8c";
      out += static_cast<char>(std::string(module).size()) + std::string(module) + "\x8c" +
             static_cast<char>(std::string(name).size()) + name;
      return out;
    }();
    EXPECT_THAT(error_of(bytes_of("80 02 " + line + "29 52 2e")),
                HasSubstr("opcode REDUCE at offset " + at + ": calls " + full + ", which is not in the list"))
        << full;
    EXPECT_THAT(
        error_of(bytes_of("80 02 " + line + "29 81 2e")),
        HasSubstr("opcode NEWOBJ at offset " + at + ": makes an instance of " + full + ", which is not in the list"))
        << full;
    EXPECT_THAT(error_of(bytes_of("80 04") + short_text + bytes_of("93 29 52 2e")),
                HasSubstr("calls " + full + ", which is not in the list"))
        << full;
    EXPECT_THAT(error_of(bytes_of("80 02 " + line + "7d 62 2e")), HasSubstr("gives a state to " + full)) << full;
    EXPECT_THAT(error_of(bytes_of("80 04 " + line + "29 7d 92 2e")), HasSubstr("opcode NEWOBJ_EX")) << full;
    EXPECT_THAT(error_of(bytes_of("80 02 28 69 '" + std::string(module) + "' 0a '" + name + "' 0a 2e")),
                HasSubstr("opcode INST at offset 3"))
        << full;
    EXPECT_THAT(error_of(bytes_of("80 02 28 " + line + "6f 2e")), HasSubstr("opcode OBJ")) << full;
  }
}

TEST(PickleRefuses, AnAllowedNameOfAnotherModuleAndTheOtherWayRound) {
  EXPECT_EQ(allowed("torch", "Size"), Allowed::kCall);
  EXPECT_EQ(allowed("os", "Size"), Allowed::kNo);
  EXPECT_EQ(allowed("torch", "size"), Allowed::kNo);
  EXPECT_EQ(allowed("torch.", "Size"), Allowed::kNo);
  EXPECT_EQ(allowed("torch", "Size\n"), Allowed::kNo);
}

// A pickle names a value again at two bytes: what is copied out of it has to be bounded.
TEST(PickleRefuses, ValuesThatGrowByBeingNamedOften) {
  const auto item = [](const std::string& bytes) {
    const Result<Pickle> pickle = Pickle::decode("p", bytes);
    EXPECT_TRUE(pickle.ok()) << pickle.status().message;
    return pickle.ok() ? parse_item(*pickle).status().message : "";
  };
  // half a MiB, 200 times
  std::string texts = bytes_of("80 02 58 00000800") + std::string(1 << 19, 'x') + bytes_of("71 00 5d 28");
  for (int i = 0; i < 200; ++i) texts += bytes_of("68 00");
  // The text itself is left on the stack: put both into a tuple.
  EXPECT_THAT(item(texts + bytes_of("65 86 2e")), HasSubstr("too deep or too large"));
  std::string laughs = bytes_of("80 02 4e");
  for (int level = 0; level < 20; ++level)
    laughs += bytes_of("71 00 28 6800 6800 6800 6800 74 86");  // a tuple of the one before and of four of it
  EXPECT_THAT(item(laughs + "."), HasSubstr("too deep or too large"));
  EXPECT_THAT(item(bytes_of("80 02 5d 71 00 68 00 61 2e")), HasSubstr("too deep or too large"));  // a list in itself
}

}  // namespace
}  // namespace titan::convert::pickle_refused_test
