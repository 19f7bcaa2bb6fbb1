// titan-ckpt: reads the command line, runs one verb, delivers its answer.
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "ckpt/base/helpers.h"
#include "ckpt/base/integers.h"
#include "ckpt/lock/lock_wait.h"
#include "cli/kit/errors.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/output.h"
#include "cli/kit/stop.h"
#include "cli/titan_ckpt/verbs.h"

namespace titan::cli {

namespace {

/// Call this first in main(). A manifest of 10,000 tensors takes 5 MB in small allocations: with pages of 4 kB and heap
/// growth of 128 kB, page faults take a third of the time of `inspect`. So the heap grows in large steps, and uses huge
/// pages where available.
void prepare_heap() {
#if defined(__GLIBC__)
  constexpr int kStep = 8 << 20, kMapped = 4 << 20;
  constexpr std::uintptr_t kHugePage = 2 << 20;
  if (mallopt(M_MMAP_THRESHOLD, kMapped) == 0 || mallopt(M_TOP_PAD, kStep) == 0) return;
  // The first allocation that does not fit makes the heap grow by its size plus kStep. The break (sbrk) before and
  // after it are the bounds of that memory.
  const auto before = reinterpret_cast<std::uintptr_t>(::sbrk(0));
  void* volatile grown = std::malloc(kMapped / 4);  // volatile: else the compiler may remove malloc and free
  std::free(grown);
  const auto end = reinterpret_cast<std::uintptr_t>(::sbrk(0)), begin = ckpt::round_up(before, kHugePage);
  if (begin < end)
    (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // fails on a kernel without huge
                                                                                  // pages
#endif
}

int main_of(const std::vector<std::string>& arguments, bool json) {
  stop_at_once({.json = json});
  ignore_write_signals();
  const Program program = titan_ckpt_program();
  const ckpt::Result<Command> command = parse_command_line(program, arguments);
  if (!command.ok()) return report_error(command.status(), json, ColorChoice::kAuto);
  const ckpt::Result<ColorChoice> color = color_choice(*command);
  if (!color.ok()) return report_error(color.status(), json, ColorChoice::kAuto);
  ckpt::lock_wait().say = [json, &color](const std::string& text) { report_warning(text, json, *color); };
  ckpt::lock_wait().cancel = stop_on_signals();
  return run_command(program, *command);
}

}  // namespace

}  // namespace titan::cli

int main(int argc, char** argv) {
  titan::cli::prepare_heap();
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  const bool json = titan::cli::asks_for_json(argc, argv);
  try {
    return titan::cli::main_of(arguments, json);
  } catch (const std::exception& error) {  // out of memory before a verb began
    return titan::cli::report_error(titan::ckpt::status_of(error), json, titan::cli::ColorChoice::kAuto);
  }
}
