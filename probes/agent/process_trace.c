#include "agent/process_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/declared_clock.h"
#include "agent/engine.h"
#include "agent/identity.h"
#include "agent/losses.h"
#include "agent/settings.h"
#include "common/probe.h"
#include "trace/text_hash.h"

#define PAGE_BYTES	 4096
#define CLASSES_IN_BLOCK 1024
#define MAX_CLASS_BLOCKS 1024

struct trace_class {
	const char *name;
	size_t length;
	uint64_t hash;
	enum trace_kind kind;
};

static struct {
	char run_dir[PATH_MAX - 512];
	const char *test_host, *whole_ranks;
} config;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum { NOT_TRIED, OPEN, FAILED } state;
static char path[PATH_MAX];
static uint8_t uuid[16];
static uint64_t metadata_bytes;
static time_t retry_after_s; /* the disk was full: do not try again before */

/* Classes by id - 1, in blocks that stay where they are, and an open-addressed table of ids over them. */
static struct trace_class *class_blocks[MAX_CLASS_BLOCKS];
static uint32_t n_classes; /* atomic: written last */
static uint32_t *table;
static uint32_t table_size;

bool process_trace_configure(const struct agent_settings *settings)
{
	if (strlen(settings->run_dir) >= sizeof(config.run_dir))
		return false;
	strcpy(config.run_dir, settings->run_dir);
	config.test_host = settings->test_host;
	config.whole_ranks = settings->ranks;
	return engine_configure(settings) && declared_clock_configure(settings);
}

bool process_trace_is_open(void)
{
	return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == OPEN;
}

const char *process_trace_path(void)
{
	return path;
}

const uint8_t *process_trace_uuid(void)
{
	return uuid;
}

static struct trace_class *class_at(uint32_t id)
{
	return &class_blocks[(id - 1) / CLASSES_IN_BLOCK][(id - 1) % CLASSES_IN_BLOCK];
}

bool process_trace_class(uint32_t class_id, enum trace_kind *ret_kind, const char **ret_name)
{
	if (!class_id || class_id > __atomic_load_n(&n_classes, __ATOMIC_ACQUIRE))
		return false;
	*ret_kind = class_at(class_id)->kind;
	*ret_name = class_at(class_id)->name;
	return true;
}

/* --- the text of the metadata ------------------------------------------------------------- */

struct text {
	char *bytes;
	size_t length, allocated;
	bool has_failed;
};

static void text_reserve(struct text *text, size_t more)
{
	size_t wanted = text->length + more + 1;
	char *bytes;

	if (text->has_failed || wanted <= text->allocated)
		return;
	wanted += wanted / 2 + 4096;
	bytes = realloc(text->bytes, wanted);
	if (!bytes) {
		text->has_failed = true;
		return;
	}
	text->bytes = bytes;
	text->allocated = wanted;
}

static void text_append(struct text *text, const char *bytes, size_t length)
{
	text_reserve(text, length);
	if (text->has_failed)
		return;
	memcpy(text->bytes + text->length, bytes, length);
	text->length += length;
}

static void __attribute__((format(printf, 2, 3)))
text_format(struct text *text, const char *format, ...)
{
	char line[512];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	text_append(text, line, length < (int)sizeof(line) ? (size_t)length : sizeof(line) - 1);
}

/* `bytes` as the inside of a TSDL string literal. */
static void text_quote(struct text *text, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		char c = bytes[i];

		if (c == '"' || c == '\\')
			text_append(text, "\\", 1);
		if ((unsigned char)c < 0x20 || c == 0x7f)
			c = '?';
		text_append(text, &c, 1);
	}
}

static void text_environment(struct text *text, const char *key, const char *value)
{
	text_format(text, "\t%s = \"", key);
	text_quote(text, value, strlen(value));
	text_append(text, "\";\n", 3);
}

static const char integer_declarations[] =
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := text_t;\n"
	"typealias integer { size = 16; align = 16; signed = false; } := uint16_t;\n"
	"typealias integer { size = 32; align = 32; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 64; signed = false; } := uint64_t;\n"
	"typealias integer { size = 64; align = 64; signed = false; base = 16; } := address_t;\n"
	"typealias integer { size = 64; align = 64; signed = true; } := int64_t;\n"
	"typealias integer { size = 32; align = 32; signed = true; } := int32_t;\n"
	"typealias floating_point { exp_dig = 11; mant_dig = 53; align = 64; byte_order = le; } := "
	"double_t;\n";

/* struct record_activity */
#define ACTIVITY                                                                                   \
	"uint64_t duration; uint64_t correlation; uint64_t begin; uint64_t queued; uint64_t "      \
	"submitted; uint64_t graph_node; int32_t device; uint32_t queue; "

static const char kind_declarations[] =
	"typealias integer { size = 64; align = 64; signed = false; map = clock.ticks.value; } := "
	"stamp_t;\n"
	"struct tensor { address_t storage; uint64_t offset_bytes; uint8_t dtype; uint8_t device; "
	"uint16_t n_dims; uint32_t argument; int64_t shape[n_dims]; } align(64);\n"
	"struct op { uint64_t duration; int64_t sequence; uint64_t forward_thread; uint32_t flags; "
	"uint32_t n_inputs; struct tensor inputs[n_inputs]; } align(64);\n"
	"struct annotation { uint64_t duration; uint64_t id; } align(64);\n"
	"struct module { uint64_t duration; uint64_t id; } align(64);\n"
	"struct wait { uint64_t duration; uint64_t id; } align(64);\n"
	"struct kernel { uint64_t duration; uint64_t flops; uint64_t bytes; uint32_t dtype; "
	"uint32_t n_dims; uint32_t n_text; uint32_t reserved; int64_t dims[n_dims]; "
	"text_t text[n_text]; } align(64);\n"
	"struct collective { uint64_t duration; uint64_t bytes; address_t group; uint32_t end_tid; "
	"uint32_t n_inputs; struct tensor inputs[n_inputs]; } align(64);\n"
	"struct outputs { uint64_t begin_stamp; uint32_t n_outputs; uint32_t reserved; "
	"struct tensor outputs[n_outputs]; } align(64);\n"
	"struct alloc { address_t address; uint64_t bytes; } align(64);\n"
	"struct free { address_t address; uint64_t bytes; } align(64);\n"
	"struct mark { int64_t first; int64_t second; uint32_t n_text; uint32_t reserved; "
	"text_t text[n_text]; } align(64);\n"
	"struct thread { int64_t parent_tid; int64_t second; uint32_t n_text; uint32_t reserved; "
	"text_t text[n_text]; } align(64);\n"
	"struct exit { int64_t status; int64_t second; uint32_t n_text; uint32_t reserved; "
	"text_t text[n_text]; } align(64);\n"
	"struct cost { uint64_t picoseconds; uint32_t event_kind; uint32_t event_class; } "
	"align(64);\n"
	"struct clocks { uint64_t mono_ns; uint64_t real_ns; } align(64);\n"
	"struct message { uint64_t duration; uint64_t bytes; uint32_t is_receive; uint32_t fd; "
	"uint16_t local_port; uint16_t peer_port; uint32_t reserved; uint8_t local_address[16]; "
	"uint8_t peer_address[16]; } align(64);\n"
	"struct function { uint64_t duration; uint64_t id; } align(64);\n"
	"struct frame { uint32_t function; uint32_t line; };\n"
	"struct stack { uint64_t before; uint32_t tid; uint32_t state; uint32_t n_same; "
	"uint32_t n_frames; struct frame frames[n_frames]; } align(64);\n"
	"struct runtime { uint64_t duration; uint64_t correlation; } align(64);\n"
	"struct late { uint64_t duration; uint64_t id; uint64_t begin; uint32_t slice_kind; "
	"uint32_t reserved; } align(64);\n"
	"struct device_kernel { " ACTIVITY "uint32_t grid[3]; uint32_t block[3]; "
	"uint32_t registers; uint32_t reserved; uint64_t shared_bytes; } align(64);\n"
	"struct copy { " ACTIVITY "uint64_t bytes; uint32_t direction; int32_t peer; } align(64);\n"
	"struct fill { " ACTIVITY "uint64_t bytes; uint32_t direction; int32_t peer; } align(64);\n"
	"struct device_wait { " ACTIVITY "uint64_t event_correlation; uint32_t event_queue; "
	"uint32_t reserved; } align(64);\n"
	"struct device_work { " ACTIVITY "} align(64);\n"
	"struct device { int32_t device; uint32_t n_multiprocessors; uint32_t warp_threads; "
	"uint32_t multiprocessor_threads; uint32_t multiprocessor_registers; "
	"uint32_t block_threads; uint32_t block_registers; uint32_t n_text; "
	"uint64_t memory_bytes; uint64_t peak_bytes_per_s; uint64_t peak_flops_per_s; "
	"uint64_t clock_hz; uint64_t multiprocessor_shared_bytes; uint64_t block_shared_bytes; "
	"text_t text[n_text]; } align(64);\n"
	"struct queue { int32_t device; uint32_t queue; } align(64);\n"
	"struct device_alloc { address_t address; uint64_t bytes; int32_t device; "
	"uint32_t reserved; } align(64);\n"
	"struct device_free { address_t address; uint64_t bytes; int32_t device; "
	"uint32_t reserved; } align(64);\n"
	"struct counter { double_t value; uint64_t time; int32_t device; uint32_t reserved; } "
	"align(64);\n"
	"struct flow { uint64_t flow; uint32_t phase; uint32_t sort; uint32_t scope; "
	"uint32_t reserved; } align(64);\n"
	"struct span { uint64_t duration; uint64_t id; } align(64);\n"
	"struct transfer { uint64_t duration; uint64_t bytes; uint64_t group; uint32_t end_tid; "
	"uint32_t n_inputs; int32_t peer; int32_t tag; uint32_t way; uint32_t reserved; } "
	"align(64);\n"
	"struct request { uint64_t duration; uint64_t sent_bytes; uint64_t received_bytes; "
	"uint64_t sent_after_ns; uint64_t received_after_ns; uint32_t n_sent; uint32_t n_received; "
	"uint32_t side; uint32_t status; uint32_t n_others; uint16_t local_port; "
	"uint16_t peer_port; uint8_t local_address[16]; uint8_t peer_address[16]; "
	"uint32_t sort; uint32_t reserved; } align(64);\n"
	"struct graph_node { uint64_t node; uint64_t original; } align(64);\n";

static void append_preamble(struct text *text)
{
	struct identity *identity = malloc(sizeof(*identity));
	struct declared_clock clock;
	char uuid_text[37];
	char *end = uuid_text;

	if (!identity) {
		text->has_failed = true;
		return;
	}
	identity_read(identity, config.test_host);
	declared_clock_read(&clock);
	for (int i = 0; i < 16; i++)
		end += sprintf(end, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
			       uuid[i]);

	text_format(text, "/* CTF 1.8 */\n");
	text_append(text, integer_declarations, sizeof(integer_declarations) - 1);
	text_format(text,
		    "trace {\n\tmajor = 1;\n\tminor = 8;\n\tbyte_order = le;\n\tuuid = \"%s\";\n"
		    "\tpacket.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t "
		    "stream_id; };\n};\n",
		    uuid_text);
	text_format(text, "env {\n\ttacho_format = %d;\n", TRACE_FORMAT_VERSION);
	text_environment(text, "tacho_version", TACHO_VERSION);
	text_environment(text, "hostname", identity->host);
	text_environment(text, "boot_id", identity->boot_id);
	text_format(text, "\tpid = %d;\n\tppid = %d;\n", (int)getpid(), (int)getppid());
	text_format(text, "\trank = %d;\n\tlocal_rank = %d;\n\tworld_size = %d;\n", identity->rank,
		    identity->local_rank, identity->world_size);
	text_environment(text, "job", identity->job);
	if (*config.whole_ranks)
		text_environment(text, TRACE_RANKS_FIELD, config.whole_ranks);
	text_environment(text, "exe", identity->exe);
	text_environment(text, "command", identity->command);
	text_format(text, "\tstart_mono_ns = %llu;\n\tstart_unix_ns = %llu;\n",
		    (unsigned long long)declared_clock_system_ns(CLOCK_MONOTONIC) -
			    (unsigned long long)clock.monotonic_ahead_ns,
		    (unsigned long long)declared_clock_system_ns(CLOCK_REALTIME));
	if (identity->age_ns)
		text_format(text, "\tprocess_age_ns = %llu;\n",
			    (unsigned long long)identity->age_ns);
	text_environment(text, "clock_source", clock.source);
	text_format(text, "\tmonotonic_ahead_ns = %lld;\n};\n",
		    (long long)clock.monotonic_ahead_ns);
	text_format(
		text,
		"clock {\n\tname = ticks;\n\tfreq = %llu;\n\toffset_s = %llu;\n\toffset = %llu;\n"
		"\tabsolute = TRUE;\n};\n",
		(unsigned long long)clock.frequency_hz, (unsigned long long)clock.offset_s,
		(unsigned long long)clock.offset_ticks);
	text_append(text, kind_declarations, sizeof(kind_declarations) - 1);
	text_format(text,
		    "stream {\n\tid = 0;\n"
		    "\tevent.header := struct { uint32_t id; stamp_t timestamp; } align(64);\n"
		    "\tpacket.context := struct { uint64_t packet_size; uint64_t content_size; "
		    "uint64_t events_discarded; ");
	text_format(text, "uint64_t pair_ticks; uint64_t pair_mono_ns; uint32_t stream_number; "
			  "uint32_t index; "
			  "uint32_t tid; uint32_t reserved; } align(64);\n};\n");
	free(identity);
}

static const char *const kind_names[TRACE_N_KINDS] = {
#define KIND_NAME(enumerator, name, is_slice) #name,
	TRACE_KINDS(KIND_NAME)
#undef KIND_NAME
};

static void append_class(struct text *text, uint32_t id, const struct trace_class *class)
{
	text_format(text, "event { id = %u; name = \"", id);
	text_quote(text, class->name, class->length);
	text_format(text, "\"; stream_id = 0; fields := struct %s; };\n", kind_names[class->kind]);
}

/* --- the file ----------------------------------------------------------------------------- */

static bool write_whole(int fd, const char *bytes, size_t length)
{
	while (length) {
		ssize_t written = write(fd, bytes, length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			if (!written)
				errno = ENOSPC;
			return false;
		}
		bytes += written;
		length -= (size_t)written;
	}
	return true;
}

/* Blanks up to the next page, where a class of `length` bytes would cross it: (2). */
static size_t padding_before(uint64_t offset, size_t length)
{
	size_t left = PAGE_BYTES - offset % PAGE_BYTES;

	return length > left ? left : 0;
}

static void text_pad(struct text *text, size_t count)
{
	text_reserve(text, count);
	if (text->has_failed || !count)
		return;
	memset(text->bytes + text->length, ' ', count);
	text->length += count;
	text->bytes[text->length - 1] = '\n';
}

static bool write_metadata(const char *folder)
{
	char file[PATH_MAX + 16];
	struct text text = { 0 };
	bool is_done = false;
	int fd;

	append_preamble(&text);
	for (uint32_t id = 1; id <= n_classes; id++)
		append_class(&text, id, class_at(id));
	snprintf(file, sizeof(file), "%s/%s", folder, TRACE_METADATA_FILE);
	fd = text.has_failed
		     ? -1
		     : open(file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (text.has_failed)
		errno = ENOMEM;
	if (fd >= 0) {
		is_done = write_whole(fd, text.bytes, text.length);
		metadata_bytes = text.length;
		close(fd);
	}
	free(text.bytes);
	return is_done;
}

static bool append_to_metadata(uint32_t id, const struct trace_class *class)
{
	char file[PATH_MAX + 16];
	struct text text = { 0 }, padded = { 0 };
	struct timespec now;
	bool is_done = false;
	int fd;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (now.tv_sec < retry_after_s)
		return false;
	append_class(&text, id, class);
	text_pad(&padded, padding_before(metadata_bytes, text.length));
	if (!text.has_failed)
		text_append(&padded, text.bytes, text.length);
	snprintf(file, sizeof(file), "%s/%s", path, TRACE_METADATA_FILE);
	fd = text.has_failed || padded.has_failed ? -1
						  : open(file, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd >= 0) {
		is_done = write(fd, padded.bytes, padded.length) == (ssize_t)padded.length;
		if (is_done)
			metadata_bytes += padded.length;
		else if (ftruncate(fd, (off_t)metadata_bytes) < 0)
			is_done = false;
		close(fd);
	}
	if (!is_done)
		retry_after_s = now.tv_sec + 1;
	free(text.bytes);
	free(padded.bytes);
	return is_done;
}

/* --- the folder --------------------------------------------------------------------------- */

/* Under its own name, or, where the same pid has been before an exec, a name of its own. */
static bool name_folder(const char *hidden, const char *host)
{
	for (int again = 1; again < 10000; again++) {
		if (again == 1)
			snprintf(path, sizeof(path), "%s/%s-%d", config.run_dir, host,
				 (int)getpid());
		else
			snprintf(path, sizeof(path), "%s/%s-%d-%d", config.run_dir, host,
				 (int)getpid(), again);
		if (rename(hidden, path) == 0)
			return true;
		if (errno != EEXIST && errno != ENOTEMPTY)
			return false;
	}
	return false;
}

/* Make the folder, hidden until its metadata is whole. */
static bool make_folder(void)
{
	char hidden[PATH_MAX], file[PATH_MAX + 16], host[256];
	int cause;

	if (gethostname(host, sizeof(host) - 1) < 0)
		strcpy(host, "host");
	host[sizeof(host) - 1] = '\0';
	for (char *c = host; *c; c++)
		if (*c == '/' || *c == '.')
			*c = '_';
	snprintf(hidden, sizeof(hidden), "%s/.%s-%d", config.run_dir, host, (int)getpid());
	if (mkdir(hidden, 0700) < 0 && errno != EEXIST)
		return false;
	if (write_metadata(hidden) && name_folder(hidden, host))
		return true;
	cause = errno;
	snprintf(file, sizeof(file), "%s/%s", hidden, TRACE_METADATA_FILE);
	unlink(file);
	rmdir(hidden);
	errno = cause;
	return false;
}

/* What a folder's metadata would say is told to the engine. */
static const char *open_engine(void)
{
	struct text text = { 0 };
	const char *failure;

	strcpy(path, "LTTng");
	append_preamble(&text);
	if (!text.has_failed)
		text_append(&text, "", 1); /* the NUL */
	failure = text.has_failed ? strerror(ENOMEM) : engine_open(uuid, text.bytes);
	free(text.bytes);
	for (uint32_t id = 1; !failure && id <= n_classes; id++)
		engine_declare(id, kind_names[class_at(id)->kind], class_at(id)->name);
	return failure;
}

/* NULL: it is there; else why not. */
static const char *begin_trace(void)
{
	if (getrandom(uuid, sizeof(uuid), 0) != sizeof(uuid))
		return strerror(errno);
	if (tacho_has_engine)
		return open_engine();
	return make_folder() ? NULL : strerror(errno);
}

bool process_trace_open(void)
{
	const char *failure;
	int cause = errno;

	if (process_trace_is_open())
		return true;
	if (tacho_has_engine)
		engine_load();
	pthread_mutex_lock(&lock);
	if (state == NOT_TRIED) {
		failure = begin_trace();
		if (!failure) {
			__atomic_store_n(&state, OPEN, __ATOMIC_RELEASE);
		} else {
			losses_note(0, failure);
			tacho_say("cannot record process %d in %s: %s", (int)getpid(),
				  config.run_dir, failure);
			state = FAILED;
		}
	}
	pthread_mutex_unlock(&lock);
	errno = cause;
	return process_trace_is_open();
}

void process_trace_before_fork(void)
{
	pthread_mutex_lock(&lock);
}

void process_trace_after_fork(bool is_child)
{
	pthread_mutex_unlock(&lock);
	if (is_child) {
		state = NOT_TRIED;
		retry_after_s = 0;
	}
}

void process_trace_leave(void)
{
	pthread_mutex_lock(&lock);
	__atomic_store_n(&state, NOT_TRIED, __ATOMIC_RELEASE);
	retry_after_s = 0;
	pthread_mutex_unlock(&lock);
}

/* --- classes ------------------------------------------------------------------------------ */

static uint64_t hash_name(enum trace_kind kind, const char *name, size_t length)
{
	return text_hash64_bytes(TEXT_HASH64_START ^ (uint64_t)kind, name, length);
}

static uint32_t *find_place(uint64_t hash, enum trace_kind kind, const char *name, size_t length)
{
	for (uint32_t i = (uint32_t)hash;; i++) {
		uint32_t *place = &table[i & (table_size - 1)];
		const struct trace_class *class = *place ? class_at(*place) : NULL;

		if (!class || (class->hash == hash && class->kind == kind &&
			       class->length == length && memcmp(class->name, name, length) == 0))
			return place;
	}
}

static bool grow_table(void)
{
	uint32_t size = table_size ? table_size * 2 : 2 * CLASSES_IN_BLOCK;
	uint32_t *bigger = calloc(size, sizeof(*bigger));

	if (!bigger)
		return false;
	free(table);
	table = bigger;
	table_size = size;
	for (uint32_t id = 1; id <= n_classes; id++) {
		const struct trace_class *class = class_at(id);

		*find_place(class->hash, class->kind, class->name, class->length) = id;
	}
	return true;
}

/* Room for the next class; half of the table's places stay free. */
static bool make_class_room(void)
{
	struct trace_class **block = &class_blocks[n_classes / CLASSES_IN_BLOCK];

	if (n_classes >= CLASSES_IN_BLOCK * MAX_CLASS_BLOCKS - 1) /* an id has 20 bits */
		return false;
	if (!*block)
		*block = calloc(CLASSES_IN_BLOCK, sizeof(**block));
	return *block && (n_classes < table_size / 2 || grow_table());
}

/* Before its first record. */
static bool tell_class(uint32_t id, const struct trace_class *class)
{
	if (!tacho_has_engine)
		return append_to_metadata(id, class);
	engine_declare(id, kind_names[class->kind], class->name);
	return true;
}

static uint32_t declare_class(const struct trace_class *wanted)
{
	struct trace_class class = *wanted;
	char *name;

	if (!make_class_room())
		return 0;
	name = malloc(class.length + 1);
	if (!name)
		return 0;
	memcpy(name, wanted->name, class.length);
	name[class.length] = '\0';
	class.name = name;
	if (process_trace_is_open() && !tell_class(n_classes + 1, &class)) {
		free(name);
		return 0;
	}
	*class_at(n_classes + 1) = class;
	__atomic_store_n(&n_classes, n_classes + 1, __ATOMIC_RELEASE);
	*find_place(class.hash, class.kind, name, class.length) = n_classes;
	return n_classes;
}

struct wanted_class {
	struct trace_class class;
	uint32_t id; /* 0: it cannot be declared */
};

/* Another thread may have declared it meanwhile. */
static void find_or_declare(void *wanted_pointer)
{
	struct wanted_class *wanted = wanted_pointer;
	const struct trace_class *class = &wanted->class;

	pthread_mutex_lock(&lock);
	if (table)
		wanted->id = *find_place(class->hash, class->kind, class->name, class->length);
	if (!wanted->id)
		wanted->id = declare_class(class);
	pthread_mutex_unlock(&lock);
}

uint32_t tacho_class(enum trace_kind kind, const char *name, size_t length)
{
	int cause = errno;
	uint64_t hash;
	uint32_t id;

	if ((unsigned)kind >= TRACE_N_KINDS)
		return 0;
	if (length > TRACE_MAX_NAME_BYTES)
		length = TRACE_MAX_NAME_BYTES;
	hash = hash_name(kind, name, length);
	pthread_mutex_lock(&lock);
	id = table ? *find_place(hash, kind, name, length) : 0;
	pthread_mutex_unlock(&lock);
	if (!id) {
		struct wanted_class wanted = {
			.class = { .name = name, .length = length, .hash = hash, .kind = kind },
		};

		tacho_run_aside(find_or_declare, &wanted);
		id = wanted.id;
	}
	errno = cause;
	return id;
}
