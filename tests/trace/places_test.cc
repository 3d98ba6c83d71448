// The line of the user's own code that a wait is laid to.
#include "tutti/trace/places.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "trace/trace_bytes.h"

namespace tutti::tracing {
namespace {

// The place of a stack of Python frames in these files, innermost first, each at the line of its number from 1 on.
Place place_of(const std::vector<std::string>& files) {
  TraceBytes bytes;
  bytes.record(RecordKind::process, ProcessBody{1000, 5, 42, 1, 130001, 0, 0, 0}, "python3");
  std::vector<std::uint32_t> frames;
  for (const std::string& file : files) {
    const auto id = static_cast<std::uint32_t>(frames.size() + 1);
    bytes.named(RecordKind::text, id, file);
    bytes.record(RecordKind::python_frame, PythonFrameBody{id, id, id, id, id, 0, 0, 0});
    frames.push_back(id);
  }
  bytes.stack(StackHead{1, 0, static_cast<std::uint16_t>(frames.size()), 0, 0}, frames);
  return resolve_stacks(read_trace(bytes.bytes, "a")).at(1).place;
}

TEST(Places, AreTheInnermostFrameThatIsOfNoLibrary) {
  EXPECT_EQ(place_of({"/usr/lib/python3/dist-packages/torch/cuda.py", "/home/me/model.py", "/home/me/train.py"}).name(),
            "/home/me/model.py:2");
}

TEST(Places, OfCodeThatTorchCompileWroteAreTheUsersLines) {
  EXPECT_EQ(place_of({"/tmp/torchinductor_me/ab/cabc.py", "/venv/lib/python3.12/site-packages/torch/_inductor/output_code.py",
                      "<eval_with_key>.7", "/home/me/train.py"})
                .name(),
            "/home/me/train.py:4");
}

TEST(Places, OfLibrariesAloneAreTheirInnermostFrame) {
  EXPECT_EQ(place_of({"/tmp/torchinductor_me/ab/cabc.py", "/usr/lib/python3/threading.py"}).name(),
            "/tmp/torchinductor_me/ab/cabc.py:1");
}

}  // namespace
}  // namespace tutti::tracing
