#pragma once
// A regular expression of a tokenizer. It is matched by PCRE2, with the results that Oniguruma (the engine of Hugging
// Face's tokenizers) would give. Only pattern.cpp uses PCRE2.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "recipe/text/new_codes.h"

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;
struct pcre2_real_jit_stack_8;

namespace titan::recipe {

/// A compiled pattern. Any number of threads may use it, each with its own Matcher.
class Pattern {
 public:
  /// Compiles a pattern in Ruby's syntax. \error kInvalid, kUnsupported (ruby_syntax.h); kFailed: no memory
  static ckpt::Result<Pattern> compile(std::string_view ruby);

 private:
  friend class Matcher;
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  using Code = std::unique_ptr<pcre2_real_code_8, Free>;
  static ckpt::Result<Code> compiled(const std::string& pattern);
  bool has_newer(std::string_view text) const;

  Code plain_, exact_;            // exact_ is null if both are equal
  std::vector<CodeRange> newer_;  // code points for which a text is matched by exact_
  bool leads_[256] = {};          // first bytes of code points in newer_
};

/// The bytes [begin, end) of the text.
struct Match {
  std::size_t begin = 0, end = 0;
};

/// Finds the matches of a pattern, which must outlive it. Use one per thread.
class Matcher {
 public:
  explicit Matcher(const Pattern& pattern);
  ~Matcher();
  Matcher(Matcher&&) noexcept;

  /// Starts a search in `text`, which must be UTF-8 and must stay unchanged.
  void start(std::string_view text);
  /// The next non-empty match; false at the end of the text, or on an error.
  bool next(Match* match);
  /// kInvalid if matching took too many steps or too much memory; kFailed if there was no memory for the matcher.
  const ckpt::Status& status() const { return status_; }

 private:
  struct State;
  const Pattern* pattern_;
  std::unique_ptr<State> state_;
  const pcre2_real_code_8* code_ = nullptr;
  std::string_view text_;
  std::size_t at_ = 0;
  ckpt::Status status_;
};

}  // namespace titan::recipe
