#pragma once
// The pre-tokenizer (the object "pre_tokenizer" of tokenizer.json): cuts a text into pieces. Merges stay within a
// piece. Pure.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/format/json_value.h"
#include "recipe/text/pattern.h"

namespace titan::recipe {

/// What a Split does with the matches of its pattern and with the text between them.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// A pre-tokenizer. Immutable after its creation; SplitRun applies it.
class Splitter {
 public:
  /// Reads `part`, the object "pre_tokenizer" of tokenizer.json; nullptr: there is none. \error kUnsupported: other
  /// types than Split, ByteLevel (only as the last one), Digits, Metaspace and Sequence, an unknown choice within one
  /// of these, or a pattern that ruby_syntax.h refuses; kInvalid
  static ckpt::Result<Splitter> read(const ckpt::JsonValue* part);

  /// Whether there is a ByteLevel: each character of a token in the vocabulary then stands for a byte
  /// (byte_alphabet.h). The pieces themselves are not changed to such characters.
  bool byte_level() const { return byte_level_; }
  bool empty() const { return steps_.empty(); }
  /// After this call, pieces are also cut before each run of `mark`.
  void cut_before_runs_of(std::string mark);

 private:
  friend class SplitRun;
  enum class Kind { kPattern, kPrefixSpace, kMetaspace, kBeforeRuns };
  enum class Prepend { kAlways, kFirst, kNever };
  struct Step {
    Kind kind = Kind::kPattern;
    std::shared_ptr<const Pattern> pattern;
    SplitBehavior behavior = SplitBehavior::kIsolated;
    bool invert = false;
    std::string mark;  ///< for kMetaspace and kBeforeRuns
    Prepend prepend = Prepend::kAlways;
    bool split = true;
  };
  ckpt::Status add(const ckpt::JsonValue& part);
  ckpt::Status add_pattern(std::string_view regex, SplitBehavior behavior, bool invert);

  std::vector<Step> steps_;
  bool byte_level_ = false;
};

/// Receives the pieces of a text, in order.
class PieceSink {
 public:
  virtual ~PieceSink() = default;
  virtual ckpt::Status piece(std::string_view piece) = 0;
};

/// Splits texts one after another. Use one per thread. The splitter must outlive it.
class SplitRun {
 public:
  explicit SplitRun(const Splitter& splitter);
  /// Passes the (non-empty) pieces of `text` to `sink`. `first`: `text` is at the beginning of the whole text, not
  /// after an added token.
  ckpt::Status cut(std::string_view text, bool first, PieceSink& sink) { return cut(0, text, first, sink); }

 private:
  ckpt::Status cut(std::size_t step, std::string_view text, bool first, PieceSink& sink);
  ckpt::Status cut_by_pattern(std::size_t step, std::string_view text, bool first, PieceSink& sink);
  ckpt::Status cut_by_mark(std::size_t step, std::string_view text, bool runs, bool first, PieceSink& sink);

  const Splitter& splitter_;
  std::vector<std::unique_ptr<Matcher>> matchers_;  // one per step
  std::vector<std::string> written_;                // text that a step has rewritten
};

}  // namespace titan::recipe
