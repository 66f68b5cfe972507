/* Chrome traces as they are written: what is handed out, which end belongs to which begin, what is broken. */
#include <string.h>

#include "foreign_traces.h"
#include "import/chrome/chrome_events.h"
#include "import/read/json_file.h"

/* A file that has been read, and its events as text, a line each. */
struct reading {
	TachoTimeline *timeline;
	struct chrome_file file;
	GString *lines;
	guint32 n_begins;
	guint64 last_args_offset;
};

static void append_id(struct reading *reading, const gchar *what, gint64 id)
{
	const gchar *text = chrome_id_text(reading->timeline, id);

	if (text)
		g_string_append_printf(reading->lines, " %s='%s'", what, text);
	else
		g_string_append_printf(reading->lines, " %s=%" G_GINT64_FORMAT, what, id);
}

static void note_event(struct chrome_event *event, gpointer data)
{
	struct reading *reading = data;

	g_string_append_printf(reading->lines, "%c %s", event->phase ? event->phase : '?',
			       tacho_timeline_string(reading->timeline, event->name));
	append_id(reading, "pid", event->pid);
	append_id(reading, "tid", event->tid);
	if (event->has_id)
		append_id(reading, "id", event->id);
	if (event->has_time)
		g_string_append_printf(reading->lines, " at %" G_GINT64_FORMAT, event->time_ns);
	if (event->duration_ns >= 0)
		g_string_append_printf(reading->lines, " for %" G_GINT64_FORMAT,
				       event->duration_ns);
	if (event->mate != TACHO_NONE)
		g_string_append_printf(reading->lines, " of %u", event->mate);
	if (strchr("BbSN", event->phase) && event->phase)
		event->mate = reading->n_begins++;
	g_string_append(reading->lines, event->is_unended ? " open\n" : "\n");
	if (event->args_offset)
		reading->last_args_offset = event->args_offset;
}

static gchar *read_text(struct reading *reading, const gchar *text)
{
	struct import import = { 0 };
	gchar *path = foreign_write("trace.json", text, strlen(text));
	g_autoptr(GError) error = NULL;

	*reading =
		(struct reading){ .timeline = tacho_timeline_new(), .lines = g_string_new(NULL) };
	import.timeline = reading->timeline;
	g_assert_true(
		chrome_events_read(&reading->file, path, &import, note_event, reading, &error));
	g_assert_no_error(error);
	chrome_file_report(&reading->file, reading->timeline);
	return path;
}

static void end_reading(struct reading *reading, gchar *path)
{
	chrome_file_release(&reading->file);
	tacho_timeline_free(reading->timeline);
	g_string_free(reading->lines, TRUE);
	foreign_remove(path);
}

static void check(const gchar *text, const gchar *expected)
{
	struct reading reading;
	gchar *path = read_text(&reading, text);

	g_assert_cmpstr(reading.lines->str, ==, expected);
	g_assert_cmpuint(reading.timeline->problems->len, ==, 0);
	end_reading(&reading, path);
}

#define EVENTS                                                                                     \
	"{\"ph\":\"X\",\"name\":\"a\",\"ts\":1.5,\"dur\":2,\"pid\":3,\"tid\":4},"                  \
	"{\"ph\":\"i\",\"name\":\"b\",\"ts\":\"7\",\"pid\":\"8\",\"tid\":\"main\",\"s\":\"t\"}"
#define LINES "X a pid=3 tid=4 at 1500 for 2000\ni b pid=8 tid='main' at 7000\n"

/* The list of events in every form there is. */
static void test_forms(void)
{
	check("[" EVENTS "]", LINES);
	check("[" EVENTS, LINES);
	check("[" EVENTS ",", LINES);
	check("[{}," EVENTS ",{}]", LINES);
	check("\xef\xbb\xbf [" EVENTS "]", LINES);
	check("{\"traceEvents\": [" EVENTS "], \"a\": 1}", LINES);
	check("{\"a\": [{\"ph\": 1}], \"traceEvents\": [" EVENTS "]}", LINES);
	check(EVENTS, LINES);
	check(EVENTS ",\n", LINES);
	check("{\"ph\":\"X\",\"name\":\"a\",\"ts\":0}\n{\"ph\":\"X\",\"name\":\"b\",\"ts\":1}\n",
	      "X a pid=0 tid=0 at 0\nX b pid=0 tid=0 at 1000\n");
}

static void test_ids(void)
{
	check("[{\"ph\":\"X\",\"pid\":-1,\"tid\":1.1,\"id\":\"0x1f\",\"ts\":null},"
	      "{\"ph\":\"n\",\"name\":\"\\u0061\",\"id2\":{\"local\":7},\"ts\":1},"
	      "{\"kind\":\"no event\"}]",
	      "X  pid=-1 tid='1.1' id='0x1f'\nn a pid=0 tid=0 id=7 at 1000\n? "
	      " pid=0 tid=0\n");
}

#define EVENT(ph, name, tid, ts) "{\"ph\":\"" ph "\"," name "\"tid\":" #tid ",\"ts\":" #ts "}"

/* (1): by thread, the last of the name, or the last. */
static void test_ends(void)
{
	check("[" EVENT("B", "\"name\":\"a\",", 1, 1) "," EVENT(
		      "B", "\"name\":\"b\",", 1,
		      2) "," EVENT("B", "\"name\":\"c\",", 2,
				   3) "," EVENT("E", "", 1,
						4) "," EVENT("E", "\"name\":\"c\",", 2,
							     5) "," EVENT("E", "\"name\":\"a\",", 1,
									  6) "]",
	      "B a pid=0 tid=1 at 1000\nB b pid=0 tid=1 at 2000\nB c pid=0 tid=2 at 3000\n"
	      "E b pid=0 tid=1 at 4000 for 2000 of 1\nE c pid=0 tid=2 at 5000 for 2000 of 2\n"
	      "E a pid=0 tid=1 at 6000 for 5000 of 0\n");
	/* not nested */
	check("[" EVENT("B", "\"name\":\"a\",", 1,
			1) "," EVENT("B", "\"name\":\"b\",", 1,
				     2) "," EVENT("E", "\"name\":\"a\",", 1,
						  4) "," EVENT("E", "\"name\":\"b\",", 1, 6) "]",
	      "B a pid=0 tid=1 at 1000\nB b pid=0 tid=1 at 2000\n"
	      "E a pid=0 tid=1 at 4000 for 3000 of 0\nE b pid=0 tid=1 at 6000 for 4000 of 1\n");
	/* asynchronous: by category and id, in whatever thread; objects */
	check("[" EVENT("b", "\"cat\":\"x\",\"id\":5,\"name\":\"a\",", 1, 1) "," EVENT(
		      "b", "\"cat\":\"y\",\"id\":5,\"name\":\"a\",", 1,
		      2) "," EVENT("n", "\"cat\":\"x\",\"id\":5,\"name\":\"m\",", 2,
				   3) "," EVENT("e", "\"cat\":\"x\",\"id\":5,\"name\":\"a\",", 3,
						4) "," EVENT("e", "\"cat\":\"y\",\"id\":5,", 3,
							     5) "," EVENT("N",
									  "\"id\":9,\"name\":"
									  "\"o\",",
									  1,
									  6) "," EVENT("O",
										       "\"id\":9,"
										       "\"name\":"
										       "\"o\",",
										       1,
										       7) "," EVENT("D",
												    "\"id\":9,\"name\":\"o\",",
												    1,
												    8) "]",
	      "b a pid=0 tid=1 id=5 at 1000\nb a pid=0 tid=1 id=5 at 2000\n"
	      "n m pid=0 tid=2 id=5 at 3000 of 0\ne a pid=0 tid=3 id=5 at 4000 for 3000 of 0\n"
	      "e a pid=0 tid=3 id=5 at 5000 for 3000 of 1\nN o pid=0 tid=1 id=9 at 6000\n"
	      "O o pid=0 tid=1 id=9 at 7000 of 2\nD o pid=0 tid=1 id=9 at 8000 for 2000 of 2\n");
}

/* (2) and (3) */
static void test_unmatched(void)
{
	static const gchar text[] = "[" EVENT("E", "\"name\":\"x\",", 1, 1) "," EVENT(
		"B", "\"name\":\"a\",", 1, 2) "," EVENT("B", "\"name\":\"b\",", 1,
							3) "," EVENT("E", "\"name\":\"y\",", 1,
								     9) "]";
	struct reading reading;
	gchar *path = read_text(&reading, text);

	g_assert_cmpstr(reading.lines->str, ==,
			"B a pid=0 tid=1 at 2000\nB b pid=0 tid=1 at 3000\n"
			"E b pid=0 tid=1 at 9000 for 6000 of 1 open\n"
			"E a pid=0 tid=1 at 9000 for 7000 of 0 open\n");
	g_assert_cmpuint(reading.file.n_unmatched, ==, 2);
	g_assert_cmpuint(reading.file.n_unended, ==, 2);
	g_assert_cmpuint(
		tacho_timeline_find_problem(reading.timeline, TACHO_PROBLEM_UNKNOWN_RECORD)->count,
		==, 2);
	end_reading(&reading, path);
}

static void test_broken(void)
{
	static const gchar text[] = "{\"traceEvents\": [" EVENT(
		"X", "\"name\":\"say \"a\" b\",", 1,
		1) ","
		   "{\"ph\" \"X\", \"ts\": 1}," EVENT("X", "\"name\":\"b\",", 1,
						      2) ","
							 "{\"ph\":\"X\",\"na";
	struct reading reading;
	gchar *path = read_text(&reading, text);

	g_assert_cmpstr(reading.lines->str, ==,
			"X say \"a\" b pid=0 tid=1 at 1000\nX b pid=0 tid=1 at 2000\n");
	g_assert_nonnull(strstr(
		tacho_timeline_find_problem(reading.timeline, TACHO_PROBLEM_CORRUPT_RECORD)->where,
		"byte 68:"));
	g_assert_nonnull(strstr(
		tacho_timeline_find_problem(reading.timeline, TACHO_PROBLEM_TRUNCATED_FILE)->where,
		"byte 119:"));
	g_assert_cmpuint(
		tacho_timeline_find_problem(reading.timeline, TACHO_PROBLEM_BAD_TEXT)->count, ==,
		2);
	end_reading(&reading, path);
}

/* What is in args, during the call and much later. */
static void check_args(struct chrome_event *event, gpointer data)
{
	struct reading *reading = data;
	struct json_scan value;
	gint64 number;
	guint32 text;

	g_assert_true(chrome_event_arg_integer(event, "bytes", &number));
	g_assert_cmpint(number, ==, 4096);
	g_assert_true(chrome_event_arg_text(event, "name", reading->timeline, &text));
	g_assert_cmpstr(tacho_timeline_string(reading->timeline, text), ==, "a\tb");
	g_assert_true(chrome_event_arg_text(event, "bytes", reading->timeline, &text));
	g_assert_cmpstr(tacho_timeline_string(reading->timeline, text), ==, "4096");
	g_assert_false(chrome_event_arg(event, "none", &value));
	g_assert_true(chrome_event_member(event, "cname", &value));
	reading->last_args_offset = event->args_offset;
}

static void test_args(void)
{
	static const gchar text[] = "[{\"ph\":\"X\",\"cname\":\"x\",\"args\": {\"bytes\": "
				    "\"4096\", \"name\": \"a\\tb\"}}]";
	gchar *path = foreign_write("trace.json", text, strlen(text));
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	struct json_file *file = json_file_new(path);
	struct reading reading = { .timeline = timeline };
	struct import import = { .timeline = timeline };
	g_autofree gchar *args = NULL;

	g_assert_true(chrome_events_read(&reading.file, path, &import, check_args, &reading, NULL));
	args = json_file_copy(file, reading.last_args_offset);
	g_assert_cmpstr(args, ==, "{\"bytes\": \"4096\", \"name\": \"a\\tb\"}");
	g_assert_null(json_file_copy(file, 1000));
	g_assert_null(json_file_copy(file, 3));
	json_file_free(file);
	chrome_file_release(&reading.file);
	foreign_remove(path);
}

/* Larger than what is read at once. */
static void test_large(void)
{
	GString *text = g_string_new("{\"traceEvents\":[");
	struct reading reading;
	gchar *path;

	for (guint i = 0; i < 60000; i++)
		g_string_append_printf(text,
				       "%s{\"ph\":\"%c\",\"name\":\"%u\",\"tid\":%u,\"ts\":%u,"
				       "\"args\":{\"long text\":\"%050u\"}}",
				       i ? "," : "", i % 2 ? 'E' : 'B', i / 2, i / 2 % 7, i, i);
	g_string_append(text, "],\"otherData\":{\"x\":1}}");
	path = read_text(&reading, text->str);
	g_assert_cmpuint(reading.file.n_events, ==, 60000);
	g_assert_cmpuint(reading.file.n_unended + reading.file.n_unmatched, ==, 0);
	g_assert_true(reading.file.has_end);
	g_assert_cmpuint(reading.file.facts.properties->len, ==, 1);
	g_assert_cmpuint(reading.timeline->problems->len, ==, 0);
	end_reading(&reading, path);
	g_string_free(text, TRUE);
}

static void test_no_events(void)
{
	static const gchar *const texts[] = { "", "text", "{\"a\": 1", "\"[\"", "7" };

	for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
		gchar *path = foreign_write("trace.json", texts[i], strlen(texts[i]));
		g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
		struct import import = { .timeline = timeline };
		g_autoptr(GError) error = NULL;
		struct chrome_file file;

		g_assert_false(chrome_events_read(&file, path, &import, note_event, NULL, &error));
		g_assert_nonnull(error);
		g_assert_nonnull(strstr(error->message, "byte "));
		chrome_file_release(&file);
		foreign_remove(path);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/chrome_events/forms", test_forms);
	g_test_add_func("/chrome_events/ids", test_ids);
	g_test_add_func("/chrome_events/ends", test_ends);
	g_test_add_func("/chrome_events/unmatched", test_unmatched);
	g_test_add_func("/chrome_events/broken", test_broken);
	g_test_add_func("/chrome_events/args", test_args);
	g_test_add_func("/chrome_events/large", test_large);
	g_test_add_func("/chrome_events/no-events", test_no_events);
	return g_test_run();
}
