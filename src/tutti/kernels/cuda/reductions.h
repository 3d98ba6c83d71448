// The families of reductions that are compiled together: each function runs one over the dtypes it is for.
#pragma once

#include "tutti/kernels/cuda/argument_lines.cuh"
#include "tutti/kernels/cuda/launch.h"
#include "tutti/kernels/cuda/reduction_plan.cuh"

namespace tutti::kernels::cuda {

void sum_floats(const ReductionPlan& plan, DType dtype, double divisor, Queue& queue, const KernelCall& call);
void sum_integers(const ReductionPlan& plan, DType dtype, Queue& queue, const KernelCall& call);
// Each element so many times.
void multiply_floats(const ReductionPlan& plan, DType dtype, std::int64_t times, Queue& queue, const KernelCall& call);
void multiply_integers(const ReductionPlan& plan, DType dtype, std::int64_t times, Queue& queue, const KernelCall& call);
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
// Of order 1 or 2, and of any other that is finite and not 0.
void norm_of_elements(const ReductionPlan& plan, DType dtype, double order, Queue& queue, const KernelCall& call);
void power_norm_of_elements(const ReductionPlan& plan, DType dtype, double order, Queue& queue, const KernelCall& call);
// Over one axis, in its order; 16 bytes per partial total.
void place_among_floats(const ReductionPlan& plan, DType dtype, bool of_largest, Queue& queue, const KernelCall& call);
void place_among_integers(const ReductionPlan& plan, DType dtype, bool of_largest, Queue& queue, const KernelCall& call);
// Over all axes, in row order; 16 bytes per partial total.
void place_among_floats(const ArgumentLines& lines, DType dtype, bool of_largest, Queue& queue, const KernelCall& call);
void place_among_integers(const ArgumentLines& lines, DType dtype, bool of_largest, Queue& queue, const KernelCall& call);

}  // namespace tutti::kernels::cuda
