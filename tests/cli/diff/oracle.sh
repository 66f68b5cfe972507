# Real traces, where they are. The first two are those of HTA's test_trace_diff, which compares step 1010, the second:
# of its rows of the CPU five are the same (ProfilerStep#1010, aten::as_strided, aten::empty, cudaEventQuery,
# cudaLaunchKernel), three were added (AddmmBackward0, All2All_Pooled_Req, CatBackward0), one deleted
# (nccl:all_reduce). In the base they take 122149, 0, 0, 4, 4 and 67 us. HTA counts one kernel deleted, too, since it
# counts a kernel in the step of its launch; that one begins after the end of the trace's last step, and here a slice
# is in the step in which it begins.
data=${TACHO_SHARED:-$TACHO_SOURCE_DIR/../shared}/data/kineto/hta
[ -d "$data/trace_compare" ] && [ -d "$data/trace_diff" ] || exit 77
cd "$data" || exit 1
"$TACHO" diff trace_compare/base trace_compare/test --steps 1 --view op --view runtime --view region --view kernel |
	cut -c 1-60
# Another job on other GPUs with another world: everything differs, and nothing hangs on the ranks' numbers.
"$TACHO" diff trace_diff/control trace_diff/test --view step
# On an A100 kernels have other names than on a V100; the operations they work for have the same.
"$TACHO" diff trace_diff/control trace_diff/test --view device --name 'aten::(mm|addmm|copy_)$|Compiled'
"$TACHO" diff trace_diff/control trace_diff/test --view op --name 'aten::(mm|addmm|copy_)$|Compiled'
