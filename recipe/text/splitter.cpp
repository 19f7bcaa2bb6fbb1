#include "recipe/text/splitter.h"

#include "recipe/text/json_types.h"
#include "recipe/text/ruby_syntax.h"

namespace titan::recipe {
namespace {

using ckpt::JsonValue;
using ckpt::Result;
using ckpt::Status;

// The pattern of ByteLevel with use_regex. \source GPT-2's encoder.py
constexpr const char* kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

Result<SplitBehavior> behavior_of(const JsonValue& part) {
  TITAN_ASSIGN_OR_RETURN(const std::string name, text_of(part, "behavior"));
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  return refused_type("the behavior of Split", name);
}

}  // namespace

Status Splitter::add_pattern(std::string_view regex, SplitBehavior behavior, bool invert) {
  TITAN_ASSIGN_OR_RETURN(Pattern pattern, Pattern::compile(regex));
  Step step;
  step.pattern = std::make_shared<const Pattern>(std::move(pattern));
  step.behavior = behavior;
  step.invert = invert;
  steps_.push_back(std::move(step));
  return {};
}

Status Splitter::add(const JsonValue& part) {
  const std::string type = type_of(part);
  if (type == "ByteLevel") {
    TITAN_ASSIGN_OR_RETURN(const bool prefix, flag_of(part, "add_prefix_space", true));
    TITAN_ASSIGN_OR_RETURN(const bool regex, flag_of(part, "use_regex", true));
    byte_level_ = true;
    if (prefix) steps_.push_back({.kind = Kind::kPrefixSpace});
    return regex ? add_pattern(kByteLevelPattern, SplitBehavior::kIsolated, false) : Status();
  }
  if (type == "Digits") {
    TITAN_ASSIGN_OR_RETURN(const bool individual, flag_of(part, "individual_digits", false));
    return add_pattern("\\p{N}", individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous, false);
  }
  if (type == "Split") {
    TITAN_ASSIGN_OR_RETURN(const SplitBehavior behavior, behavior_of(part));
    TITAN_ASSIGN_OR_RETURN(const bool invert, flag_of(part, "invert", false));
    const JsonValue* pattern = part.find("pattern");
    if (pattern == nullptr) return ckpt::invalid("the member 'pattern' of 'Split' is not there");
    if (pattern->find("String") != nullptr) {
      TITAN_ASSIGN_OR_RETURN(const std::string text, text_of(*pattern, "String"));
      return add_pattern(quoted_pattern(text), behavior, invert);
    }
    TITAN_ASSIGN_OR_RETURN(const std::string regex, text_of(*pattern, "Regex"));
    return add_pattern(regex, behavior, invert);
  }
  if (type != "Metaspace") return refused_type("the pre_tokenizer", type);
  Step step{.kind = Kind::kMetaspace};
  TITAN_ASSIGN_OR_RETURN(step.mark, text_of(part, "replacement"));
  TITAN_ASSIGN_OR_RETURN(step.split, flag_of(part, "split", true));
  TITAN_ASSIGN_OR_RETURN(const bool prefix, flag_of(part, "add_prefix_space", true));
  std::string scheme = prefix ? "always" : "never";
  if (part.find("prepend_scheme") != nullptr) {
    TITAN_ASSIGN_OR_RETURN(scheme, text_of(part, "prepend_scheme"));
  }
  constexpr std::size_t kLongestMark = 4;  // bytes; a mark is one character
  if (step.mark.empty() || step.mark.size() > kLongestMark)
    return ckpt::invalid("the member 'replacement' of 'Metaspace' is not one character");
  if (scheme != "always" && scheme != "first" && scheme != "never") return refused_type("the prepend_scheme", scheme);
  step.prepend = scheme == "always" ? Prepend::kAlways : scheme == "first" ? Prepend::kFirst : Prepend::kNever;
  steps_.push_back(std::move(step));
  return {};
}

Result<Splitter> Splitter::read(const JsonValue* part) {
  Splitter splitter;
  if (part == nullptr) return splitter;
  TITAN_ASSIGN_OR_RETURN(const std::vector<const JsonValue*> parts, parts_of(*part, "pretokenizers"));
  for (const JsonValue* each : parts) {
    if (splitter.byte_level_) return refused_type("a pre_tokenizer after ByteLevel,", type_of(*each));
    TITAN_RETURN_IF_ERROR(splitter.add(*each));
  }
  return splitter;
}

void Splitter::cut_before_runs_of(std::string mark) {
  Step step{.kind = Kind::kBeforeRuns};
  step.mark = std::move(mark);
  steps_.push_back(std::move(step));
}

SplitRun::SplitRun(const Splitter& splitter) : splitter_(splitter), written_(splitter.steps_.size()) {
  for (const Splitter::Step& step : splitter.steps_)
    matchers_.push_back(step.pattern ? std::make_unique<Matcher>(*step.pattern) : nullptr);
}

Status SplitRun::cut(std::size_t step, std::string_view text, bool first, PieceSink& sink) {
  if (text.empty()) return {};
  if (step == splitter_.steps_.size()) return sink.piece(text);
  const Splitter::Step& now = splitter_.steps_[step];
  std::string& written = written_[step];
  switch (now.kind) {
    case Splitter::Kind::kPattern: return cut_by_pattern(step, text, first, sink);
    case Splitter::Kind::kBeforeRuns: return cut_by_mark(step, text, true, first, sink);
    case Splitter::Kind::kPrefixSpace:
      if (text.front() == ' ') return cut(step + 1, text, first, sink);
      written.assign(" ").append(text);
      return cut(step + 1, written, first, sink);
    case Splitter::Kind::kMetaspace: break;
  }
  written.clear();
  for (const char c : text) {
    if (c == ' ') {
      written += now.mark;
    } else {
      written += c;
    }
  }
  const bool prepend = now.prepend == Splitter::Prepend::kAlways || (now.prepend == Splitter::Prepend::kFirst && first);
  if (prepend && !written.starts_with(now.mark)) written.insert(0, now.mark);
  return now.split ? cut_by_mark(step, written, false, first, sink) : cut(step + 1, written, first, sink);
}

// Cuts before each mark, or before each run of marks.
Status SplitRun::cut_by_mark(std::size_t step, std::string_view text, bool runs, bool first, PieceSink& sink) {
  const std::string& mark = splitter_.steps_[step].mark;
  std::size_t begin = 0;
  for (std::size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + mark.size())) {
    const bool inside = runs && at >= mark.size() && text.substr(at - mark.size(), mark.size()) == mark;
    if (at == begin || inside) continue;
    TITAN_RETURN_IF_ERROR(cut(step + 1, text.substr(begin, at - begin), first && begin == 0, sink));
    begin = at;
  }
  return cut(step + 1, text.substr(begin), first && begin == 0, sink);
}

Status SplitRun::cut_by_pattern(std::size_t step, std::string_view text, bool first, PieceSink& sink) {
  const Splitter::Step& now = splitter_.steps_[step];
  Matcher& matcher = *matchers_[step];
  const auto give = [&](std::size_t begin, std::size_t end) {
    return cut(step + 1, text.substr(begin, end - begin), first && begin == 0, sink);
  };
  // Pieces that may still be joined with the next one: [held, end of the last piece).
  std::size_t held = 0, end = 0;
  bool last_matched = false;
  const auto segment = [&](std::size_t begin, std::size_t until, bool matched) -> Status {
    if (begin == until) return {};
    matched = matched != now.invert;
    bool joins = false;
    switch (now.behavior) {
      case SplitBehavior::kRemoved: return matched ? Status() : give(begin, until);
      case SplitBehavior::kIsolated: return give(begin, until);
      case SplitBehavior::kMergedWithPrevious: joins = matched && !last_matched; break;
      case SplitBehavior::kMergedWithNext: joins = !matched && last_matched; break;
      case SplitBehavior::kContiguous: joins = matched == last_matched; break;
    }
    if (!joins) {
      TITAN_RETURN_IF_ERROR(give(held, end));
      held = begin;
    }
    end = until;
    last_matched = matched;
    return {};
  };
  std::size_t at = 0;
  matcher.start(text);
  for (Match match; matcher.next(&match); at = match.end) {
    TITAN_RETURN_IF_ERROR(segment(at, match.begin, false));
    TITAN_RETURN_IF_ERROR(segment(match.begin, match.end, true));
  }
  TITAN_RETURN_IF_ERROR(matcher.status());
  TITAN_RETURN_IF_ERROR(segment(at, text.size(), false));
  return give(held, end);
}

}  // namespace titan::recipe
