#include "cli/kit/step_text.h"

#include <algorithm>
#include <cmath>

#include "ckpt/base/printed.h"
#include "ckpt/base/wrap.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"

namespace titan::cli {
namespace {

using ckpt::printed;

std::string to_the_right(std::string text, std::size_t width) {
  text.insert(0, width > text.size() ? width - text.size() : 0, ' ');
  return text;
}

std::string loss_text(double loss) {
  if (!std::isfinite(loss)) return std::isnan(loss) ? "nan" : "inf";
  return loss < 1000 ? printed("%.4f", loss) : printed("%.4g", loss);
}

std::string steps_text(const StepLook& look) {
  const std::string last = std::to_string(look.last);
  return to_the_right(std::to_string(look.step), last.size()) + "/" + last;
}

/// A part of a step line.
struct Part {
  int leaves = 0;  ///< position in the order in which parts of a line that is too long are dropped; 0: never dropped
  Role role = Role::kPlain;
  std::string name, value;
  /// Columns of the part and the blanks before it. The remaining time counts as at least six columns: otherwise other
  /// parts would appear and disappear as it gets shorter and longer.
  std::size_t width() const {
    const std::size_t shown = display_width(value);
    return name.empty() ? 1 + shown : name.size() + 3 + (name == "eta" ? std::max<std::size_t>(shown, 6) : shown);
  }
};

}  // namespace

std::string short_count(double value) {
  if (!std::isfinite(value) || value < 0) return "?";
  for (const char* unit : {"", "k", "M", "G"}) {
    if (value < 999.5 || *unit == 'G') return printed(*unit && value < 99.95 ? "%.1f" : "%.0f", value) + unit;
    value /= 1000;
  }
  return "?";
}

std::string short_rate(double lr) {
  if (lr == 0) return "0      ";
  std::string text = printed("%.2e", lr);
  const std::size_t zero = text.find("e-0");
  if (zero != std::string::npos) text.erase(zero + 2, 1);
  return text;
}

std::string step_text(const StepLook& look, std::size_t width, const Palette& palette) {
  std::string speed = to_the_right(short_count(look.tps), 5);
  std::vector<Part> parts{{0, Role::kName, "step", steps_text(look)},
                          {0, Role::kOk, "loss", to_the_right(loss_text(look.loss), 7)},
                          {3, Role::kPlain, "lr", short_rate(look.lr)},
                          {1, Role::kPlain, "norm", to_the_right(printed("%.3f", look.grad_norm), 6)},
                          {5, Role::kPlain, "tok/s", speed}};
  if (look.ranks > 1)
    parts.push_back({2, Role::kDim, "", "(" + to_the_right(short_count(look.tps / look.ranks), 5) + " a rank)"});
  if (look.left) parts.push_back({4, Role::kPlain, "eta", format_duration(*look.left)});
  const auto length = [&] {
    std::size_t sum = 0;
    for (const Part& part : parts) sum += part.width();
    return sum - 2;
  };
  for (int next = 1; next <= 5 && length() > width; ++next)
    std::erase_if(parts, [&](const Part& part) { return part.leaves == next; });
  std::string line;
  for (const Part& part : parts) {
    if (part.name.empty()) {
      line += " " + palette.paint(part.role, part.value);
      continue;
    }
    line +=
        (line.empty() ? "" : "  ") + palette.paint(Role::kDim, part.name) + " " + palette.paint(part.role, part.value);
  }
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

std::string bar_text(const StepLook& look, double elapsed, const std::string& doing, std::size_t width) {
  const double share = look.last == 0 ? 0 : static_cast<double>(look.step) / static_cast<double>(look.last);
  std::string head = "[" + format_duration(std::floor(elapsed)) + "]  " +
                     to_the_right(std::to_string(static_cast<int>(share * 100)), 3) + "%  step " + steps_text(look);
  std::string tail = doing.empty() ? look.left ? "  eta " + format_duration(*look.left) : "" : "  " + doing;
  // The last column stays free: text in it would make some terminals begin a new line.
  const std::size_t room = width > head.size() + tail.size() + 1 ? width - head.size() - tail.size() - 1 : 0;
  if (room >= 10) {
    const std::size_t cells = std::min<std::size_t>(room - 4, 40);
    const auto full = static_cast<std::size_t>(share * static_cast<double>(cells));
    std::string bar(cells, ' ');
    std::fill_n(bar.begin(), std::min(full, cells), '=');
    if (full < cells) bar[full] = '>';
    head += "  [" + bar + "]";
  }
  std::string line = head + tail;
  while (display_width(line) >= width && !line.empty()) line.pop_back();
  return line;
}

std::string summary_text(const RunSummary& s, std::size_t width, const Palette& palette) {
  const bool all = s.done == s.last;
  const std::uint64_t made = s.done + 1 - s.first;
  std::vector<std::pair<std::string, std::string>> rows;
  rows.emplace_back(all ? "done" : "stopped",
                    (all ? format_count(made) + (made == 1 ? " step" : " steps")
                         : "at step " + std::to_string(s.done) + " of " + std::to_string(s.last) + ", " +
                               format_count(made) + " made") +
                        " in " + format_duration(s.seconds) + ", " + format_count(s.tokens) + " tokens, " +
                        short_count(static_cast<double>(s.tokens) / std::max(s.seconds, 1e-9)) + " tok/s");
  rows.emplace_back("loss", loss_text(s.loss) + " at step " + std::to_string(s.done) + ", best " +
                                loss_text(s.best_loss) + " at step " + std::to_string(s.best_step) +
                                (s.validation_loss ? "; validation " + loss_text(*s.validation_loss) + " at step " +
                                                         std::to_string(s.validation_step)
                                                   : ""));
  rows.emplace_back("newest", s.newest.empty() ? "nothing is saved" : escape(s.newest));
  std::string out;
  for (const auto& [name, value] : rows)
    out += palette.paint(Role::kDim, name + std::string(9 - name.size(), ' ')) + ckpt::wrapped_text(value, width, 9) +
           "\n";
  // A command to paste: the terminal wraps it.
  if (!s.extend_command.empty()) out += palette.paint(Role::kDim, "continue ") + escape(s.extend_command) + "\n";
  return out;
}

std::string message_text(const std::string& label, Role role, const std::string& message, std::size_t width,
                         const Palette& palette) {
  const std::string text = (label.empty() ? "" : label + " ") + escape(message);
  const std::string folded = ckpt::wrapped_text(text, width, 2);
  return palette.paint(role, label) + folded.substr(label.size()) + "\n";
}

}  // namespace titan::cli
