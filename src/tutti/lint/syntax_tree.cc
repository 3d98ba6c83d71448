#include "tutti/lint/syntax_tree.h"

namespace tutti::lint {

NodeId SyntaxTree::child(NodeId of, Part part) const {
  for (NodeId at = nodes_[of].first; at != no_node; at = nodes_[at].next) {
    if (nodes_[at].part == part) return at;
  }
  return no_node;
}

}  // namespace tutti::lint
