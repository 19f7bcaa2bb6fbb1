#pragma once
// Prints errors, warnings and notes on stderr, as text or as JSON objects.
#include <string>

#include "ckpt/base/status.h"
#include "cli/kit/terminal.h"

namespace titan::cli {

/// "error: ...", then "  caused by: ..." lines and lines of tables, then "  hint: ...". Control characters are escaped.
/// Message and hint are wrapped if the palette has a width; commands to paste are not.
std::string error_text(const ckpt::Status& status, const Palette& palette);

/// {"type":"error","code":12,"kind":"corruption","message":...,"causes":[...],"hint":...} and a newline.
std::string error_json(const ckpt::Status& status);

/// Whether --json is among the arguments. For main(), before they are parsed: so errors of the command line itself are
/// printed in the requested form.
bool asks_for_json(int argc, char** argv);

/// Prints `status` on stderr and returns its exit code.
int report_error(const ckpt::Status& status, bool json, ColorChoice color);

/// "note: ...", wrapped if the palette has a width.
std::string note_text(const std::string& message, const Palette& palette);
/// Prints note_text() on stderr, wrapped to the terminal's width.
void report_note(const std::string& message, ColorChoice color);
/// Prints a note with a command to paste. The note is never wrapped.
void report_command(const std::string& message, ColorChoice color);
/// Prints a warning, as text or as {"type":"warning","message":...} and a newline.
void report_warning(const std::string& message, bool json, ColorChoice color);

}  // namespace titan::cli
