#pragma once
// How a tokenizer cuts a text into the pieces within which it merges ("pre_tokenizer"). Pure.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/format/json_value.h"
#include "recipe/text/pattern.h"

namespace titan::recipe {

/// What a Split makes of matches of its pattern and of what lies between them.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

class Splitter {
 public:
  /// The member "pre_tokenizer" of tokenizer.json; nullptr: none. \error kUnsupported: another type than Split,
  /// ByteLevel (the last one), Digits, Metaspace and Sequence; kInvalid
  static ckpt::Result<Splitter> read(const ckpt::JsonValue* part);

  /// Whether the pieces are written in the letters of bytes.
  bool byte_level() const { return byte_level_; }
  bool empty() const { return steps_.empty(); }
  /// From now on pieces are also cut before each run of `mark`.
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
    std::string mark;  ///< of Metaspace and of kBeforeRuns
    Prepend prepend = Prepend::kAlways;
    bool split = true;
  };
  ckpt::Status add(const ckpt::JsonValue& part);
  ckpt::Status add_pattern(std::string_view regex, SplitBehavior behavior, bool invert);

  std::vector<Step> steps_;
  bool byte_level_ = false;
};

/// Takes pieces.
class PieceSink {
 public:
  virtual ~PieceSink() = default;
  virtual ckpt::Status piece(std::string_view piece) = 0;
};

/// Cuts texts, one after the other, for one thread; the splitter outlives it.
class SplitRun {
 public:
  explicit SplitRun(const Splitter& splitter);
  /// Gives the pieces of `text` (none of them empty) to `sink`. `first`: it begins the whole text.
  ckpt::Status cut(std::string_view text, bool first, PieceSink& sink) { return cut(0, text, first, sink); }

 private:
  ckpt::Status cut(std::size_t step, std::string_view text, bool first, PieceSink& sink);
  ckpt::Status cut_by_pattern(std::size_t step, std::string_view text, bool first, PieceSink& sink);
  ckpt::Status cut_by_mark(std::size_t step, std::string_view text, bool runs, bool first, PieceSink& sink);

  const Splitter& splitter_;
  std::vector<std::unique_ptr<Matcher>> matchers_;  // of each step
  std::vector<std::string> written_;                // what a step has changed
};

}  // namespace titan::recipe
