// The families of reductions that are compiled together: each function runs one over the dtypes it is for.
#pragma once

#include "tutti/kernels/cuda/launch.h"
#include "tutti/kernels/cuda/reduction_plan.cuh"
#include "tutti/kernels/cuda/sum_of.h"

namespace tutti::kernels::cuda {

void sum_floats(const ReductionPlan& plan, DType dtype, SumOf terms, double divisor, Queue& queue, const KernelCall& call);
void sum_integers(const ReductionPlan& plan, DType dtype, Queue& queue, const KernelCall& call);
void multiply_elements(const ReductionPlan& plan, DType dtype, Queue& queue, const KernelCall& call);
// Largest or smallest, of the elements or of their magnitudes.
void extremum_of_floats(const ReductionPlan& plan, DType dtype, bool of_largest, bool of_magnitudes, Queue& queue,
                        const KernelCall& call);
void extremum_of_integers(const ReductionPlan& plan, DType dtype, bool of_largest, Queue& queue, const KernelCall& call);
// All or any. Of columns: the plan is of words that hold several of them, and lies in packs.
void test_elements(const ReductionPlan& plan, DType dtype, bool of_all, Queue& queue, const KernelCall& call);
void test_columns(const ReductionPlan& plan, DType dtype, bool of_all, Queue& queue, const KernelCall& call);
void count_elements(const ReductionPlan& plan, DType dtype, Queue& queue, const KernelCall& call);
// 24 bytes per partial total.
void variance_of_elements(const ReductionPlan& plan, DType dtype, double divisor, bool takes_root, Queue& queue,
                          const KernelCall& call);
// 16 bytes per partial total.
void log_sum_exp_of_elements(const ReductionPlan& plan, DType dtype, Queue& queue, const KernelCall& call);
// Of any order that is finite and not 0.
void power_norm_of_elements(const ReductionPlan& plan, DType dtype, double order, Queue& queue, const KernelCall& call);
// Over one axis, in its order; 16 bytes per partial total.
void place_of_extremum(const ReductionPlan& plan, DType dtype, bool of_largest, Queue& queue, const KernelCall& call);

}  // namespace tutti::kernels::cuda
