#include "libtrain/pipeline/chrome_trace.h"

#include <gtest/gtest.h>

namespace titan::train {
namespace {

TEST(ChromeTrace, IsWhatViewersRead) {
  EXPECT_EQ(chrome_trace({{1, "1B0", "backward", 10.5, 2.25}, {0, "a \"b\"", "forward", 0, 1e-3}}),
            R"({"displayTimeUnit":"ms","traceEvents":[
{"ph":"M","pid":0,"tid":0,"name":"process_name","args":{"name":"rank 0"}},
{"ph":"M","pid":0,"tid":0,"name":"process_sort_index","args":{"sort_index":0}},
{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"rank 1"}},
{"ph":"M","pid":1,"tid":0,"name":"process_sort_index","args":{"sort_index":1}},
{"ph":"X","pid":1,"tid":0,"ts":10.500,"dur":2.250,"name":"1B0","cat":"backward"},
{"ph":"X","pid":0,"tid":0,"ts":0.000,"dur":0.001,"name":"a \"b\"","cat":"forward"}
]}
)");
}

TEST(ChromeTrace, OfNothingIsADocument) {
  EXPECT_EQ(chrome_trace({}), "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n]}\n");
}

}  // namespace
}  // namespace titan::train
