#include "libtrain/job/metrics/json_text.h"

#include <cmath>
#include <ctime>

#include "ckpt/base/printed.h"

namespace titan::train {

std::string json_number(double value) {
  const std::string digits = ckpt::digits_of(value);
  return std::isfinite(value) ? digits : '"' + digits + '"';
}

std::string utc_now() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::tm utc;
  ::gmtime_r(&now.tv_sec, &utc);
  return ckpt::printed("%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                       utc.tm_hour, utc.tm_min, utc.tm_sec, static_cast<int>(now.tv_nsec / 1000000));
}

}  // namespace titan::train
