/* Tables are printed as any table is, to as many columns as the terminal has, and drawn line by line.
 *
 *     jobs --Enter--> a job: ranks | operations | findings (Tab, or r, o, f) --q, Escape--> jobs --q--> the end
 *                      |--s, a--> a question --y--> it is done, and the last line says what has come of it */
#include "live/top_screen.h"

#include <curses.h>
#include <stdlib.h>
#include <string.h>

#include "live/live_internal.h"

#define HEAD_LINES 2 /* above a table: ours; the table's own is one more */
#define KEY_ESCAPE 27

enum page { PAGE_JOBS, PAGE_RANKS, PAGE_OPS, PAGE_FINDINGS };

struct screen {
	TachoJobs *jobs;
	enum page page;
	guint chosen; /* job */
	gchar *path;  /* of the job shown; jobs come and go */
	guint scrolled;
	gboolean is_left;
	TachoTopDo act;
	gchar asked; /* the key of the question on the last line; 0: there is none */
	gchar *said; /* what came of the last; NULL: nothing, or it was seen */
};

static const TachoJob *shown_job(const struct screen *screen)
{
	const GPtrArray *all = tacho_jobs_borrow(screen->jobs);

	for (guint i = 0; screen->path && i < all->len; i++) {
		const TachoJob *job = g_ptr_array_index(all, i);

		if (strcmp(job->path, screen->path) == 0)
			return job;
	}
	return NULL;
}

/* The job that is shown, or chosen. */
static const TachoJob *meant_job(const struct screen *screen)
{
	const GPtrArray *all = tacho_jobs_borrow(screen->jobs);

	if (screen->page != PAGE_JOBS)
		return shown_job(screen);
	return screen->chosen < all->len ? g_ptr_array_index(all, screen->chosen) : NULL;
}

/* --- drawing --------------------------------------------------------------------------------- */

static void draw_text(int line, const gchar *text, attr_t attributes)
{
	g_autofree gchar *clean = tacho_printable(text);

	attrset(attributes);
	mvaddnstr(line, 0, clean, -1);
	clrtoeol();
	attrset(A_NORMAL);
}

/* `marked`: which of its rows is chosen; -1: none. */
static void draw_table(const struct screen *screen, const TachoTable *table, int line, int marked)
{
	g_autofree gchar *text = NULL;
	g_auto(GStrv) lines = NULL;
	gsize length = 0;
	FILE *memory = open_memstream(&text, &length);
	guint n;

	tacho_table_print(table, memory, (guint)COLS, FALSE);
	fclose(memory);
	lines = g_strsplit(text, "\n", -1);
	n = g_strv_length(lines);
	for (guint i = 0; i < n && line < LINES - 1; i++) {
		gboolean is_head = i == 0 && tacho_table_n_rows(table);

		if (!is_head && i <= screen->scrolled && screen->scrolled)
			continue;
		draw_text(line++, lines[i],
			  is_head				? A_BOLD
			  : marked >= 0 && (int)i == marked + 1 ? A_REVERSE
								: A_NORMAL);
	}
}

static void draw_head(const gchar *title)
{
	g_autoptr(GDateTime) now = g_date_time_new_now_local();
	g_autofree gchar *clock = g_date_time_format(now, "%H:%M:%S");
	g_autofree gchar *text = g_strdup_printf("tacho top - %s  %s", clock, title);

	draw_text(0, text, A_BOLD);
}

/* A question, an answer, or which keys there are. */
static void draw_last_line(const struct screen *screen, const gchar *keys)
{
	const TachoJob *job = meant_job(screen);
	g_autofree gchar *question = NULL;

	if (screen->asked && job) {
		question = g_strdup_printf("%s %s?   y: yes   any other key: no",
					   screen->asked == 's' ? "Stop recording" : "Record again",
					   job->path);
		draw_text(LINES - 1, question, A_REVERSE);
	} else {
		draw_text(LINES - 1, screen->said ? screen->said : keys,
			  screen->said ? A_BOLD : A_DIM);
	}
}

static void draw_jobs(const struct screen *screen)
{
	g_autoptr(TachoTable) table = tacho_jobs_table(screen->jobs);
	g_autofree gchar *title = g_strdup_printf("%u jobs", tacho_jobs_borrow(screen->jobs)->len);

	draw_head(title);
	draw_table(screen, table, HEAD_LINES, tacho_table_n_rows(table) ? (int)screen->chosen : -1);
	draw_last_line(screen, "Up, Down: choose   Enter: the job   s: stop recording   a: record "
			       "again   q: leave");
}

static void draw_page(const struct screen *screen, const TachoJob *job)
{
	g_autoptr(TachoTable) table = NULL;
	const TachoTable *ops;

	switch (screen->page) {
	case PAGE_RANKS:
		table = tacho_job_ranks_table(job);
		draw_table(screen, table, HEAD_LINES + 1, -1);
		break;
	case PAGE_FINDINGS:
		table = tacho_job_findings_table(job);
		draw_table(screen, table, HEAD_LINES + 1, -1);
		break;
	default:
		ops = tacho_follow_borrow_view(job->follow);
		if (ops)
			draw_table(screen, ops, HEAD_LINES + 1, -1);
		else
			draw_text(HEAD_LINES + 1, "Operations come with the next steps.", A_NORMAL);
	}
}

static void draw_job(const struct screen *screen, const TachoJob *job)
{
	static const gchar *const names[] = { "", "ranks", "operations of the newest steps",
					      "findings" };
	g_autofree gchar *title =
		g_strdup_printf("%s: %s", job->path, job->error ? job->error : job->command);

	draw_head(title);
	draw_text(HEAD_LINES, names[screen->page], A_UNDERLINE);
	draw_page(screen, job);
	draw_last_line(screen,
		       "r: ranks   o: operations   f: findings   Up, Down: scroll   s: stop "
		       "recording   a: record again   q: all jobs");
}

static void draw(struct screen *screen)
{
	const TachoJob *job = screen->page == PAGE_JOBS ? NULL : shown_job(screen);

	erase();
	if (job) {
		draw_job(screen, job);
	} else {
		screen->page = PAGE_JOBS;
		draw_jobs(screen);
	}
	refresh();
}

/* --- keys ------------------------------------------------------------------------------------ */

static void show_job(struct screen *screen)
{
	const GPtrArray *all = tacho_jobs_borrow(screen->jobs);
	const TachoJob *job;

	if (screen->chosen >= all->len)
		return;
	job = g_ptr_array_index(all, screen->chosen);
	g_free(screen->path);
	screen->path = g_strdup(job->path);
	screen->page = PAGE_RANKS;
	screen->scrolled = 0;
	tacho_follow_set_view(job->follow, tacho_view_op);
}

static void leave_page(struct screen *screen)
{
	const TachoJob *job = shown_job(screen);

	if (screen->page == PAGE_JOBS)
		screen->is_left = TRUE;
	else if (job)
		tacho_follow_set_view(job->follow, NULL);
	screen->page = PAGE_JOBS;
	screen->scrolled = 0;
}

static void move_by(struct screen *screen, int by)
{
	guint n = tacho_jobs_borrow(screen->jobs)->len;
	guint *place = screen->page == PAGE_JOBS ? &screen->chosen : &screen->scrolled;

	if (by < 0)
		*place -= MIN(*place, (guint)-by);
	else
		*place += (guint)by;
	if (screen->page == PAGE_JOBS)
		*place = MIN(*place, n ? n - 1 : 0);
}

static void turn_to(struct screen *screen, enum page page)
{
	if (screen->page == PAGE_JOBS)
		return;
	screen->page = page;
	screen->scrolled = 0;
}

/* A question is answered by the next key, whatever it is. */
static void answer(struct screen *screen, int key)
{
	const TachoJob *job = meant_job(screen);
	gchar asked = screen->asked;

	screen->asked = 0;
	if (job && (key == 'y' || key == 'Y'))
		screen->said = screen->act(job, asked == 's' ? TACHO_TOP_STOP : TACHO_TOP_START);
}

static void take_key(struct screen *screen, int key)
{
	g_clear_pointer(&screen->said, g_free);
	if (screen->asked) {
		answer(screen, key);
		return;
	}
	switch (key) {
	case 's':
	case 'a':
		screen->asked = meant_job(screen) ? (gchar)key : 0;
		break;
	case 'q':
	case 'Q':
	case KEY_ESCAPE:
		leave_page(screen);
		break;
	case KEY_UP:
	case 'k':
		move_by(screen, -1);
		break;
	case KEY_DOWN:
	case 'j':
		move_by(screen, 1);
		break;
	case KEY_PPAGE:
		move_by(screen, -10);
		break;
	case KEY_NPAGE:
		move_by(screen, 10);
		break;
	case '\n':
	case '\r':
	case KEY_ENTER:
		if (screen->page == PAGE_JOBS)
			show_job(screen);
		break;
	case 'r':
		turn_to(screen, PAGE_RANKS);
		break;
	case 'o':
		turn_to(screen, PAGE_OPS);
		break;
	case 'f':
		turn_to(screen, PAGE_FINDINGS);
		break;
	case '\t':
		turn_to(screen, screen->page == PAGE_FINDINGS ? PAGE_RANKS : screen->page + 1);
		break;
	default:
		break; /* KEY_RESIZE, too: what is drawn next has the new size */
	}
}

/* Keys that come while the next look is waited for. */
static void wait_for_keys(struct screen *screen, guint interval_ms,
			  gboolean (*is_interrupted)(void))
{
	gint64 until_us = g_get_monotonic_time() + interval_ms * 1000;

	for (;;) {
		gint64 left_us = until_us - g_get_monotonic_time();
		int key;

		if (left_us <= 0 || screen->is_left || is_interrupted())
			return;
		timeout((int)CLAMP(left_us / 1000, 1, 200));
		key = getch();
		if (key == ERR)
			continue;
		take_key(screen, key);
		if (!screen->is_left)
			draw(screen);
	}
}

gboolean tacho_top_run(TachoJobs *jobs, guint interval_ms, gboolean (*is_interrupted)(void),
		       TachoTopDo act)
{
	struct screen screen = { .jobs = jobs, .act = act };
	SCREEN *terminal = newterm(NULL, stdout, stdin);

	if (!terminal)
		return FALSE;
	set_escdelay(50);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	curs_set(0);
	while (!screen.is_left && !is_interrupted()) {
		tacho_jobs_look(jobs);
		move_by(&screen, 0);
		draw(&screen);
		wait_for_keys(&screen, interval_ms, is_interrupted);
	}
	endwin();
	delscreen(terminal);
	g_free(screen.path);
	g_free(screen.said);
	return TRUE;
}
