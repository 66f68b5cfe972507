/* byteps_log: logs of BytePS: messages between workers and servers, and what a server does with them. */
#ifndef TACHO_BYTEPS_LOG_H
#define TACHO_BYTEPS_LOG_H

#include "import/import_format.h"

/* What is known of the job whose log it is. */
struct byteps_job {
	GHashTable *keys;	     /* as byteps_keys.h says; NULL: not known */
	const GArray *tensors;	     /* as byteprofile_tensors.h says; NULL: not known */
	struct byteprofile_ops *ops; /* may be NULL */
	const GArray *workers; /* guint32: the process of each worker, by its number; may be NULL */
	GHashTable *servers;   /* number -> process + 1, of those met so far; may be NULL */
	guint32 n_workers;     /* the largest number met, and 1 more */
};

/* Whether a file begins as one of the two. */
gboolean byteps_log_sniff(const gchar *head);
/* Whether such a file, which begins so, is of a server. */
gboolean byteps_log_is_of_server(const gchar *head);
/* Read it. What a worker sent and received is its process's, and makes collectives; a server is no rank, but a process beside
 * the first worker's. False: it cannot be opened. */
gboolean byteps_log_read(struct import *import, const gchar *path, struct byteps_job *job,
			 GError **error);
/* The same of a worker's messages that something else than its log tells: begun, told a slice at a time in the order of their
 * begins, and ended, which makes the collectives; ending NULL does nothing. `foreign` reads what else is known. */
struct byteps_log;
struct byteps_log *byteps_log_begin_worker(struct import *import, const gchar *path,
					   struct byteps_job *job, guint worker, guint32 foreign);
/* The track of messages to (or from) a server, and what they are called. */
guint32 byteps_log_track(struct byteps_log *log, gboolean is_request, guint server);
const gchar *byteps_message_name(gboolean is_push, gboolean is_request);
void byteps_log_add_message(struct byteps_log *log, gboolean is_push, gboolean is_request,
			    guint32 key, guint32 slice);
void byteps_log_end_worker(struct byteps_log *log);
/* The process of the server of that number. */
guint32 byteps_job_take_server(struct import *import, const gchar *path,
			       const struct byteps_job *job, gint32 server);
/* When all logs have been read: say so if none was of a worker. */
void byteps_job_check(struct import *import, const struct byteps_job *job);

#endif
