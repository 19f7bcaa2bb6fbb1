#include "ckpt/base/ed25519.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/base/blake2b.h"

namespace titan::ckpt::ed25519_test {
namespace {

using ::testing::HasSubstr;

// The first test of RFC 8032, section 7.1.
constexpr const char* kPrivate =
    "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE "
    "KEY-----\n";
constexpr const char* kPublic =
    "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC "
    "KEY-----\n";

TEST(Ed25519, SignsAsTheStandardSays) {
  const auto key = SigningKey::of_pem("k", kPrivate);
  const auto open = public_key_of_pem("p", kPublic);
  ASSERT_TRUE(key.ok() && open.ok());
  EXPECT_EQ(key->public_key(), *open);
  const Signature signature = key->sign("");
  EXPECT_EQ(
      hex_of(signature),
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bb"
      "e24655141438e7a100b");
  EXPECT_TRUE(signature_holds(*open, "", signature));
  EXPECT_FALSE(signature_holds(*open, "x", signature));
  Signature other = signature;
  other[5] ^= 1;
  EXPECT_FALSE(signature_holds(*open, "", other));
}

TEST(Ed25519, SaysWhatAFileIsInstead) {
  const auto refused = [](const std::string& pem) { return SigningKey::of_pem("k", pem).status(); };
  EXPECT_THAT(refused(kPublic).message, HasSubstr("is a public key"));
  EXPECT_THAT(public_key_of_pem("p", kPrivate).status().message, HasSubstr("is a private key"));
  EXPECT_THAT(refused("").message, HasSubstr("is no key"));
  EXPECT_THAT(refused("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END").message, HasSubstr("password"));
  EXPECT_THAT(refused("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n").message, HasSubstr("ssh-keygen"));
  EXPECT_THAT(public_key_of_pem("p", "ssh-ed25519 AAAA me").status().message, HasSubstr("ssh-keygen"));
  EXPECT_THAT(refused("-----BEGIN PRIVATE KEY-----\nMC4CAQAw\n-----END PRIVATE KEY-----").message,
              HasSubstr("none of Ed25519"));
  for (const char* bad : {"-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n#\n-----END PRIVATE KEY-----"})
    EXPECT_EQ(refused(bad).code, Code::kInvalid) << bad;
}

}  // namespace
}  // namespace titan::ckpt::ed25519_test
