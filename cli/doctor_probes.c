/* doctor_probes: what can be recorded, found out by recording: first the smallest job there is, then one in the job's
 * own Python that does a little of everything (python/trial/trial_job.py). */
#include <string.h>

#include <tacho/correlate.h>

#include "base/for_each.h"
#include "cli.h"
#include "common/trusted_path.h"
#include "doctor.h"
#include "interpreter.h"
#include "preloadable.h"
#include "torch_probe.h"
#include "trial.h"
#include "trial_job.h"
#include "unseen.h"

#define SMALLEST_LIMIT_S 20
#define PYTHON_LIMIT_S	 180 /* importing PyTorch for the first time can take a minute */
#define SPIN_FUNCTION	 "spin_for_the_sampler"

/* A Python that was tried. */
typedef struct {
	Diagnosis *diagnosis;
	const gchar *python;
	Trial *trial;
	TachoTimeline *timeline;
	GHashTable *told; /* what the trial's job printed: name -> text */
	GArray *unseen;	  /* Unseen */
} PythonTrial;

static const gchar *told(const PythonTrial *trial, const gchar *name)
{
	return g_hash_table_lookup(trial->told, name);
}

static const Unseen *find_unseen(const PythonTrial *trial, const gchar *what)
{
	FOR_EACH(const Unseen, thing, trial->unseen)
		if (strcmp(thing->what, what) == 0)
			return thing;
	return NULL;
}

/* --- counting ------------------------------------------------------------------------------- */

static guint count_slices(const TachoTimeline *timeline, TachoSliceKind kind)
{
	guint n = 0;

	for (guint32 i = 0; timeline && i < timeline->slices.n; i++)
		n += timeline->slices.kind[i] == kind;
	return n;
}

static gboolean is_blas_routine(const gchar *name)
{
	static const gchar *const routines[] = {
#define ROUTINE(name, type, shape) #name,
#include "blas/blas_routines.def"
#undef ROUTINE
		NULL
	};

	return g_strv_contains(routines, name);
}

/* BLAS routines are called by their names, kernels of oneDNN by what they do ("matmul jit:avx2", by ITT "matmul"). */
static guint count_kernels(const TachoTimeline *timeline, gboolean is_dnn)
{
	guint n = 0;

	for (guint32 i = 0; timeline && i < timeline->slices.n; i++)
		n += timeline->slices.kind[i] == TACHO_SLICE_KERNEL &&
		     is_blas_routine(tacho_slice_name(timeline, i)) != is_dnn;
	return n;
}

static guint count_marks(const TachoTimeline *timeline, const gchar *name)
{
	guint n = 0;

	if (timeline)
		FOR_EACH(const TachoMark, mark, timeline->marks)
			n += strcmp(tacho_timeline_string(timeline, mark->name), name) == 0;
	return n;
}

static gboolean has_sampled(const TachoTimeline *timeline, const gchar *function)
{
	for (guint32 i = 0; timeline && i < timeline->slices.n; i++)
		if (timeline->slices.kind[i] == TACHO_SLICE_FUNCTION &&
		    strstr(tacho_slice_name(timeline, i), function))
			return TRUE;
	return FALSE;
}

/* --- the smallest job ------------------------------------------------------------------------- */

static void try_smallest(Diagnosis *diagnosis, const gchar *scratch)
{
	g_autofree gchar *self = g_build_filename(cli_prefix(), "bin", "tacho", NULL);
	g_autofree gchar *run = g_build_filename(scratch, DOCTOR_RUN, NULL);
	const gchar *const command[] = { self, TRIAL_JOB_OPTION, NULL };
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(Trial) trial = trial_record(command, run, SMALLEST_LIMIT_S, &timeline);
	gchar *complaint = trial_complaint(trial);
	guint n_messages = count_slices(timeline, TACHO_SLICE_MESSAGE);

	if (trial->is_done && n_messages) {
		diagnosis_add(
			diagnosis, "agent", FINDING_WORKS,
			g_strdup_printf(
				"the smallest job was recorded and read back, trust %u of 100",
				tacho_trust_score(timeline)),
			complaint);
		diagnosis_add(diagnosis, "socket", FINDING_WORKS,
			      g_strdup_printf("%u messages on a TCP connection", n_messages), NULL);
		return;
	}
	if (!complaint)
		complaint = g_strdup(trial->why ? trial->why
						: "nothing of a TCP connection was recorded");
	diagnosis_add(diagnosis, "agent", FINDING_FAILS, complaint,
		      g_strdup("no job can be recorded until this is mended"));
}

/* --- Python ----------------------------------------------------------------------------------- */

static void add_refused_torch(const PythonTrial *trial)
{
	const Unseen *unseen = find_unseen(trial, "PyTorch operations");
	const gchar *error = told(trial, "torch_error");
	gchar *complaint = unseen || error ? NULL : trial_complaint(trial->trial);

	diagnosis_add(
		trial->diagnosis, "torch", FINDING_FAILS,
		error	    ? g_strdup_printf("PyTorch cannot be imported: %s", error)
		: unseen    ? g_strdup_printf("PyTorch %s: %s", told(trial, "torch"), unseen->why)
		: complaint ? complaint
			    : g_strdup("no operation of PyTorch was recorded"),
		error ? NULL
		      : g_strdup_printf("tacho probe build torch --python %s", trial->python));
}

static void look_at_torch(const PythonTrial *trial)
{
	guint n_ops = count_slices(trial->timeline, TACHO_SLICE_OP);
	g_autoptr(TorchInstall) install = NULL;
	const gchar *failed = told(trial, "training_error");

	if (!told(trial, "torch") && !told(trial, "torch_error")) {
		diagnosis_add(trial->diagnosis, "torch", FINDING_ABSENT,
			      g_strdup("this Python has no PyTorch"),
			      g_strdup("if the job has it, name its Python: tacho doctor --python "
				       "PROGRAM"));
		return;
	}
	if (failed) {
		diagnosis_add(trial->diagnosis, "torch", FINDING_PARTLY,
			      g_strdup_printf("PyTorch %s itself fails: %s", told(trial, "torch"),
					      failed),
			      NULL);
		return;
	}
	if (!n_ops || find_unseen(trial, "PyTorch operations")) {
		add_refused_torch(trial);
		return;
	}
	install = torch_install_of_python(trial->python);
	diagnosis_add(
		trial->diagnosis, "torch", FINDING_WORKS,
		g_strdup_printf("PyTorch %s by the %s probe: %u operations in %u steps",
				told(trial, "torch"),
				install && torch_probe_used(install, NULL) == TORCH_PROBE_COMPILED
					? "compiled"
					: "plain",
				n_ops, trial->timeline->steps->len),
		NULL);
}

/* What another probe saw of PyTorch. */
static void add_counted(const PythonTrial *trial, const gchar *probe, guint n, const gchar *of_what,
			const gchar *unseen_as)
{
	const Unseen *unseen = find_unseen(trial, unseen_as);

	if (n)
		diagnosis_add(trial->diagnosis, probe, FINDING_WORKS,
			      g_strdup_printf("%u %s%s", n, of_what, n == 1 ? "" : "s"), NULL);
	else
		diagnosis_add(trial->diagnosis, probe, FINDING_PARTLY,
			      unseen ? g_strdup(unseen->why) : g_strdup_printf("no %s", of_what),
			      unseen ? g_strdup("nothing: the operations that call them are "
						"recorded with their time")
				     : NULL);
}

static void look_at_stacks(const PythonTrial *trial)
{
	const Unseen *unseen = find_unseen(trial, "Python stacks");

	if (has_sampled(trial->timeline, SPIN_FUNCTION))
		diagnosis_add(trial->diagnosis, "python", FINDING_WORKS,
			      g_strdup_printf("stacks of %s are sampled, with functions and lines",
					      told(trial, "python")),
			      NULL);
	else
		diagnosis_add(
			trial->diagnosis, "python", FINDING_PARTLY,
			unseen ? g_strdup(unseen->why)
			       : g_strdup_printf("no stack of %s was seen", told(trial, "python")),
			g_strdup("reports will not say in which lines time goes; record each call "
				 "of a "
				 "module instead: --python=module:NAME"));
}

static void look_at_hook(const PythonTrial *trial)
{
	guint n_modules = count_slices(trial->timeline, TACHO_SLICE_MODULE);

	if (!told(trial, "training"))
		return;
	diagnosis_add(trial->diagnosis, "hook", n_modules ? FINDING_WORKS : FINDING_PARTLY,
		      n_modules ? g_strdup_printf("%u calls of modules", n_modules)
				: g_strdup("Python did not run tacho's sitecustomize"),
		      n_modules ? NULL
				: g_strdup("start Python without -I, -E and -S, and keep "
					   "PYTHONPATH: modules, "
					   "process groups and buckets are missing"));
	if (told(trial, "collective"))
		diagnosis_add(trial->diagnosis, "collectives",
			      count_slices(trial->timeline, TACHO_SLICE_COLLECTIVE)
				      ? FINDING_WORKS
				      : FINDING_PARTLY,
			      g_strdup_printf("%u of gloo, in %u process group",
					      count_slices(trial->timeline, TACHO_SLICE_COLLECTIVE),
					      count_marks(trial->timeline, "process_group")),
			      NULL);
	else if (told(trial, "collective_error"))
		diagnosis_add(trial->diagnosis, "collectives", FINDING_PARTLY,
			      g_strdup_printf("torch.distributed itself fails: %s",
					      told(trial, "collective_error")),
			      NULL);
}

static void look_at_xla(const PythonTrial *trial)
{
	static const gchar *const names[] = { "tensorflow", "jax" };
	gboolean is_there = FALSE;

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		if (!told(trial, names[i]))
			continue;
		is_there = TRUE;
		diagnosis_add(
			trial->diagnosis, "xla", FINDING_WORKS,
			g_strdup_printf("%s %s is there, and is recorded by its own profiler; this "
					"was not tried here",
					names[i], told(trial, names[i])),
			NULL);
	}
	if (!is_there)
		diagnosis_add(trial->diagnosis, "xla", FINDING_ABSENT,
			      g_strdup("this Python has neither TensorFlow nor JAX"), NULL);
}

static void look_at_python(const PythonTrial *trial)
{
	gboolean has_torch = told(trial, "training") != NULL;

	look_at_stacks(trial);
	look_at_torch(trial);
	look_at_hook(trial);
	if (has_torch)
		add_counted(trial, "alloc", trial->timeline ? trial->timeline->memory->len : 0,
			    "PyTorch allocation", "PyTorch memory");
	if (has_torch || told(trial, "numpy"))
		add_counted(trial, "blas", count_kernels(trial->timeline, FALSE), "BLAS kernel",
			    "BLAS kernels");
	if (has_torch)
		add_counted(trial, "dnn", count_kernels(trial->timeline, TRUE), "oneDNN kernel",
			    "oneDNN kernels");
	look_at_xla(trial);
}

static GHashTable *read_told(const gchar *output)
{
	GHashTable *facts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_auto(GStrv) lines = g_strsplit(output, "\n", -1);

	for (guint i = 0; lines[i]; i++) {
		g_auto(GStrv) fields = g_strsplit(lines[i], "\t", 2);

		if (*fields && fields[1])
			g_hash_table_replace(facts, g_strdup(fields[0]), g_strdup(fields[1]));
	}
	return facts;
}

static void try_python(Diagnosis *diagnosis, const gchar *python, const gchar *scratch)
{
	g_autofree gchar *job = g_build_filename(cli_prefix(), "share", "tacho", "python", "trial",
						 "trial_job.py", NULL);
	g_autofree gchar *run = g_build_filename(scratch, "python.tacho", NULL);
	const gchar *const command[] = { python, job, NULL };
	PythonTrial trial = { .diagnosis = diagnosis, .python = python };

	trial.trial = trial_record(command, run, PYTHON_LIMIT_S, &trial.timeline);
	trial.told = read_told(trial.trial->output);
	trial.unseen = unseen_read(run);
	if (told(&trial, "python"))
		look_at_python(&trial);
	if (!told(&trial, "python") || !trial.trial->is_done)
		diagnosis_add(
			diagnosis, "python", FINDING_FAILS,
			g_strdup_printf("a small job in %s does not end well: %s", python,
					trial.trial->why ? trial.trial->why : "it says nothing"),
			g_strdup_printf("%s %s shows what it is without tacho", python, job));
	g_array_unref(trial.unseen);
	g_hash_table_unref(trial.told);
	tacho_timeline_free(trial.timeline);
	trial_free(trial.trial);
}

/* --- the job ---------------------------------------------------------------------------------- */

static void look_at_program(Diagnosis *diagnosis, const gchar *program)
{
	g_autofree gchar *path = g_find_program_in_path(program);
	const gchar *why = path ? preloadable_why_not(path) : NULL;

	if (!path)
		diagnosis_add(diagnosis, "program", FINDING_FAILS,
			      g_strdup_printf("%s is not found", program), NULL);
	else if (why)
		diagnosis_add(
			diagnosis, "program", FINDING_FAILS,
			g_strdup_printf("%s %s, so the loader cannot preload tacho into it", path,
					why),
			g_strdup("nothing of it is recorded; programs that it starts are, if it "
				 "leaves them their environment"));
	else
		diagnosis_add(diagnosis, "program", FINDING_WORKS,
			      g_strdup_printf("%s takes preloaded libraries", path), NULL);
}

/* The Python that is meant; NULL where there is none. */
static gchar *choose_python(Diagnosis *diagnosis, gchar **command, const gchar *python)
{
	gchar *chosen = python	  ? g_find_program_in_path(python)
			: command ? interpreter_of_command(command)
				  : NULL;
	gboolean is_meant = chosen != NULL;

	if (!chosen && !python)
		chosen = g_find_program_in_path("python3");
	if (!chosen)
		diagnosis_add(diagnosis, "python", python ? FINDING_FAILS : FINDING_ABSENT,
			      g_strdup_printf("%s is not found", python ? python : "python3"),
			      NULL);
	else if (command && !is_meant)
		diagnosis_add(
			diagnosis, "interpreter", FINDING_PARTLY,
			g_strdup_printf("the command does not tell which Python it runs; what "
					"follows is of %s",
					chosen),
			g_strdup("tacho doctor --python PROGRAM"));
	else
		diagnosis_add(diagnosis, "interpreter", FINDING_WORKS, g_strdup(chosen), NULL);
	return chosen;
}

void doctor_probes(Diagnosis *diagnosis, gchar **command, const gchar *python, const gchar *scratch)
{
	g_autofree gchar *chosen = NULL;

	diagnosis_area(diagnosis, "Recording");
	try_smallest(diagnosis, scratch);
	diagnosis_area(diagnosis, command ? "The job" : "Python");
	if (command)
		look_at_program(diagnosis, command[0]);
	chosen = choose_python(diagnosis, command, python);
	if (chosen)
		try_python(diagnosis, chosen, scratch);
}
