#include "cli/kit/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>

#include "ckpt/base/host.h"
#include "ckpt/base/wrap.h"

namespace titan::cli {

using ckpt::environment;

bool decide_color(const ColorInputs& inputs) {
  if (inputs.choice != ColorChoice::kAuto) return inputs.choice == ColorChoice::kAlways;
  if (inputs.no_color && !inputs.no_color->empty()) return false;
  if (inputs.clicolor_force && *inputs.clicolor_force != "0") return true;
  return inputs.is_tty && inputs.term != "dumb";
}

bool color_of_process(int fd, ColorChoice choice) {
  return decide_color(
      {choice, environment("NO_COLOR"), environment("CLICOLOR_FORCE"), environment("TERM"), isatty(fd) == 1});
}

bool progress_possible() { return isatty(STDERR_FILENO) == 1 && environment("TERM") != "dumb"; }

std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const std::string columns = environment("COLUMNS").value_or("");
  const long width = std::strtol(columns.c_str(), nullptr, 10);
  return width > 0 ? static_cast<std::size_t>(width) : 80;
}

std::size_t terminal_height() {
  winsize size{};
  return isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

bool utf8_of_process() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale = environment(name).value_or("");
    if (locale.empty()) continue;
    for (char& c : locale) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

std::string Palette::paint(Role role, std::string_view text) const {
  const char* code = nullptr;
  switch (role) {
    case Role::kPlain: break;
    case Role::kOk: code = "32"; break;
    case Role::kWarning: code = "33"; break;
    case Role::kError: code = "31"; break;
    case Role::kName: code = "1"; break;
    case Role::kDim: code = "2"; break;
  }
  if (!on || code == nullptr || text.empty()) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

std::string folded_line(const std::string& line, const Palette& palette, std::size_t indent) {
  return palette.width == 0 ? line : ckpt::wrapped_text(line, palette.width, indent);
}

}  // namespace titan::cli
