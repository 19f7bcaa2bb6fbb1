#include "ckpt/ops/sign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/read/verifier.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::sign_test {
namespace {

using namespace titan::ckpt::testing;  // NOLINT: the file is about these
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Sign : public ::testing::Test {
 protected:
  Sign() {
    EXPECT_TRUE(make_checkpoint(fs_, "/run/checkpoint", {.step = 10}).ok());
    EXPECT_TRUE(put_text(fs_, "/k",
                         "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIHv6MlZ0uD49W0MWZRN/"
                         "hH4vmLol9S65OiqFXF6vHZHx\n-----END PRIVATE KEY-----\n")
                    .ok());
    EXPECT_TRUE(put_text(fs_, "/p",
                         "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEALpM706u3zzNtMcs1sNTFxawaw+"
                         "MqASOCkAJz4hfmNVA=\n-----END PUBLIC KEY-----\n")
                    .ok());
    EXPECT_TRUE(put_text(fs_, "/other",
                         "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/"
                         "7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n")
                    .ok());
  }
  Result<SignReport> sign(SignOptions options = {}) {
    options.path = step_;
    options.key = "/k";
    options.threads = 3;
    return sign_checkpoint(fs_, options);
  }
  std::vector<std::string> wrong(const std::string& key = "/p", const std::string& signature = "") {
    const auto check = check_signature(fs_, {.path = step_, .key = key, .signature = signature, .threads = 2});
    EXPECT_TRUE(check.ok()) << check.status().to_string();
    return check.ok() ? check->wrong : std::vector<std::string>{check.status().message};
  }
  void replace(const std::string& path, const std::string& text) {
    ASSERT_TRUE(fs_.remove_file(path).ok());
    ASSERT_TRUE(put_text(fs_, path, text).ok());
  }

  MemFs fs_;
  std::string step_ = "/run/checkpoint/step-00000010";
};

TEST_F(Sign, HoldsForTheFilesAsTheyAreAndIsTheSameEachTime) {
  const auto report = sign();
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_THAT(wrong(), IsEmpty());
  const std::string first = get_text(fs_, step_ + "/signature.json");
  EXPECT_EQ(sign().status().code, Code::kInvalid) << "there is one";
  ASSERT_TRUE(sign({.force = true}).ok());
  EXPECT_EQ(get_text(fs_, step_ + "/signature.json"), first);
  EXPECT_TRUE(verify_checkpoint(fs_, step_)->damage.empty()) << "it is no member";
  EXPECT_EQ(report->files, decode_signature("s", first)->files.size());
}

TEST_F(Sign, NamesEveryMemberThatIsAnother) {
  ASSERT_TRUE(sign().ok());
  const std::string lr = get_text(fs_, step_ + "/lr_scheduler.json");
  std::string changed = lr;
  changed[5] ^= 1;
  replace(step_ + "/lr_scheduler.json", changed);
  replace(step_ + "/train_state.json", "{}");
  ASSERT_TRUE(fs_.remove_file(step_ + "/dataloader.json").ok());
  EXPECT_THAT(wrong(), ElementsAre(HasSubstr("dataloader.json is missing"), "lr_scheduler.json is not what was signed",
                                   HasSubstr("train_state.json has 2 bytes")));
}

// Another program loads what it finds, whatever the manifest lists.
TEST_F(Sign, NamesWhatWasPutBesideTheMembers) {
  ASSERT_TRUE(sign().ok());
  ASSERT_TRUE(put_text(fs_, step_ + "/.keep", "").ok());
  EXPECT_THAT(wrong(), IsEmpty()) << "a pin is nobody's";
  ASSERT_TRUE(put_text(fs_, step_ + "/model.safetensors", "x").ok());
  ASSERT_TRUE(fs_.make_dir(step_ + "/sub").ok() && fs_.make_dir(step_ + "/sub/sub").ok());
  ASSERT_TRUE(put_text(fs_, step_ + "/model/x.h5", "x").ok() && put_text(fs_, step_ + "/sub/sub/.hidden", "x").ok());
  EXPECT_THAT(wrong(),
              ElementsAre("model.safetensors is there, and was not signed", "model/x.h5 is there, and was not signed",
                          "sub/sub/.hidden is there, and was not signed"));
}

TEST_F(Sign, NobodyElseCanVouch) {
  ASSERT_TRUE(sign().ok());
  EXPECT_THAT(wrong("/other"), ElementsAre(HasSubstr("signed by another key")));
  SignatureFile forged = *decode_signature("s", get_text(fs_, step_ + "/signature.json"));
  forged.files[0].bytes += 1;
  replace(step_ + "/signature.json", encode_signature(forged));
  EXPECT_THAT(wrong(), ElementsAre(HasSubstr("that file was changed")));
  replace(step_ + "/signature.json", "{}");
  EXPECT_THAT(wrong(), ::testing::SizeIs(1));
  ASSERT_TRUE(fs_.remove_file(step_ + "/signature.json").ok());
  EXPECT_THAT(wrong(), ElementsAre(HasSubstr("it is not signed")));
}

TEST_F(Sign, LiesElsewhereWhenAsked) {
  ASSERT_TRUE(sign({.signature = "/run/10.sig"}).ok());
  EXPECT_FALSE(fs_.stat(step_ + "/signature.json").ok());
  EXPECT_THAT(wrong("/p", "/run/10.sig"), IsEmpty());
  EXPECT_EQ(sign({.signature = step_ + "/model/x.sig"}).status().code, Code::kInvalid) << "not among the members";
}

TEST_F(Sign, OfAnotherFormatAllFilesCount) {
  step_ = "/hf";
  ASSERT_TRUE(fs_.make_dir("/hf").ok() && fs_.make_dir("/hf/sub").ok());
  ASSERT_TRUE(put_text(fs_, "/hf/model.safetensors", std::string(3 << 20, 'x')).ok());
  ASSERT_TRUE(put_text(fs_, "/hf/sub/a", "").ok());
  ASSERT_TRUE(put_text(fs_, "/hf/.keep", "").ok() && put_text(fs_, "/hf/sub/.keep", "").ok());
  EXPECT_EQ(sign()->files, 4u);
  EXPECT_THAT(wrong(), IsEmpty());
  ASSERT_TRUE(put_text(fs_, "/hf/evil.py", "1").ok());
  EXPECT_THAT(wrong(), ElementsAre("evil.py is there, and was not signed"));
  replace("/hf/.keep", "import evil");
  EXPECT_THAT(wrong(), ElementsAre(HasSubstr(".keep has 11 bytes")));
  replace("/hf/.keep", "");
  replace("/hf/model.safetensors", std::string((3 << 20) - 1, 'x') + "y");
  EXPECT_THAT(wrong(), ElementsAre("model.safetensors is not what was signed"));
}

TEST_F(Sign, KeysThatAreNone) {
  EXPECT_EQ(sign_checkpoint(fs_, {.path = step_, .key = "/nothing"}).status().code, Code::kInvalid);
  EXPECT_EQ(sign_checkpoint(fs_, {.path = step_, .key = "/p"}).status().code, Code::kInvalid);
  EXPECT_EQ(check_signature(fs_, {.path = step_, .key = "/k"}).status().code, Code::kInvalid);
  ASSERT_TRUE(put_text(fs_, "/large", std::string(20'000, 'x')).ok());
  EXPECT_EQ(sign_checkpoint(fs_, {.path = step_, .key = "/large"}).status().code, Code::kInvalid);
}

TEST_F(Sign, APlaceThatCannotBeMadeIsRefusedBeforeEverythingIsRead) {
  FailingFs log(fs_);
  SignOptions options;
  options.path = step_;
  options.key = "/k";
  for (const char* place : {"/no/such/place", "/k/sig", "/run/checkpoint/step-00000010/model/sig"}) {
    options.signature = place;
    EXPECT_EQ(sign_checkpoint(log, options).status().code, Code::kInvalid) << place;
  }
  for (const Call& call : log.calls()) EXPECT_THAT(call.path, ::testing::Not(HasSubstr("shard-")));
}

}  // namespace
}  // namespace titan::ckpt::sign_test
