#include "converters/report.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace titan::convert {

namespace {

// The report of the second of two chained conversions. Its lines are looked up by `from`, the name that a tensor has
// between the two conversions.
class Onward {
 public:
  explicit Onward(const std::vector<TensorReport>& lines) : lines_(lines), taken_(lines.size(), false) {
    for (std::size_t i = 0; i < lines.size(); ++i) by_name_.emplace(lines[i].from, i);
  }

  // Adds what the second conversion did with the tensor of `line`, which the first conversion wrote.
  void follow(const TensorReport& line, std::vector<TensorReport>& out) {
    const auto [begin, end] = by_name_.equal_range(line.to);
    if (begin == end) return out.push_back(without_line(line));
    for (auto at = begin; at != end; ++at) {
      // If one tensor becomes several, the others are copies of it; the source may have a line of its own for them.
      if (at == begin)
        out.push_back(join(line, lines_[at->second]));
      else
        copies_.emplace(line.to, Copy{join(line, lines_[at->second]), false});
      taken_[at->second] = true;
    }
  }

  // Adds what the second conversion did with the tensor of `line`, which the first conversion did not write because
  // another tensor has the same elements.
  void follow_tied(TensorReport line, std::vector<TensorReport>& out) {
    const auto copy = copies_.find(line.to);
    if (copy != copies_.end() && !copy->second.taken) {
      copy->second.taken = true;
      line.fate = Fate::kWritten;
      line.to = copy->second.line.to;
      line.to_dtype = copy->second.line.to_dtype;
      line.quantised = copy->second.line.quantised;
    } else if (const auto at = by_name_.find(line.to); at != by_name_.end()) {
      line.to = lines_[at->second].to;
      for (std::size_t i = 0; i < lines_.size(); ++i)
        if (lines_[i].fate == Fate::kTied && lines_[i].to == line.to) taken_[i] = true;
    }
    out.push_back(std::move(line));
  }

  // Adds the lines of the second conversion that no line of the first one led to.
  void rest(std::vector<TensorReport>& out) const {
    for (const auto& [name, copy] : copies_)
      if (!copy.taken) out.push_back(copy.line);
    for (std::size_t i = 0; i < lines_.size(); ++i)
      if (!taken_[i]) out.push_back(lines_[i]);
  }

 private:
  struct Copy {
    TensorReport line;
    bool taken;
  };

  // One line for both conversions. Two reorderings of rows cancel out.
  static TensorReport join(const TensorReport& line, const TensorReport& onward) {
    return {.from = line.from,
            .to = onward.to,
            .fate = onward.fate,
            .from_dtype = line.from_dtype,
            .to_dtype = onward.to_dtype,
            .shape = line.shape,
            .permuted = line.permuted != onward.permuted,
            .quantised = onward.quantised};
  }

  // The line of a tensor that is none in a Titan checkpoint. Adam's `step` is a value there; it counts as written if
  // the parameter's exp_avg is written.
  TensorReport without_line(TensorReport line) const {
    constexpr std::string_view kStep = ".step", kSlot = ".exp_avg";
    const std::string stem = line.to.substr(0, line.to.ends_with(kStep) ? line.to.size() - kStep.size() : 0);
    const auto slot = by_name_.find(stem + std::string(kSlot));
    const bool written = slot != by_name_.end() && lines_[slot->second].fate == Fate::kWritten &&
                         lines_[slot->second].to.ends_with(kSlot);
    line.fate = written ? Fate::kWritten : Fate::kDropped;
    line.to =
        written ? lines_[slot->second].to.substr(0, lines_[slot->second].to.size() - kSlot.size()) + std::string(kStep)
                : "";
    return line;
  }

  const std::vector<TensorReport>& lines_;
  std::vector<bool> taken_;
  std::multimap<std::string, std::size_t> by_name_;
  std::multimap<std::string, Copy> copies_;
};

}  // namespace

const char* fate_name(Fate fate) {
  switch (fate) {
    case Fate::kWritten: return "written";
    case Fate::kTied: return "tied";
    case Fate::kDropped: return "dropped";
    case Fate::kSkipped: return "skipped";
  }
  return "written";
}

std::string type_name(const TensorReport& tensor) {
  return tensor.quantised.empty() ? std::string(ckpt::dtype_name(tensor.to_dtype)) : tensor.quantised;
}

TensorReport uncast(std::string from, Fate fate, ckpt::DType dtype, std::vector<std::uint64_t> shape) {
  return {.from = std::move(from), .fate = fate, .from_dtype = dtype, .to_dtype = dtype, .shape = std::move(shape)};
}

void Rounding::add(const ckpt::RoundingError& part, const std::string& name, std::uint64_t first) {
  error.rounded += part.rounded;
  if (error.overflowed == 0 && part.overflowed > 0) {
    error.overflow_at = first + part.overflow_at;
    overflowing = name;
  }
  error.overflowed += part.overflowed;
  if (part.largest <= error.largest) return;
  error.largest = part.largest;
  error.at = first + part.at;
  tensor = name;
}

std::vector<TensorReport> joined(const std::vector<TensorReport>& first, const std::vector<TensorReport>& second) {
  std::vector<TensorReport> all;
  Onward onward(second);
  for (const TensorReport& line : first)
    if (line.fate == Fate::kWritten) onward.follow(line, all);
  for (const TensorReport& line : first) {
    if (line.fate == Fate::kTied) onward.follow_tied(line, all);
    if (line.fate == Fate::kDropped || line.fate == Fate::kSkipped) all.push_back(line);
  }
  onward.rest(all);
  return all;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i > 0 ? ", '" : "'") + names[i] + "'";
  return names.size() > kShown ? text + " and " + std::to_string(names.size() - kShown) + " more" : text;
}

}  // namespace titan::convert
