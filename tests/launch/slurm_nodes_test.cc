// Slurm's compressed lists of nodes.
#include "tutti/mesh/control/slurm_nodes.h"

#include <gtest/gtest.h>

namespace {

using tutti::first_slurm_node;

TEST(SlurmNodes, TheFirstNodeIsFoundInEveryForm) {
  EXPECT_EQ(first_slurm_node("node1"), "node1");
  EXPECT_EQ(first_slurm_node("node1,node2"), "node1");
  EXPECT_EQ(first_slurm_node("node[01-03,7],b2"), "node01");
  EXPECT_EQ(first_slurm_node("node[7]"), "node7");
  EXPECT_EQ(first_slurm_node("b2,node[01-03]"), "b2");
  EXPECT_EQ(first_slurm_node("rack[2-3]n[010-011]-ib0,x"), "rack2n010-ib0");
  EXPECT_EQ(first_slurm_node("a-b.example.org"), "a-b.example.org");
}

TEST(SlurmNodes, WhatIsNoListIsNone) {
  for (const char* text :
       {"", ",a", "node[", "node[]", "node[x-3]", "node[1-3", "a b", "-oProxyCommand=x", "node[1;2]", "a;b", "[1"}) {
    EXPECT_EQ(first_slurm_node(text), std::nullopt) << text;
  }
}

}  // namespace
