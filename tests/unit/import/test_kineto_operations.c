/* What collectives do, of traces whose kernels do not say so by their names: the operation, its size, and who is late. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <tacho/analyze.h>
#include <tacho/correlate.h>
#include <tacho/import.h>

#include "trace/collective_names.h"
#include "trace/operation.h"

enum { N_STEPS = 8, MAX_RANKS = 8 };

#define SENDRECV "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
#define OLD	 "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)"
#define GENERIC	 "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)"
#define RCCL	 "ncclKernel_Generic(ncclDevComm*, unsigned long, ncclWork*)"
#define DISPATCH "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*, int*, long*)"
#define UNKNOWN	 G_MAXUINT64

/* How a trace tells of a collective; %u is a number of elements. */
struct form {
	const gchar *kernel;
	const gchar *kernel_args; /* after its correlation; "" or ", ..." */
	const gchar *annotation;  /* around the launch; NULL: none */
	const gchar *comms_args;  /* of "record_param_comms" around the launch; NULL: none */
	const gchar *name;	  /* that it is to have */
	guint element_bytes;	  /* UNKNOWN: 0 */
	gboolean is_even;	  /* all ranks give as much */
};

static const struct form forms[] = {
	{ SENDRECV, "", "nccl:all_to_all",
	  "\"Input Dims\": [[%u], []], \"Input type\": [\"float\", \"Scalar\"]", "all_to_all", 4,
	  FALSE },
	{ OLD, "", "nccl:all_to_all", NULL, "all_to_all", 0, TRUE },
	{ SENDRECV, "", NULL,
	  "\"Collective name\": \"all_to_allv\", \"In msg nelems\": %u, \"dtype\": \"BFloat16\"",
	  "all_to_all", 2, FALSE },
	{ SENDRECV,
	  ", \"Collective name\": \"all_to_allv\", \"In msg nelems\": %u, \"dtype\": \"Float\"",
	  NULL, NULL, "all_to_all", 4, FALSE },
	{ SENDRECV, "", NULL,
	  "\"Concrete Inputs\": [\"\", \"7\", \"['0', 'default_pg']\", \"1\", \"all_to_allv\", "
	  "\"[]\"]",
	  "all_to_all", 0, TRUE },
	{ RCCL, "", "nccl:all_to_all", NULL, "all_to_all", 0, TRUE },
	{ OLD, "", "nccl:all_reduce", NULL, "all_reduce", 0, TRUE },
	{ GENERIC,
	  ", \"Collective name\": \"allreduce\", \"In msg nelems\": %u, \"dtype\": \"Half\"", NULL,
	  NULL, "all_reduce", 2, TRUE },
	{ GENERIC,
	  ", \"Collective name\": \"broadcast\", \"In msg nelems\": %u, \"dtype\": \"Float\"", NULL,
	  NULL, "broadcast", 4, TRUE },
	{ GENERIC, "", "nccl:_reduce_scatter_base", NULL, "reduce_scatter", 0, TRUE },
	{ RCCL, "", NULL,
	  "\"Collective name\": \"_allgather_base\", \"In msg nelems\": %u, \"dtype\": \"Float\"",
	  "all_gather", 4, TRUE },
	{ DISPATCH, "", NULL, NULL, DISPATCH, 0, TRUE },
};

/* --- traces ------------------------------------------------------------------------------------- */

static guint elements_of(const struct form *form, guint rank)
{
	return form->is_even ? 1000 : 1000 + 100 * rank;
}

static void append_filled(GString *text, const gchar *args, guint n_elements)
{
	const gchar *number = strstr(args, "%u");

	if (!number)
		g_string_append(text, args);
	else
		g_string_append_printf(text, "%.*s%u%s", (int)(number - args), args, n_elements,
				       number + strlen("%u"));
}

static void append_slice(GString *text, const gchar *category, const gchar *name, guint pid,
			 guint tid, guint start_us, guint duration_us)
{
	g_string_append_printf(text,
			       ",\n{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": %u, "
			       "\"tid\": %u, \"ts\": %u.000, \"dur\": %u.000",
			       category, name, pid, tid, start_us, duration_us);
}

/* Work of 2 ms, of the late rank 3 ms longer; then the collective, which ends when all are there. */
static void append_step(GString *text, const struct form *form, guint step, guint rank, guint late)
{
	g_autofree gchar *name = g_strdup_printf("ProfilerStep#%u", step);
	guint base_us = 10000 * step, begin_us = base_us + 2500 + (rank == late ? 3000 : rank * 10);

	append_slice(text, "user_annotation", name, 77, 77, base_us, 10000);
	g_string_append(text, "}");
	append_slice(text, "cpu_op", "aten::mm", 77, 77, base_us + 50, 100);
	g_string_append(text, "}");
	append_slice(text, "cuda_runtime", "cudaLaunchKernel", 77, 77, base_us + 60, 10);
	g_string_append_printf(text, ", \"args\": {\"correlation\": %u}}", 2 * step + 1);
	append_slice(text, "kernel", "gemm", rank, 7, base_us + 500, begin_us - base_us - 500);
	g_string_append_printf(text,
			       ", \"args\": {\"device\": %u, \"stream\": 7, \"correlation\": %u}}",
			       rank, 2 * step + 1);
	if (form->comms_args) {
		append_slice(text, "cpu_op", "record_param_comms", 77, 77, base_us + 200, 100);
		g_string_append(text, ", \"args\": {");
		append_filled(text, form->comms_args, elements_of(form, rank));
		g_string_append(text, "}}");
	}
	if (form->annotation) {
		append_slice(text, "user_annotation", form->annotation, 77, 77, base_us + 210, 80);
		g_string_append(text, "}");
	}
	append_slice(text, "cuda_runtime", "cudaLaunchKernelExC", 77, 77, base_us + 250, 10);
	g_string_append_printf(text, ", \"args\": {\"correlation\": %u}}", 2 * step + 2);
	append_slice(text, "kernel", form->kernel, rank, 20, begin_us, base_us + 6000 - begin_us);
	g_string_append_printf(text,
			       ", \"args\": {\"device\": %u, \"stream\": 20, \"correlation\": %u",
			       rank, 2 * step + 2);
	append_filled(text, form->kernel_args, elements_of(form, rank));
	g_string_append(text, "}}");
}

static void write_rank(const gchar *path, const struct form *form, guint n_ranks, guint rank,
		       guint late)
{
	g_autoptr(GString) text = g_string_new(NULL);

	g_string_printf(
		text,
		"{\"schemaVersion\": 1, \"baseTimeNanoseconds\": 1700000000000000000,\n"
		"\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %u, "
		"\"world_size\": %u},\n"
		"\"traceEvents\": [\n{\"name\": \"process_name\", \"ph\": \"M\", \"ts\": 0, "
		"\"pid\": 77, \"tid\": 0, \"args\": {\"name\": \"python\"}}",
		rank, n_ranks);
	for (guint step = 0; step < N_STEPS; step++)
		append_step(text, form, step, rank, late);
	g_string_append(text, "\n]}\n");
	g_assert_true(g_file_set_contents_full(path, text->str, (gssize)text->len,
					       G_FILE_SET_CONTENTS_NONE, 0600, NULL));
}

static TachoTimeline *open_job(const struct form *form, guint n_ranks, guint late)
{
	g_autoptr(GError) error = NULL;
	g_autofree gchar *folder = g_dir_make_tmp("tacho-operations-XXXXXX", NULL);
	g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
	TachoTimeline *timeline;

	for (guint rank = 0; rank < n_ranks; rank++) {
		g_autofree gchar *name = g_strdup_printf("rank%u.json", rank);

		g_ptr_array_add(paths, g_build_filename(folder, name, NULL));
		write_rank(g_ptr_array_index(paths, rank), form, n_ranks, rank, late);
	}
	timeline = tacho_run_open((const gchar *const *)paths->pdata, n_ranks, NULL, NULL, &error);
	g_assert_no_error(error);
	tacho_correlate(timeline);
	for (guint rank = 0; rank < n_ranks; rank++)
		g_unlink(g_ptr_array_index(paths, rank));
	g_rmdir(folder);
	return timeline;
}

/* --- what is to be known ------------------------------------------------------------------------- */

static void assert_form(const struct form *form, guint n_ranks, guint late)
{
	g_autoptr(TachoTimeline) timeline = open_job(form, n_ranks, late);
	g_autoptr(TachoTable) comm = tacho_view_comm(timeline, NULL);
	g_autoptr(TachoTable) straggler = tacho_view_straggler(timeline, NULL);
	g_autoptr(TachoTable) kernels = tacho_view_kernel(timeline, NULL);
	gdouble bytes = tacho_table_cell_number(comm, 0, "mean_bytes");

	g_test_message("%s: %s, rank %u of %u late", form->name, form->kernel, late, n_ranks);
	g_assert_cmpuint(tacho_table_n_rows(comm), ==, 1);
	g_assert_cmpstr(tacho_table_cell_text(comm, 0, "name"), ==, form->name);
	g_assert_cmpfloat(tacho_table_cell_number(comm, 0, "count"), ==, N_STEPS - 1);
	g_assert_cmpfloat(tacho_table_cell_number(comm, 0, "ranks"), ==, n_ranks);
	g_assert_cmpfloat(tacho_table_cell_number(comm, 0, "late_rank"), ==, late);
	g_assert_cmpfloat(tacho_table_cell_number(straggler, 0, "rank"), ==, late);
	g_assert_cmpfloat(tacho_table_cell_number(straggler, 0, "stands_out"), ==, 1);
	if (form->element_bytes == 0) {
		g_assert_true(isnan(bytes));
		g_assert_true(isnan(tacho_table_cell_number(comm, 0, "bytes")));
		g_assert_null(tacho_table_cell_text(comm, 0, "size_class"));
		g_assert_true(isnan(tacho_table_cell_number(comm, 0, "bus_gb_per_s")));
	} else {
		g_assert_cmpfloat(bytes, ==, form->element_bytes * elements_of(form, n_ranks - 1));
	}
	for (guint row = 0; row < tacho_table_n_rows(kernels);
	     row++) /* communication computes nothing */
		g_assert_cmpstr(tacho_table_cell_text(kernels, row, "name"), ==, "gemm");
}

static void test_forms(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(forms); i++)
		for (guint n_ranks = 2; n_ranks <= MAX_RANKS; n_ranks *= 2)
			assert_form(&forms[i], n_ranks, (i + 1) % n_ranks);
}

static void test_names(void)
{
	static const struct {
		const gchar *name;
		gboolean is_communication, is_generic;
	} kernels[] = {
		{ SENDRECV, TRUE, TRUE },
		{ GENERIC, TRUE, TRUE },
		{ RCCL, TRUE, TRUE },
		{ "rcclDevKernel_Generic_4", TRUE, TRUE },
		{ "ncclDevKernel_AllReduce_Sum_f32_RING_LL", TRUE, FALSE },
		{ "mscclKernel_Sum_half_LL_0", TRUE, FALSE },
		{ DISPATCH, TRUE, FALSE },
		{ "void deep_ep::internode_ll::combine<true, 7168>(void*)", TRUE, FALSE },
		{ "void deep_ep::intranode::cached_notify_combine<8>(void**)", TRUE, FALSE },
		{ "deep_ep::internode::notify_dispatch", TRUE, FALSE },
		{ "void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*)", FALSE,
		  FALSE },
		{ "void (anonymous namespace)::dispatchKernel<16u, true, true>(int*)", TRUE,
		  FALSE },
		{ "void tensorrt_llm::kernels::moe_comm::moeA2ACombineKernel<a::b>(int)", TRUE,
		  FALSE },
		{ "void mori::moe::EpDispatchIntraNodeKernel<float>(mori::moe::EpArgs<float>)",
		  TRUE, FALSE },
		{ "c10d::nvshmem_extension::allToAllV_2d(void*)", TRUE, FALSE },
		{ "void cub::DispatchReduceByKey<long*>(int)", FALSE, FALSE },
		{ "void at::native::dispatchKernelLater<int>(int)", FALSE, FALSE },
		{ "triton_poi_fused_combine", FALSE, FALSE },
		{ "void ", FALSE, FALSE },
		{ "", FALSE, FALSE },
		{ "(anonymous namespace)::", FALSE, FALSE },
	};

	for (guint i = 0; i < G_N_ELEMENTS(kernels); i++) {
		gsize n = strlen(kernels[i].name);

		g_test_message("%s", kernels[i].name);
		g_assert_cmpint(is_communication_kernel(kernels[i].name, n), ==,
				kernels[i].is_communication);
		g_assert_cmpint(is_generic_kernel(kernels[i].name, n), ==, kernels[i].is_generic);
	}
}

static void test_words(void)
{
	static const struct {
		const gchar *word;
		enum collective_operation operation;
	} words[] = { { "nccl:_all_gather_base", OPERATION_ALL_GATHER },
		      { "all_to_allv", OPERATION_ALL_TO_ALL },
		      { "nccl:all_reduce_barrier", OPERATION_BARRIER },
		      { "nccl:reduce", OPERATION_REDUCE },
		      { "_reduce_scatter_base", OPERATION_REDUCE_SCATTER },
		      { "broadcast_oop", OPERATION_BROADCAST },
		      { "send", OPERATION_UNTOLD },
		      { "nccl:recv 1<-0", OPERATION_UNTOLD },
		      { "coalesced", OPERATION_UNTOLD },
		      { "", OPERATION_UNTOLD } };

	for (guint i = 0; i < G_N_ELEMENTS(words); i++)
		g_assert_cmpint(operation_of_word(words[i].word, strlen(words[i].word)), ==,
				words[i].operation);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kineto_operations/names", test_names);
	g_test_add_func("/kineto_operations/words", test_words);
	g_test_add_func("/kineto_operations/forms", test_forms);
	return g_test_run();
}
