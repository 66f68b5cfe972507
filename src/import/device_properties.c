#include "import/device_properties.h"

#include "import/read/json_scan.h"

enum { MAX_DEVICES = 256 }; /* of a list */

/* MEMBER(name of the member, field of TachoDevice) */
#define MEMBERS(MEMBER)                                                                            \
	MEMBER("id", number)                                                                       \
	MEMBER("totalGlobalMem", memory_bytes)                                                     \
	MEMBER("numSms", n_multiprocessors)                                                        \
	MEMBER("warpSize", warp_threads)                                                           \
	MEMBER("maxThreadsPerMultiprocessor", multiprocessor_threads)                              \
	MEMBER("regsPerMultiprocessor", multiprocessor_registers)                                  \
	MEMBER("sharedMemPerMultiprocessor", multiprocessor_shared_bytes)                          \
	MEMBER("maxThreadsPerBlock", block_threads)                                                \
	MEMBER("regsPerBlock", block_registers)                                                    \
	MEMBER("sharedMemPerBlock", block_shared_bytes)

/* What a member tells beside its own field. */
struct versions {
	gint64 major, minor; /* -1: not told */
};

/* A number that `field` can hold; else it stays as it is. */
#define READ_NUMBER(scan, field)                                                                   \
	do {                                                                                       \
		gint64 value;                                                                      \
                                                                                                   \
		if (json_fixed(scan, 0, &value) && value >= 0 &&                                   \
		    value <= (gint64)(sizeof(field) > 4 ? G_MAXINT64 : G_MAXINT32))                \
			(field) = (__typeof__(field))value;                                        \
	} while (0)

static guint32 read_text(TachoTimeline *timeline, struct json_scan *scan)
{
	struct json_text text;
	g_autofree gchar *plain = NULL;

	if (json_peek(scan) != '"') {
		json_skip(scan);
		return 0;
	}
	if (!json_string(scan, &text))
		return 0;
	plain = json_text_dup(&text);
	return g_utf8_validate(plain, -1, NULL) ? tacho_timeline_intern(timeline, plain, -1) : 0;
}

static void read_member(TachoTimeline *timeline, struct json_scan *scan,
			const struct json_text *key, TachoDevice *device, struct versions *versions)
{
#define READ_MEMBER(member, field)                                                                 \
	if (JSON_TEXT_IS(key, member)) {                                                           \
		READ_NUMBER(scan, device->field);                                                  \
		return;                                                                            \
	}
	MEMBERS(READ_MEMBER)
#undef READ_MEMBER
	if (JSON_TEXT_IS(key, "name"))
		device->name = read_text(timeline, scan);
	else if (JSON_TEXT_IS(key, "computeMajor"))
		READ_NUMBER(scan, versions->major);
	else if (JSON_TEXT_IS(key, "computeMinor"))
		READ_NUMBER(scan, versions->minor);
	else
		json_skip(scan);
}

guint32 device_architecture(TachoTimeline *timeline, gint64 major, gint64 minor)
{
	g_autofree gchar *text = NULL;

	if (major < 0 || minor < 0)
		return 0;
	text = g_strdup_printf("%" G_GINT64_FORMAT ".%" G_GINT64_FORMAT, major, minor);
	return tacho_timeline_intern(timeline, text, -1);
}

static void read_device(TachoTimeline *timeline, guint32 process, struct json_scan *scan)
{
	TachoDevice device = { .process = process };
	struct versions versions = { -1, -1 };
	struct json_text key;

	if (!json_enter(scan, '{'))
		return;
	while (json_member(scan, &key))
		read_member(timeline, scan, &key, &device, &versions);
	device.architecture = device_architecture(timeline, versions.major, versions.minor);
	g_array_append_val(timeline->devices, device);
}

void device_properties_read(TachoTimeline *timeline, guint32 process, const gchar *json)
{
	struct json_scan scan;
	g_autofree gchar *copy = NULL;

	copy = json_scan_copy(&scan, json);
	if (!json_enter(&scan, '['))
		return;
	for (guint i = 0; i < MAX_DEVICES && json_element(&scan); i++)
		read_device(timeline, process, &scan);
}
