#include "cli/kit/errors.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "ckpt/base/exit_code.h"
#include "ckpt/base/table_line.h"
#include "ckpt/base/wrap.h"
#include "cli/kit/json_out.h"
#include "cli/kit/output.h"
#include "cli/kit/text.h"

namespace titan::cli {

namespace {

// An error about permissions needs advice on where to look, unless it already has a better hint.
std::string hint_of(const ckpt::Status& status) {
  if (!status.hint.empty() || status.error != EACCES) return status.hint;
  return "give this user the permission (`ls -ld` shows owner and modes, of it and of each folder on the way)";
}

/// Wrapped to the terminal's width, if there is one; continuation lines are indented by `indent`.
std::string folded(const std::string& line, const Palette& palette, std::size_t indent) {
  return palette.width == 0
             ? line
             : ckpt::wrapped_text(line, palette.width - std::min<std::size_t>(palette.width / 2, 8), indent);
}

/// Commands to paste are below a hint, each after "\n    "; they are not wrapped.
std::string hint_lines(const std::string& hint, const Palette& palette) {
  constexpr std::string_view kBreak = "\n    ";
  std::string text;
  for (std::size_t at = 0, end; at <= hint.size(); at = end + kBreak.size()) {
    end = std::min(hint.find(kBreak, at), hint.size());
    const std::string line = escape(hint.substr(at, end - at));
    text += at == 0 ? folded(line, palette, 4) : "\n    " + line;
  }
  return text;
}

}  // namespace

std::string error_text(const ckpt::Status& status, const Palette& palette) {
  std::string text = palette.paint(Role::kError, "error:") + " " + folded(escape(status.message), palette, 2) + "\n";
  for (const std::string& cause : status.causes)
    text += (ckpt::is_table_line(cause) ? "    " : "  " + palette.paint(Role::kDim, "caused by:") + " ") +
            escape(ckpt::cause_text(cause)) + "\n";
  if (const std::string hint = hint_of(status); !hint.empty())
    text += "  " + palette.paint(Role::kOk, "hint:") + " " + hint_lines(hint, palette) + "\n";
  return text;
}

std::string error_json(const ckpt::Status& status) {
  JsonOut json;
  json.begin_object();
  json.members("type", "error", "code", static_cast<std::uint64_t>(ckpt::exit_code(status.code)));
  json.members("kind", ckpt::code_name(status.code), "message", status.message);
  std::vector<std::string> causes;
  for (const std::string& cause : status.causes) causes.push_back(ckpt::cause_text(cause));
  json.members("causes", causes, "hint", hint_of(status));
  return json.document();
}

bool asks_for_json(int argc, char** argv) {
  return std::find(argv, argv + argc, std::string_view("--json")) != argv + argc;
}

int report_error(const ckpt::Status& status, bool json, ColorChoice color) {
  const std::size_t width = isatty(STDERR_FILENO) == 1 ? terminal_width() : 0;
  to_stderr(json ? error_json(status) : error_text(status, {color_of_process(STDERR_FILENO, color), width}));
  return ckpt::exit_code(status.code);
}

std::string note_text(const std::string& message, const Palette& palette) {
  constexpr std::string_view kLabel = "note:";
  const std::string line = folded_line(std::string(kLabel) + " " + escape(message), palette, 2);
  return palette.paint(Role::kWarning, kLabel) + line.substr(kLabel.size()) + "\n";
}

void report_note(const std::string& message, ColorChoice color) {
  const std::size_t width = isatty(STDERR_FILENO) == 1 ? terminal_width() : 0;
  to_stderr(note_text(message, {color_of_process(STDERR_FILENO, color), width}));
}

void report_command(const std::string& message, ColorChoice color) {
  to_stderr(note_text(message, {color_of_process(STDERR_FILENO, color)}));
}

void report_warning(const std::string& message, bool json, ColorChoice color) {
  if (!json) return report_note(message, color);
  JsonOut object;
  object.begin_object();
  object.text("type", "warning");
  object.text("message", message);
  to_stderr(object.document());
}

}  // namespace titan::cli
