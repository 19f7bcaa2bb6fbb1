#include "libtrain/engine/train/stop_words.h"

#include <chrono>
#include <csignal>
#include <thread>

#include "ckpt/base/exit_code.h"
#include "libtrain/job/launch/signals.h"

namespace titan::train {

// A launcher tells its ranks one after the other: the signal that another rank has heard may be on its way.
std::string who_asks() {
  for (int look = 0; look < 20 && stop_signal() == 0; ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return stop_signal() != 0 ? stop_name(stop_signal()) : "asked for on another rank";
}

int code_without_save() { return stop_signal() == SIGINT ? ckpt::kExitInterrupted : ckpt::kExitTerminated; }

}  // namespace titan::train
