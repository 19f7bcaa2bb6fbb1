#pragma once
// A regular expression of a tokenizer, matched by PCRE2 as Oniguruma would match it. The one place that sees PCRE2.
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

/// Compiled; used from any number of threads through a Matcher of each.
class Pattern {
 public:
  /// \error kInvalid, kUnsupported (ruby_syntax.h)
  static ckpt::Result<Pattern> compile(std::string_view ruby);

 private:
  friend class Matcher;
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  using Code = std::unique_ptr<pcre2_real_code_8, Free>;
  static ckpt::Result<Code> compiled(const std::string& pattern);
  bool has_newer(std::string_view text) const;

  Code plain_, exact_;            // exact_: absent where both are the same
  std::vector<CodeRange> newer_;  // code points that need exact_
  bool leads_[256] = {};          // bytes that one of them begins with
};

struct Match {
  std::size_t begin = 0, end = 0;
};

/// Finds the matches of a pattern, which outlives it. For one thread.
class Matcher {
 public:
  explicit Matcher(const Pattern& pattern);
  ~Matcher();
  Matcher(Matcher&&) noexcept;

  /// Looks for matches in `text`, which is UTF-8 and stays, from its beginning on.
  void start(std::string_view text);
  /// The next match that is not empty; false at the end of the text, or on an error.
  bool next(Match* match);
  /// kInvalid: the pattern took too many steps or too much memory for some text.
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
