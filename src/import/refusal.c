/* A file is known by its first bytes, by words in its head, or, where neither tells, by how its name ends. In an advice,
 * %F is the file, %S and %C the same with .sqlite or .ctf in the place of its ending, %D its folder, each
 * quoted as a shell takes it. */
#include "import/refusal.h"

#include <string.h>

#define NSYS_EXPORT                                                                                \
	"which only its own tools read; run 'nsys export --type sqlite --output %S %F' "           \
	"and give tacho %S"
#define SUMMARY(whose)                                                                             \
	"is a summary of " whose ", with totals but without the times of single events; "
#define RECORD_NSYS                                                                                \
	"record the job with 'nsys profile', export the report with 'nsys export --type sqlite', " \
	"and "                                                                                     \
	"give tacho the .sqlite file"
#define UNPACK(what, how) "is compressed with " what ", which tacho does not read; run '" how " %F'"

static const struct known_file {
	const gchar *magic; /* it begins so; NULL: it may begin with anything */
	gsize n_magic;
	const gchar *words[2];	    /* both are in its head; NULL: nothing need be */
	const gchar *name, *ending; /* it is called so, or its name ends so; NULL: any name */
	gboolean is_recording;
	const gchar *advice;
} known_files[] = {
#define MAGIC(bytes) bytes, sizeof(bytes) - 1
	{ .ending = ".nsys-rep",
	  .is_recording = TRUE,
	  .advice = "is a report of Nsight Systems, " NSYS_EXPORT },
	{ .ending = ".qdrep",
	  .is_recording = TRUE,
	  .advice = "is a report of an older Nsight Systems, " NSYS_EXPORT },
	{ .ending = ".qdstrm",
	  .is_recording = TRUE,
	  .advice = "is a recording that Nsight Systems did not import; run "
		    "'QdstrmImporter -i %F', then 'nsys export --type sqlite' on the report that "
		    "it makes, and give tacho the .sqlite file" },
	{ .ending = ".ncu-rep",
	  .is_recording = TRUE,
	  .advice = "is a report of Nsight Compute, which profiles single kernels and has no "
		    "timeline; " RECORD_NSYS },
	{ .ending = ".otf2",
	  .is_recording = TRUE,
	  .advice = "is an OTF2 trace, which tacho reads only as CTF; convert it with "
		    "'otf2_converter --output=%C %F' "
		    "(https://github.com/dorsal-lab/OTF2-to-CTF-converter) and give tacho the "
		    "folder %C; with rocprofv3, use '--output-format rocpd' instead" },
	{ .name = "metadata",
	  .is_recording = TRUE,
	  .advice = "describes a CTF trace; the trace is the folder around it, so give tacho %D" },
	{ .name = "run.ini",
	  .advice = "is a part of a run; the run is the folder around it, so give tacho %D" },
	{ MAGIC("\xc1\x1f\xfc\xc1"), .is_recording = TRUE,
	  .advice =
		  "is a stream of a CTF trace; the trace is the folder with its metadata, so give "
		  "tacho %D" },
	{ .words = { "== NVPROF is profiling", NULL }, .advice = SUMMARY("nvprof") RECORD_NSYS },
	{ .words = { "== Profiling result:", "GPU activities:" },
	  .advice = SUMMARY("nvprof") RECORD_NSYS },
	{ .words = { "Total Time (ns)", "Instances" },
	  .advice = SUMMARY("'nsys stats'") "run 'nsys export --type sqlite' on the same report, "
					    "and give tacho the .sqlite file" },
	{ .words = { "Total Time (ns)", "Num Calls" },
	  .advice = SUMMARY("'nsys stats'") "run 'nsys export --type sqlite' on the same report, "
					    "and give tacho the .sqlite file" },
	{ .words = { "Self CPU %", "CPU total" },
	  .advice = SUMMARY(
		  "PyTorch's profiler (key_averages)") "give tacho what "
						       "prof.export_chrome_trace() or "
						       "tensorboard_trace_handler() writes" },
	{ .words = { "\"KernelName\",\"Calls\"", NULL },
	  .advice = SUMMARY("rocprof (--stats)") "give tacho the results .csv, .json or .db of the "
						 "same recording" },
	{ MAGIC("PERFILE2"), .is_recording = TRUE,
	  .advice = "is a recording of perf, which has samples but no begin and end of work; "
		    "record the job with 'tacho record'" },
	{ MAGIC("SQLite format 3"),
	  .advice = "is a database without the tables of Nsight Systems or of ROCm's profilers; "
		    "give tacho what 'nsys export --type sqlite' or rocprofv3 wrote" },
	{ MAGIC("\xfd"
		"7zXZ"),
	  .is_recording = TRUE, .advice = UNPACK("xz", "unxz") },
	{ MAGIC("BZh"), .is_recording = TRUE, .advice = UNPACK("bzip2", "bunzip2") },
	{ MAGIC("\x04\x22\x4d\x18"), .is_recording = TRUE, .advice = UNPACK("lz4", "unlz4") },
	{ MAGIC("7z\xbc\xaf\x27\x1c"), .advice = UNPACK("7-Zip", "7z x") },
	{ MAGIC("Rar!"), .advice = UNPACK("RAR", "unrar x") },
	{ MAGIC("\x7f"
		"ELF"),
	  .advice = "is a program; to record it, run 'tacho record -- %F'" },
	{ .ending = ".py",
	  .advice = "is a program; to record it, run 'tacho record -- python3 %F'" },
	{ MAGIC("\x80\x02"),
	  .advice = "is a pickle, but not a memory snapshot of PyTorch; give tacho what "
		    "torch.cuda.memory._dump_snapshot() writes" },
	{ MAGIC("\x80\x04"),
	  .advice = "is a pickle, but not a memory snapshot of PyTorch; give tacho what "
		    "torch.cuda.memory._dump_snapshot() writes" },
#undef MAGIC
};

static gboolean is_such(const struct known_file *known, const struct sniff_input *input)
{
	if (known->magic && (input->n_head < known->n_magic ||
			     memcmp(input->head, known->magic, known->n_magic) != 0))
		return FALSE;
	for (guint i = 0; i < G_N_ELEMENTS(known->words); i++)
		if (known->words[i] && !strstr(input->head, known->words[i]))
			return FALSE;
	return (!known->name || strcmp(input->name, known->name) == 0) &&
	       (!known->ending || g_str_has_suffix(input->name, known->ending));
}

/* As a shell takes it; in double quotes where it can be, for a command stands in single ones. */
static void append_path(GString *text, const gchar *path, const gchar *ending)
{
	g_autofree gchar *whole = g_strconcat(path, ending, NULL);
	g_autofree gchar *quoted = g_shell_quote(whole);
	gboolean is_plain = *whole != '\0';

	for (const gchar *at = whole; *at; at++)
		is_plain &= g_ascii_isalnum(*at) || strchr("/._-+=@:,", *at) != NULL;
	if (is_plain)
		g_string_append(text, whole);
	else if (strpbrk(whole, "\"$`\\!"))
		g_string_append(text, quoted);
	else
		g_string_append_printf(text, "\"%s\"", whole);
}

static gchar *fill_in(const struct known_file *known, const gchar *path)
{
	g_autofree gchar *folder = g_path_get_dirname(path);
	g_autofree gchar *base = g_strdup(path);
	GString *text = g_string_new(NULL);

	if (known->ending)
		base[strlen(base) - strlen(known->ending)] = '\0';
	for (const gchar *at = known->advice; *at; at++) {
		gchar which = *at == '%' ? at[1] : '\0';

		if (which == 'F')
			append_path(text, path, "");
		else if (which == 'S')
			append_path(text, base, ".sqlite");
		else if (which == 'C')
			append_path(text, base, ".ctf");
		else if (which == 'D')
			append_path(text, folder, "");
		else {
			g_string_append_c(text, *at);
			continue;
		}
		at++;
	}
	return g_string_free(text, FALSE);
}

gchar *refusal_of_file(const struct sniff_input *input, gboolean *ret_is_recording)
{
	*ret_is_recording = FALSE;
	for (guint i = 0; i < G_N_ELEMENTS(known_files); i++)
		if (is_such(&known_files[i], input)) {
			*ret_is_recording = known_files[i].is_recording;
			return fill_in(&known_files[i], input->path);
		}
	return NULL;
}
