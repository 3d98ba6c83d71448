// The catalogue: one line per function a program calls, for `tutti ops` and docs/ops.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/exec/op_table.h"

namespace tutti {

struct CatalogueEntry {
  std::string_view name;           // as it is called: "add", "Variable::assign"
  std::string_view ops = {};       // rows of the op table it runs, "Sum RealDiv", the one that decides the dtypes first; empty: a
                                   // view, or the host's own business
  std::string_view syncs = {};     // what the host waits for: "the count"; empty: for nothing
  DTypes dtypes = {};              // of the first argument, where that is not simply what the first op takes
  std::string_view gradient = {};  // as gradient_of() tells it, where its first op does not say it
};

struct CatalogueSection {
  std::string_view title;
  std::span<const CatalogueEntry> entries;
  bool takes_tensors = true;  // otherwise nothing is to be said of dtypes
};

// In the order in which the page shows them.
std::span<const CatalogueSection> catalogue();

// The rows behind an entry. Throws UnknownOp for a name that is in no table.
std::vector<const OpRow*> ops_of(const CatalogueEntry& entry);
// What the function takes on a backend; empty: one of its ops has no kernel there, so that it runs on the CPU.
DTypes dtypes_on(const CatalogueEntry& entry, BackendKind kind);
// "yes"; "zero: " or "none: " and why. By the first of its ops; without any it is a view, or made of other functions: yes.
std::string gradient_of(const CatalogueEntry& entry);

}  // namespace tutti
