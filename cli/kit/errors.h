#pragma once
// Reports a failure on stderr, as text or as one JSON object, and gives its exit code.
#include <string>

#include "ckpt/base/status.h"
#include "cli/kit/terminal.h"

namespace titan::cli {

/// "error: ...", then "  caused by: ..." lines and table lines, then "  hint: ...". Control characters are escaped.
std::string error_text(const ckpt::Status& status, const Palette& palette);

/// {"type":"error","code":12,"kind":"corruption","message":...,"causes":[...],"hint":...} and a newline.
std::string error_json(const ckpt::Status& status);

/// Prints `status` on stderr and returns its exit code.
int report_error(const ckpt::Status& status, bool json, ColorChoice color);

/// "note: ...", wrapped if the palette has a width.
std::string note_text(const std::string& message, const Palette& palette);
/// Prints note_text() on stderr, wrapped to the terminal's width.
void report_note(const std::string& message, ColorChoice color);
/// Prints a note with a command to paste. It is never wrapped.
void report_command(const std::string& message, ColorChoice color);
/// Prints a warning, as text or as {"type":"warning","message":...} and a newline.
void report_warning(const std::string& message, bool json, ColorChoice color);

}  // namespace titan::cli
