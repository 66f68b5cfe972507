/* Operations that were recorded without their tensors have those of the same place in another step. */
#include "trace/op_twins.h"

#include <glib/gstdio.h>

#include "run_builder.h"

#define UNASKED (-1) /* in place of the size of an operation's only input */
#define NO_TWIN (-2)

enum { MM = 1, RELU, LINEAR, MODULE, STEP, REGION, OUTPUTS };

struct fixture {
	gchar *folder;
	struct run_builder *run;
	guint64 now;
	TachoTimeline *timeline;
};

static void set_up(struct fixture *fixture)
{
	fixture->folder = g_dir_make_tmp("twins-XXXXXX", NULL);
	fixture->run = run_builder_new(fixture->folder, &(struct run_builder_process){ .pid = 33 });
	fixture->now = 1000;
	run_builder_class(fixture->run, TRACE_KIND_OP, "aten::mm");
	run_builder_class(fixture->run, TRACE_KIND_OP, "aten::relu");
	run_builder_class(fixture->run, TRACE_KIND_OP, "aten::linear");
	run_builder_class(fixture->run, TRACE_KIND_MODULE, "Net.head (Linear)");
	run_builder_class(fixture->run, TRACE_KIND_ANNOTATION, "Optimizer.step#SGD.step");
	run_builder_class(fixture->run, TRACE_KIND_ANNOTATION, "batch");
	run_builder_class(fixture->run, TRACE_KIND_OUTPUTS, "outputs");
	run_builder_stream(fixture->run, 33);
}

/* An operation of `ticks`, with an input of `size` elements. */
static void add_op(struct fixture *fixture, guint32 class_id, gint64 size, guint64 ticks)
{
	gsize n_bytes = sizeof(struct record_op) +
			(size == UNASKED ? 0 : sizeof(struct record_tensor) + sizeof(size));
	struct record_op *op =
		run_builder_record(fixture->run, class_id, fixture->now, (guint32)n_bytes);

	op->duration = ticks;
	op->sequence = TRACE_NO_SEQUENCE;
	op->flags = size == UNASKED ? TRACE_OP_UNASKED : 0;
	op->n_inputs = size == UNASKED ? 0 : 1;
	if (size != UNASKED) {
		struct record_tensor *tensor = (void *)(op + 1);

		tensor->n_dims = 1;
		*(gint64 *)(tensor + 1) = size;
	}
	fixture->now += 10;
}

/* The output of the operation that began 10 ticks ago. */
static void add_output(struct fixture *fixture, gint64 size)
{
	struct record_outputs *outputs =
		run_builder_record(fixture->run, OUTPUTS, fixture->now,
				   sizeof(*outputs) + sizeof(struct record_tensor) + sizeof(size));
	struct record_tensor *tensor = (void *)(outputs + 1);

	outputs->begin_stamp = fixture->now - 10;
	outputs->n_outputs = 1;
	tensor->n_dims = 1;
	*(gint64 *)(tensor + 1) = size;
}

static void add_slice(struct fixture *fixture, guint32 class_id, guint64 ticks)
{
	run_builder_slice(fixture->run, class_id, fixture->now, fixture->now + ticks, 0);
	fixture->now += 10;
}

static void end_step(struct fixture *fixture)
{
	add_slice(fixture, STEP, 5);
}

static void open_run(struct fixture *fixture)
{
	const gchar *path = fixture->folder;
	GError *error = NULL;

	run_builder_end(fixture->run);
	fixture->timeline = tacho_timeline_open(&path, 1, &error);
	g_assert_no_error(error);
}

static void tear_down(struct fixture *fixture)
{
	tacho_timeline_free(fixture->timeline);
	run_builder_remove(fixture->folder);
	g_free(fixture->folder);
}

static gint64 size_of(const TachoTensor *tensor)
{
	g_assert_cmpuint(tensor->n_dims, ==, 1);
	return tensor->shape[0];
}

static gint64 input_size(const TachoTimeline *timeline, guint32 slice)
{
	TachoTensor tensor;
	TachoOpArgs args;

	g_assert_true(tacho_slice_op(timeline, slice, &args));
	g_assert_cmpint(args.sequence, ==, TRACE_NO_SEQUENCE);
	if (!tacho_slice_input(timeline, slice, 0, &tensor)) {
		g_assert_cmpuint(args.n_inputs, ==, 0);
		return NO_TWIN;
	}
	g_assert_cmpuint(args.n_inputs, ==, 1);
	return size_of(&tensor);
}

/* The inputs of all operations, in their order. */
static void assert_sizes(const struct fixture *fixture, const gint64 *sizes, guint n)
{
	const TachoSlices *slices = &fixture->timeline->slices;
	guint found = 0;

	for (guint32 i = 0; i < slices->n; i++) {
		if (slices->kind[i] != TACHO_SLICE_OP)
			continue;
		g_assert_cmpuint(found, <, n);
		g_assert_cmpint(input_size(fixture->timeline, i), ==, sizes[found]);
		found++;
	}
	g_assert_cmpuint(found, ==, n);
}

#define ASSERT_SIZES(fixture, ...)                                                                 \
	assert_sizes(fixture, (const gint64[]){ __VA_ARGS__ },                                     \
		     G_N_ELEMENTS(((const gint64[]){ __VA_ARGS__ })))

static void test_same_place(void)
{
	struct fixture f;

	set_up(&f);
	for (int step = 0; step < 3; step++) {
		gboolean is_asked = step == 0;

		add_slice(&f, REGION, 35); /* regions are no places: their names may count steps */
		add_op(&f, MM, is_asked ? 2 : UNASKED, 5);
		add_op(&f, RELU, is_asked ? 3 : UNASKED, 5);
		add_op(&f, MM, is_asked ? 5 : UNASKED, 5);
		end_step(&f);
	}
	open_run(&f);
	ASSERT_SIZES(&f, 2, 3, 5, 2, 3, 5, 2, 3, 5);
	tear_down(&f);
}

static void test_inside_modules_and_operations(void)
{
	struct fixture f;

	set_up(&f);
	for (int step = 0; step < 2; step++) {
		gboolean is_asked = step == 0;

		add_op(&f, MM, is_asked ? 2 : UNASKED, 5);
		add_slice(&f, MODULE, 35);
		add_op(&f, LINEAR, is_asked ? 3 : UNASKED, 25);
		add_op(&f, MM, is_asked ? 5 : UNASKED, 5);
		end_step(&f);
	}
	open_run(&f);
	ASSERT_SIZES(&f, 2, 3, 5, 2, 3, 5);
	tear_down(&f);
}

/* Of a name that a step has more of than the one that was asked, none has a twin, nor what is in it. */
static void test_another_number(void)
{
	struct fixture f;

	set_up(&f);
	add_op(&f, LINEAR, 2, 15);
	add_op(&f, MM, 3, 5);
	add_op(&f, RELU, 5, 5);
	end_step(&f);
	for (int i = 0; i < 2; i++) {
		add_op(&f, LINEAR, UNASKED, 15);
		add_op(&f, MM, UNASKED, 5);
	}
	add_op(&f, RELU, UNASKED, 5);
	end_step(&f);
	open_run(&f);
	ASSERT_SIZES(&f, 2, 3, 5, NO_TWIN, NO_TWIN, NO_TWIN, NO_TWIN, 5);
	tear_down(&f);
}

/* The last one before; where there is none, the last of all. */
static void test_nearest(void)
{
	struct fixture f;

	set_up(&f);
	for (int step = 0; step < 4; step++) {
		add_op(&f, MM, step == 1 ? 2 : step == 2 ? 3 : UNASKED, 5);
		end_step(&f);
	}
	add_op(&f, RELU, UNASKED, 5); /* behind the last step, and never asked */
	open_run(&f);
	ASSERT_SIZES(&f, 3, 2, 3, 3, NO_TWIN);
	tear_down(&f);
}

static void test_outputs(void)
{
	struct fixture f;
	TachoTensor tensor;
	TachoOpArgs args;
	guint32 last;

	set_up(&f);
	add_op(&f, MM, 2, 10);
	add_output(&f, 7);
	f.now += 10;
	end_step(&f);
	add_op(&f, MM, UNASKED, 5);
	open_run(&f);
	last = f.timeline->slices.n - 1;
	g_assert_true(f.timeline->slices.flags[last] & TACHO_SLICE_UNASKED);
	g_assert_true(tacho_slice_op(f.timeline, last, &args));
	g_assert_cmpuint(args.n_outputs, ==, 1);
	g_assert_true(tacho_slice_output(f.timeline, last, 0, &tensor));
	g_assert_cmpint(size_of(&tensor), ==, 7);
	tear_down(&f);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/op_twins/same_place", test_same_place);
	g_test_add_func("/op_twins/inside", test_inside_modules_and_operations);
	g_test_add_func("/op_twins/another_number", test_another_number);
	g_test_add_func("/op_twins/nearest", test_nearest);
	g_test_add_func("/op_twins/outputs", test_outputs);
	return g_test_run();
}
