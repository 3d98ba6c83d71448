// What of JAX and NumPy reads an array, and whose `jit` it is.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tutti/lint/check.h"

namespace tutti::lint {
namespace {

const std::string jax_imports = "import jax\nimport jax.numpy as jnp\nimport numpy as np\nfrom functools import partial\n";

std::vector<std::string_view> jax_rules_of(const std::string& program) {
  std::vector<std::string_view> out;
  for (const Finding& finding : check(jax_imports + program).findings) {
    if (finding.confidence >= Confidence::likely) out.push_back(rule(finding.rule).name);
  }
  return out;
}

using RuleNames = std::vector<std::string_view>;

TEST(Jax, FactsThatItsTypesAndShapesTellAreTheHosts) {
  for (const char* const fact :
       {"jnp.finfo(x.dtype).max", "jnp.iinfo(jnp.int32).max", "jnp.size(x)", "jnp.dtype('float32')", "jnp.result_type(x, x)",
        "jnp.promote_types('int8', 'int32')", "jnp.isscalar(x)", "jnp.iscomplexobj(x)", "jnp.broadcast_shapes((1,), (3,))",
        "np.shape(x)", "np.ndim(x)", "np.size(x)", "np.result_type(x)"}) {
    EXPECT_EQ(jax_rules_of("x = jnp.ones(3)\nfact = " + std::string(fact) + "\nprint(fact)\nif fact:\n    y = 1\n"), RuleNames())
        << fact;
  }
  EXPECT_EQ(jax_rules_of("x = jnp.isnan(jnp.ones(3))\nprint(x)\n"), RuleNames{"jax-read"});
}

TEST(Jax, ArraysInAListAreReadByNumpy) {
  const std::string losses = "losses = []\nfor i in range(3):\n    losses.append(jnp.ones(3).sum())\n";
  EXPECT_EQ(jax_rules_of(losses + "mean = np.mean(losses)\n"), RuleNames{"jax-read"});
  EXPECT_EQ(jax_rules_of("both = np.stack([jnp.ones(3), jnp.ones(3)])\n"), RuleNames{"jax-read"});
  EXPECT_EQ(jax_rules_of("both = np.stack([np.ones(3), np.ones(3)])\n"), RuleNames());
}

TEST(Jax, JitIsItsOwnWhereTheNameIsImportedFromIt) {
  const auto read_of = [](const std::string& start) {
    return jax_rules_of(start + "\ndef double(x):\n    return 2 * x\n\nprint(double(3))\nprint(double(x=3) + 1)\n");
  };
  const RuleNames both{"jax-read", "jax-read"};
  EXPECT_EQ(read_of("from jax import jit\n@jit"), both);
  EXPECT_EQ(read_of("from jax import jit as compiled\n@compiled"), both);
  EXPECT_EQ(read_of("from jax import jit\n@partial(jit, static_argnums=0)"), both);
  EXPECT_EQ(read_of("from jax import jit\n@jit(static_argnums=0)"), both);
  EXPECT_EQ(read_of("@jax.jit"), both);
  EXPECT_EQ(read_of("@partial(jax.jit, static_argnums=0)"), both);
  EXPECT_EQ(read_of("from numba import jit\n@jit"), RuleNames());
  EXPECT_EQ(read_of("from numba import jit\n@jit(nopython=True)"), RuleNames());
  EXPECT_EQ(read_of("from numba import jit\n@partial(jit, nopython=True)"), RuleNames());
  EXPECT_EQ(read_of("from numba import njit\n@njit"), RuleNames());
}

TEST(Jax, JitOfAMethodIsItsOwnToo) {
  const std::string start =
      "class Doubler:\n    @jit\n    def double(self, x):\n        return 2 * x\n\nprint(Doubler().double(3))\n";
  EXPECT_EQ(jax_rules_of("from jax import jit\n" + start), RuleNames{"jax-read"});
  EXPECT_EQ(jax_rules_of("from numba import jit\n" + start), RuleNames());
}

}  // namespace
}  // namespace tutti::lint
