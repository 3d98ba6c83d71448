// Our side of every entry. Functions are named without their namespace, so that one that does not exist is no error.
#include "matrix.h"

using namespace tutti;  // NOLINT(google-build-using-namespace): see above

namespace matrix {

namespace {

// The other side's text is only kept as text here.
#define ENTRY(name, kind, dtypes, operands, expression, theirs)                \
  Entry{name,                                                                  \
        kind,                                                                  \
        dtypes,                                                                \
        operands,                                                              \
        #theirs,                                                               \
        if_possible(                                                           \
            []([[maybe_unused]] const auto& x, [[maybe_unused]] const auto& y, \
               [[maybe_unused]] const auto& z) requires requires { Tensor(expression); } { return Tensor(expression); })},
#define PASS(name, dtypes, operands, ours, theirs) ENTRY(name, Kind::pass, dtypes, Operands::operands, ours, theirs)
#define WORK(name, dtypes, operands, ours, theirs) ENTRY(name, Kind::work, dtypes, Operands::operands, ours, theirs)
#define DRAW(name, dtypes, operands, ours, theirs) ENTRY(name, Kind::draw, dtypes, Operands::operands, ours, theirs)
#define NET(name, dtypes, shapes, ours, theirs) ENTRY(name, Kind::work, dtypes, shaped shapes, ours, theirs)

const Entry every_entry[] = {
#include "entries.inc"
};

}  // namespace

std::span<const Entry> entries() { return every_entry; }

}  // namespace matrix
