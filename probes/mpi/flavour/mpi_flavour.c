/* mpi_flavour: records the calls of one MPI; compiled against the header of each, for what handles and statuses are.
 *
 *     call begins -> [slice of the thread] -> real call -> what the call gave: bytes, peer, communicator -> slice ends
 *                        \-> send, receive, collective: a record beside it, ended by this call, or by who waits for its request
 *
 * (1) Nothing is asked of MPI before the real call has succeeded: wrong arguments are the program's to be told of, in its own call.
 * (2) Of a communicator that is known already, peer and group are in the record from its begin: they tell of what hangs.
 * (3) A status that the program does not want is asked for all the same, where a receive does not say whom it is from.
 * (4) MPI's constants that are addresses are looked up: this library is not linked to any MPI. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

#include "common/activity.h"
#include "mpi/mpi_call.h"
#include "mpi/flavour/mpi_communicator.h"
#include "mpi/flavour/mpi_request.h"

#define FEW_REQUESTS 8

/* --- this MPI --------------------------------------------------------------------------------- */

#define PMPI_FUNCTIONS(FUNCTION)                                                                   \
	FUNCTION(Comm_size)                                                                        \
	FUNCTION(Comm_rank)                                                                        \
	FUNCTION(Comm_test_inter)                                                                  \
	FUNCTION(Comm_group)                                                                       \
	FUNCTION(Comm_remote_group)                                                                \
	FUNCTION(Group_size)                                                                       \
	FUNCTION(Group_translate_ranks)                                                            \
	FUNCTION(Group_free)                                                                       \
	FUNCTION(Type_size)                                                                        \
	FUNCTION(Get_elements_x)

static struct {
#define FUNCTION(name) __typeof__(&PMPI_##name) name;
	PMPI_FUNCTIONS(FUNCTION)
#undef FUNCTION
} pmpi;

#ifdef OPEN_MPI
#define HANDLE(type, value) ((type)(value))
static struct {
	__typeof__(&PMPI_Comm_f2c) Comm_f2c;
	__typeof__(&PMPI_Type_f2c) Type_f2c;
	__typeof__(&PMPI_Request_f2c) Request_f2c;
} convert;
#define FROM_FORTRAN(type, value) convert.type##_f2c(value)
#else
#define HANDLE(type, value)	  ((type)(int)(value))
#define MPI_Type		  MPI_Datatype
#define FROM_FORTRAN(type, value) ((MPI_##type)(value))
#endif
#define KEY(handle) ((uint64_t)(uintptr_t)(handle))

/* (4) */
static MPI_Comm world, no_communicator;
static MPI_Datatype byte_type;
static const void *fortran_in_place, *fortran_in_place_pointer, **fortran_no_status,
	**fortran_no_statuses;

#ifdef OPEN_MPI
/* A program that is not position independent has copies of a library's data, which the library uses then. */
static void *find_data(void *library, const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	return found ? found : dlsym(library, name);
}
#endif

static bool find_constants(void *library)
{
#ifdef OPEN_MPI
	world = find_data(library, "ompi_mpi_comm_world");
	no_communicator = find_data(library, "ompi_mpi_comm_null");
	byte_type = find_data(library, "ompi_mpi_byte");
	convert.Comm_f2c = (__typeof__(convert.Comm_f2c))dlsym(library, "PMPI_Comm_f2c");
	convert.Type_f2c = (__typeof__(convert.Type_f2c))dlsym(library, "PMPI_Type_f2c");
	convert.Request_f2c = (__typeof__(convert.Request_f2c))dlsym(library, "PMPI_Request_f2c");
	if (!convert.Comm_f2c || !convert.Type_f2c || !convert.Request_f2c)
		return false;
	/* a program in Fortran has its own, before all */
	fortran_in_place = dlsym(RTLD_DEFAULT, "mpi_fortran_in_place_");
	fortran_in_place_pointer = dlsym(library, "mpi_fortran_in_place_");
	fortran_no_status = find_data(library, "MPI_F_STATUS_IGNORE");
	fortran_no_statuses = find_data(library, "MPI_F_STATUSES_IGNORE");
	return world && no_communicator && byte_type;
#else
	(void)library;
	world = MPI_COMM_WORLD;
	no_communicator = MPI_COMM_NULL;
	byte_type = MPI_BYTE;
	return true;
#endif
}

/* --- the calls -------------------------------------------------------------------------------- */

enum what {
	LOCAL,
	WAITS,
	SEND,
	RECV,
	ISEND,
	IRECV,
	SENDRECV,
	SEND_INIT,
	RECV_INIT,
	START,
	WAIT,
	TEST,
	REQUEST_FREE,
	MPROBE,
	MRECV,
	IMRECV,
	COLLECTIVE,
	ICOLLECTIVE,
	COMM_NEW,
	COMM_FREE,
	INIT,
	FINALIZE,
	ONE_SIDED,
	FILE_BYTES,
	IFILE,
};
#define FILE FILE_BYTES /* the table's word, which is stdio's as well */

static const struct {
	const char *name, *arguments;
	enum what what;
} calls[MPI_N_CALLS] = {
#define CALL(name, fortran, what, arguments) { "MPI_" #name, arguments, what },
#include "mpi/mpi_calls.def"
#undef CALL
};
#undef FILE

/* A call at work. */
struct at_work {
	enum mpi_call call;
	bool is_fortran;
	const char *letters;
	uintptr_t *arguments;
	struct record_slice *slice;
};

/* Where in each call's arguments the first and the second of a letter are, or -1. */
#define LETTER(letter) ((letter)&63)
static int8_t places[MPI_N_CALLS][2][64];

static void find_places(void)
{
	memset(places, -1, sizeof(places));
	for (int call = 0; call < MPI_N_CALLS; call++) {
		for (int i = 0; calls[call].arguments[i]; i++) {
			int letter = LETTER(calls[call].arguments[i]);
			int8_t *first = &places[call][0][letter];

			if (*first < 0)
				*first = (int8_t)i;
			else if (places[call][1][letter] < 0)
				places[call][1][letter] = (int8_t)i;
		}
	}
}

static inline int place_of(const struct at_work *work, char letter, int n)
{
	return places[work->call][n][LETTER(letter)];
}

static int integer_at(const struct at_work *work, int place)
{
	uintptr_t word = work->arguments[place];

	return work->is_fortran ? *(const MPI_Fint *)word : (int)word;
}

static MPI_Datatype type_at(const struct at_work *work, int place)
{
	uintptr_t word = work->arguments[place];

	return work->is_fortran ? FROM_FORTRAN(Type, *(const MPI_Fint *)word)
				: HANDLE(MPI_Datatype, word);
}

static MPI_Comm communicator_at(const struct at_work *work, int place)
{
	uintptr_t word = work->arguments[place];

	return work->is_fortran ? FROM_FORTRAN(Comm, *(const MPI_Fint *)word)
				: HANDLE(MPI_Comm, word);
}

/* What a call has put, or will change, at the address it is given. */
static MPI_Comm new_communicator_at(const struct at_work *work, int place)
{
	const void *address = (const void *)work->arguments[place];

	return work->is_fortran ? FROM_FORTRAN(Comm, *(const MPI_Fint *)address)
				: *(const MPI_Comm *)address;
}

static uint64_t request_key(const struct at_work *work, int place, int i)
{
	const void *address = (const void *)work->arguments[place];

	return work->is_fortran ? KEY(FROM_FORTRAN(Request, ((const MPI_Fint *)address)[i]))
				: KEY(((const MPI_Request *)address)[i]);
}

static bool is_in_place(const struct at_work *work, int place)
{
	const void *address = (const void *)work->arguments[place];

	return work->is_fortran ? address && (address == fortran_in_place ||
					      address == fortran_in_place_pointer)
				: address == MPI_IN_PLACE;
}

/* An error code behind the last argument may be left out in Fortran 2008. */
static bool has_failed(const struct at_work *work, uintptr_t status)
{
	const MPI_Fint *code;

	if (!work->is_fortran)
		return (int)status != MPI_SUCCESS;
	if (calls[work->call].what == INIT)
		return false;
	code = (const MPI_Fint *)work->arguments[strlen(work->letters)];
	return code && *code != MPI_SUCCESS;
}

/* --- slices and classes ----------------------------------------------------------------------- */

static uint32_t slice_classes[MPI_N_CALLS]; /* atomic */
static uint32_t move_classes[MPI_N_CALLS];  /* atomic: of transfers and collectives */

static uint32_t class_of(uint32_t *classes, enum mpi_call call, enum trace_kind kind)
{
	uint32_t class_id = __atomic_load_n(&classes[call], __ATOMIC_RELAXED);

	if (TACHO_UNLIKELY(!class_id)) {
		class_id = tacho_class(kind, calls[call].name, strlen(calls[call].name));
		__atomic_store_n(&classes[call], class_id, __ATOMIC_RELAXED);
	}
	return class_id;
}

/* Whether the thread stands still in it for what others do. */
static bool is_wait(enum what what)
{
	switch (what) {
	case LOCAL:
	case ISEND:
	case IRECV:
	case IMRECV:
	case SEND_INIT:
	case RECV_INIT:
	case START:
	case TEST:
	case REQUEST_FREE:
	case ICOLLECTIVE:
	case ONE_SIDED:
	case IFILE:
		return false;
	default:
		return true;
	}
}

static struct record_collective *begin_transfer(enum mpi_call call, enum trace_way way,
						const struct mpi_communicator *communicator,
						int peer, int tag)
{
	if (!tacho_is_recording())
		return NULL;
	return (struct record_collective *)tacho_transfer_begin(
		class_of(move_classes, call, TRACE_KIND_TRANSFER), way, 0,
		communicator ? communicator->number : 0, mpi_communicator_rank(communicator, peer),
		tag);
}

static uint32_t thread_id(void)
{
	static _Thread_local uint32_t id __attribute__((tls_model("initial-exec")));

	if (!id)
		id = (uint32_t)gettid();
	return id;
}

/* --- communicators ---------------------------------------------------------------------------- */

/* `ranks` of the group as ranks of the job. */
static void translate(MPI_Group group, struct mpi_communicator *communicator)
{
	MPI_Group all;
	int *own = malloc(sizeof(int) * (size_t)communicator->size);

	for (int i = 0; i < communicator->size; i++) {
		communicator->ranks[i] = -1;
		if (own)
			own[i] = i;
	}
	if (!own || pmpi.Comm_group(world, &all) != MPI_SUCCESS) {
		free(own);
		return;
	}
	pmpi.Group_translate_ranks(group, communicator->size, own, all, communicator->ranks);
	for (int i = 0; i < communicator->size; i++)
		if (communicator->ranks[i] == MPI_UNDEFINED)
			communicator->ranks[i] = -1;
	pmpi.Group_free(&all);
	free(own);
}

static struct mpi_communicator *learn(MPI_Comm handle)
{
	struct mpi_communicator *communicator = NULL;
	int is_across = 0, size = 0;
	MPI_Group group;

	if (pmpi.Comm_test_inter(handle, &is_across) != MPI_SUCCESS ||
	    (is_across ? pmpi.Comm_remote_group(handle, &group)
		       : pmpi.Comm_group(handle, &group)) != MPI_SUCCESS)
		return NULL;
	if (pmpi.Group_size(group, &size) == MPI_SUCCESS && size >= 0)
		communicator = calloc(1, sizeof(*communicator) + sizeof(int) * ((size_t)size + 1));
	if (communicator) {
		communicator->handle = KEY(handle);
		communicator->is_across = is_across != 0;
		communicator->size = size;
		translate(group, communicator);
	}
	pmpi.Group_free(&group);
	return communicator ? mpi_communicator_add(communicator) : NULL;
}

/* After a call with it has succeeded. */
static struct mpi_communicator *communicator_of(MPI_Comm handle)
{
	struct mpi_communicator *known = mpi_communicator_find(KEY(handle));

	return known || handle == no_communicator ? known : learn(handle);
}

/* (2): it may not be one at all. */
static struct mpi_communicator *known_communicator(const struct at_work *work)
{
	int place = place_of(work, 'm', 0);

	return place < 0 ? NULL : mpi_communicator_find(KEY(communicator_at(work, place)));
}

static struct mpi_communicator *used_communicator(const struct at_work *work)
{
	int place = place_of(work, 'm', 0);

	return place < 0 ? NULL : communicator_of(communicator_at(work, place));
}

/* --- bytes ------------------------------------------------------------------------------------ */

static uint64_t sum_of(const struct at_work *work, int place, int n)
{
	const int *counts = (const int *)work->arguments[place];
	uint64_t sum = 0;

	for (int i = 0; counts && i < n; i++)
		sum += counts[i] > 0 ? (uint64_t)counts[i] : 0;
	return sum;
}

/* Of the counts from `from` on that say something; (1). */
static uint64_t bytes_from(const struct at_work *work, int from,
			   const struct mpi_communicator *communicator)
{
	int n_ranks = communicator ? communicator->size : 0, size = 0;
	bool is_skipped = false, has_counts = false;
	uint64_t n = 0;

	for (int i = from; work->letters[i]; i++) {
		switch (work->letters[i]) {
		case 'p':
			is_skipped = is_in_place(work, i);
			break;
		case 'n':
		case 'a':
			n = integer_at(work, i) > 0 ? (uint64_t)integer_at(work, i) : 0;
			n *= work->letters[i] == 'a' ? (uint64_t)n_ranks : 1;
			has_counts = true;
			break;
		case 'v':
			n = is_skipped ? 0 : sum_of(work, i, n_ranks);
			has_counts = true;
			break;
		case 't':
			if (has_counts && !is_skipped)
				return pmpi.Type_size(type_at(work, i), &size) == MPI_SUCCESS &&
						       size > 0
					       ? n * (uint64_t)size
					       : 0;
			is_skipped = has_counts = false;
			break;
		default:
			break;
		}
	}
	return 0;
}

/* Bytes moved so far by calls whose other side takes no part. */
static void count_bytes(const char *counter, uint64_t *total, uint64_t bytes)
{
	uint64_t sum = __atomic_add_fetch(total, bytes, __ATOMIC_RELAXED);

	if (tacho_is_recording_all())
		tacho_counter(tacho_class(TRACE_KIND_COUNTER, counter, strlen(counter)),
			      (double)sum);
}

/* --- ends ------------------------------------------------------------------------------------- */

/* `status` NULL: it tells nothing. */
static void finish_receive(struct record_collective *record,
			   const struct mpi_communicator *communicator, const MPI_Status *status)
{
	struct record_transfer *transfer = (struct record_transfer *)record;
	MPI_Count bytes = 0;

	if (!record)
		return;
	if (status) {
		if (pmpi.Get_elements_x(status, byte_type, &bytes) == MPI_SUCCESS && bytes > 0)
			record->bytes = (uint64_t)bytes;
		transfer->peer = mpi_communicator_rank(communicator, status->MPI_SOURCE);
		transfer->tag = status->MPI_TAG;
	}
	record->group = communicator ? communicator->number : 0;
	tacho_collective_finish(record, thread_id());
}

static void finish_failed(struct record_collective *record)
{
	if (record)
		((struct record_transfer *)record)->way = TRACE_WAY_UNKNOWN;
	tacho_collective_finish(record, thread_id());
}

/* Space for a status that the program does not want; else its own. */
static MPI_Status *status_at(struct at_work *work, int place, MPI_Status *own)
{
	uintptr_t word = work->arguments[place];
	bool is_ignored = work->is_fortran
				  ? fortran_no_status && (const void *)word == *fortran_no_status
				  : (MPI_Status *)word == MPI_STATUS_IGNORE;

	if (is_ignored) {
		work->arguments[place] = (uintptr_t)own;
		return own;
	}
	return (MPI_Status *)word;
}

/* --- sends and receives ----------------------------------------------------------------------- */

static uintptr_t run(const struct at_work *work, mpi_function *real)
{
	return mpi_call_real(real, work->arguments);
}

static void fill_send(struct record_collective *record, uint64_t bytes,
		      const struct mpi_communicator *communicator, int peer)
{
	if (!record)
		return;
	record->bytes = bytes;
	record->group = communicator ? communicator->number : 0;
	((struct record_transfer *)record)->peer = mpi_communicator_rank(communicator, peer);
}

static uintptr_t call_send(struct at_work *work, mpi_function *real)
{
	int peer = integer_at(work, place_of(work, 'd', 0));
	int tag = integer_at(work, place_of(work, 'g', 0));
	struct record_collective *record =
		peer == MPI_PROC_NULL ? NULL
				      : begin_transfer(work->call, TRACE_WAY_SEND,
						       known_communicator(work), peer, tag);
	uintptr_t status = run(work, real);

	if (!record)
		return status;
	if (has_failed(work, status)) {
		finish_failed(record);
	} else {
		struct mpi_communicator *communicator = used_communicator(work);

		fill_send(record, bytes_from(work, 0, communicator), communicator, peer);
		tacho_collective_finish(record, thread_id());
	}
	return status;
}

static uintptr_t call_receive(struct at_work *work, mpi_function *real)
{
	int peer = integer_at(work, place_of(work, 's', 0));
	int tag = integer_at(work, place_of(work, 'g', 0));
	struct record_collective *record =
		peer == MPI_PROC_NULL
			? NULL
			: begin_transfer(work->call, TRACE_WAY_RECEIVE, known_communicator(work),
					 peer, tag == MPI_ANY_TAG ? -1 : tag);
	MPI_Status own, *told = status_at(work, place_of(work, 'S', 0), &own);
	uintptr_t status = run(work, real);

	if (record && has_failed(work, status))
		finish_failed(record);
	else if (record)
		finish_receive(record, used_communicator(work), told);
	return status;
}

/* Both at once. */
static uintptr_t call_exchange(struct at_work *work, mpi_function *real)
{
	const struct mpi_communicator *known = known_communicator(work);
	int to = integer_at(work, place_of(work, 'd', 0));
	int from = integer_at(work, place_of(work, 's', 0));
	int tag = integer_at(work, place_of(work, 'g', 1));
	struct record_collective *send = NULL, *receive = NULL;
	MPI_Status own, *told = status_at(work, place_of(work, 'S', 0), &own);
	struct mpi_communicator *communicator;
	uintptr_t status;

	if (to != MPI_PROC_NULL)
		send = begin_transfer(work->call, TRACE_WAY_SEND, known, to,
				      integer_at(work, place_of(work, 'g', 0)));
	if (from != MPI_PROC_NULL)
		receive = begin_transfer(work->call, TRACE_WAY_RECEIVE, known, from,
					 tag == MPI_ANY_TAG ? -1 : tag);
	status = run(work, real);
	if (has_failed(work, status)) {
		finish_failed(send);
		finish_failed(receive);
		return status;
	}
	communicator = used_communicator(work);
	fill_send(send, bytes_from(work, 0, communicator), communicator, to);
	tacho_collective_finish(send, thread_id());
	finish_receive(receive, communicator, told);
	return status;
}

/* --- requests --------------------------------------------------------------------------------- */

static void keep_request(const struct at_work *work, const struct mpi_request *request)
{
	int place = place_of(work, 'q', 0);

	mpi_request_put(request_key(work, place, 0), request);
}

static uintptr_t call_start_send(struct at_work *work, mpi_function *real)
{
	int peer = integer_at(work, place_of(work, 'd', 0));
	bool is_persistent = calls[work->call].what == SEND_INIT;
	struct mpi_request request = { .call = (uint16_t)work->call,
				       .way = TRACE_WAY_SEND,
				       .tag = integer_at(work, place_of(work, 'g', 0)),
				       .is_persistent = is_persistent,
				       .generation = tacho_generation() };
	struct mpi_communicator *communicator;
	uintptr_t status;

	if (peer == MPI_PROC_NULL)
		return run(work, real);
	if (!is_persistent)
		request.record = begin_transfer(work->call, TRACE_WAY_SEND,
						known_communicator(work), peer, request.tag);
	status = run(work, real);
	if (has_failed(work, status)) {
		finish_failed(request.record);
		return status;
	}
	communicator = used_communicator(work);
	request.communicator = communicator ? communicator->handle : 0;
	request.bytes = bytes_from(work, 0, communicator);
	request.peer = mpi_communicator_rank(communicator, peer);
	fill_send(request.record, request.bytes, communicator, peer);
	keep_request(work, &request);
	return status;
}

static uintptr_t call_start_receive(struct at_work *work, mpi_function *real)
{
	int peer = integer_at(work, place_of(work, 's', 0));
	int tag = integer_at(work, place_of(work, 'g', 0));
	bool is_persistent = calls[work->call].what == RECV_INIT;
	struct mpi_request request = { .call = (uint16_t)work->call,
				       .way = TRACE_WAY_RECEIVE,
				       .tag = tag == MPI_ANY_TAG ? -1 : tag,
				       .is_persistent = is_persistent,
				       .generation = tacho_generation() };
	struct mpi_communicator *communicator;
	uintptr_t status;

	if (peer == MPI_PROC_NULL)
		return run(work, real);
	if (!is_persistent)
		request.record = begin_transfer(work->call, TRACE_WAY_RECEIVE,
						known_communicator(work), peer, request.tag);
	status = run(work, real);
	if (has_failed(work, status)) {
		finish_failed(request.record);
		return status;
	}
	communicator = used_communicator(work);
	request.communicator = communicator ? communicator->handle : 0;
	request.peer = mpi_communicator_rank(communicator, peer);
	if (request.record)
		request.record->group = communicator ? communicator->number : 0;
	keep_request(work, &request);
	return status;
}

static void start_persistent(uint64_t handle)
{
	struct mpi_request request;

	if (!tacho_is_recording() || !mpi_request_get(handle, &request) || !request.is_persistent ||
	    request.record)
		return;
	request.generation = tacho_generation();
	request.record = (struct record_collective *)tacho_transfer_begin(
		class_of(move_classes, request.call, TRACE_KIND_TRANSFER),
		(enum trace_way)request.way, request.bytes, 0, request.peer, request.tag);
	if (request.record) {
		const struct mpi_communicator *communicator =
			mpi_communicator_find(request.communicator);

		request.record->group = communicator ? communicator->number : 0;
	}
	mpi_request_put(handle, &request);
}

/* Recorded before they are started: what has come by the end of the call began before. */
static uintptr_t call_start(struct at_work *work, mpi_function *real)
{
	int array = place_of(work, 'R', 0);
	int n = array >= 0 ? integer_at(work, place_of(work, 'N', 0)) : 1;

	for (int i = 0; i < n; i++)
		start_persistent(request_key(work, array >= 0 ? array : 0, i));
	return run(work, real);
}

/* A request is complete. */
static void complete(uint64_t handle, const struct mpi_request *request, const MPI_Status *status)
{
	if (!request->record)
		return;
	if (request->generation == tacho_generation()) {
		if (request->way == TRACE_WAY_RECEIVE)
			finish_receive(request->record,
				       mpi_communicator_find(request->communicator), status);
		else
			tacho_collective_finish(request->record, thread_id());
	}
	mpi_request_done(handle, request);
}

/* Requests that a call may complete, as they were before it. */
struct awaited {
	int n;
	bool has_receive;
	uint64_t *handles;
	struct mpi_request *requests;
	uint64_t few_handles[FEW_REQUESTS];
	struct mpi_request few_requests[FEW_REQUESTS];
	void *many;
};

static bool look(const struct at_work *work, struct awaited *awaited)
{
	int array = place_of(work, 'R', 0);

	awaited->n = array >= 0 ? integer_at(work, place_of(work, 'N', 0)) : 1;
	awaited->has_receive = false;
	awaited->many = NULL;
	awaited->handles = awaited->few_handles;
	awaited->requests = awaited->few_requests;
	if (awaited->n > FEW_REQUESTS) {
		awaited->many = malloc((size_t)awaited->n *
				       (sizeof(*awaited->handles) + sizeof(*awaited->requests)));
		awaited->requests = awaited->many;
		awaited->handles = (uint64_t *)(awaited->requests + awaited->n);
	}
	if (!awaited->requests || !work->arguments[array >= 0 ? array : 0])
		return false;
	for (int i = 0; i < awaited->n; i++) {
		awaited->handles[i] = request_key(work, array >= 0 ? array : 0, i);
		mpi_request_get(awaited->handles[i], &awaited->requests[i]);
		awaited->has_receive |= awaited->requests[i].way == TRACE_WAY_RECEIVE;
	}
	return true;
}

/* Statuses for those that are waited for: the program's, or where it wants none and a receive is among them, our own (to be freed). */
static MPI_Status *statuses_at(struct at_work *work, int place, const struct awaited *awaited,
			       void **ret_own)
{
	uintptr_t word = work->arguments[place];
	bool is_ignored =
		work->is_fortran ? fortran_no_statuses && (const void *)word == *fortran_no_statuses
				 : (MPI_Status *)word == MPI_STATUSES_IGNORE;

	if (!is_ignored)
		return (MPI_Status *)word;
	if (!awaited->has_receive)
		return NULL;
	*ret_own = malloc((size_t)awaited->n * sizeof(MPI_Status));
	if (*ret_own)
		work->arguments[place] = (uintptr_t)*ret_own;
	return *ret_own;
}

/* What a call has written: C's int or logical, which Fortran has in as many bytes. */
static int written_at(const struct at_work *work, char letter, int otherwise)
{
	int place = place_of(work, letter, 0);

	return place < 0 ? otherwise : *(const int *)work->arguments[place];
}

static void complete_all(const struct at_work *work, const struct awaited *awaited,
			 const MPI_Status *statuses)
{
	int one = place_of(work, 'S', 0), some = place_of(work, 'k', 0);
	int first = work->is_fortran ? 1 : 0; /* Fortran counts from 1 */

	if (!written_at(work, 'f', 1))
		return;
	if (some >= 0) {
		const int *indices = (const int *)work->arguments[some];
		int n = written_at(work, 'j', 0);

		for (int i = 0; n != MPI_UNDEFINED && i < n; i++) {
			int at = indices[i] - first;

			if (at >= 0 && at < awaited->n)
				complete(awaited->handles[at], &awaited->requests[at],
					 statuses ? &statuses[i] : NULL);
		}
	} else if (one >= 0) {
		int at = written_at(work, 'i', first);

		at = at == MPI_UNDEFINED ? -1 : at - first;
		if (at >= 0 && at < awaited->n)
			complete(awaited->handles[at], &awaited->requests[at], statuses);
	} else {
		for (int i = 0; i < awaited->n; i++)
			complete(awaited->handles[i], &awaited->requests[i],
				 statuses ? &statuses[i] : NULL);
	}
}

static uintptr_t call_wait(struct at_work *work, mpi_function *real)
{
	int one = place_of(work, 'S', 0), several = place_of(work, 'A', 0);
	MPI_Status own, *statuses = NULL;
	void *own_statuses = NULL;
	struct awaited awaited;
	uintptr_t status;

	if (!look(work, &awaited))
		return run(work, real);
	if (one >= 0)
		statuses = status_at(work, one, &own);
	else if (several >= 0)
		statuses = statuses_at(work, several, &awaited, &own_statuses);
	status = run(work, real);
	if (!has_failed(work, status))
		complete_all(work, &awaited, statuses);
	free(own_statuses);
	free(awaited.many);
	return status;
}

static uintptr_t call_free_request(struct at_work *work, mpi_function *real)
{
	uint64_t handle = request_key(work, 0, 0);
	struct mpi_request request;
	bool is_known = mpi_request_get(handle, &request);
	uintptr_t status;

	if (is_known)
		mpi_request_remove(handle); /* before another gets its handle */
	status = run(work, real);
	/* nobody will know when it is complete */
	if (is_known && request.record && request.generation == tacho_generation())
		tacho_collective_finish(request.record, 0);
	return status;
}

/* --- messages that were probed for ------------------------------------------------------------ */

#define MESSAGE (UINT64_C(1) << 63) /* handles of messages, among those of requests */

static uint64_t message_key(const struct at_work *work, int place)
{
	const void *address = (const void *)work->arguments[place];

	return MESSAGE | (work->is_fortran ? (uint64_t)(uint32_t) * (const MPI_Fint *)address
					   : KEY(*(const MPI_Message *)address));
}

static uintptr_t call_probe_message(struct at_work *work, mpi_function *real)
{
	MPI_Status own, *told = status_at(work, place_of(work, 'S', 0), &own);
	uintptr_t status = run(work, real);
	struct mpi_communicator *communicator;
	struct mpi_request message = { 0 };

	if (has_failed(work, status) || !written_at(work, 'f', 1))
		return status;
	communicator = used_communicator(work);
	message.communicator = communicator ? communicator->handle : 0;
	message.peer = mpi_communicator_rank(communicator, told->MPI_SOURCE);
	message.tag = told->MPI_TAG;
	mpi_request_put(message_key(work, place_of(work, 'M', 0)), &message);
	return status;
}

static uintptr_t call_receive_message(struct at_work *work, mpi_function *real)
{
	bool is_immediate = calls[work->call].what == IMRECV;
	int place = place_of(work, 'M', 0);
	uint64_t key = message_key(work, place);
	struct mpi_request message;
	bool is_known = mpi_request_get(key, &message);
	MPI_Status own, *told = is_immediate ? NULL : status_at(work, place_of(work, 'S', 0), &own);
	const struct mpi_communicator *communicator;
	uintptr_t status;

	if (!is_known)
		return run(work, real);
	mpi_request_remove(key);
	communicator = mpi_communicator_find(message.communicator);
	message.call = (uint16_t)work->call;
	message.way = TRACE_WAY_RECEIVE;
	message.generation = tacho_generation();
	message.record = begin_transfer(work->call, TRACE_WAY_RECEIVE, NULL, -1, message.tag);
	fill_send(message.record, 0, communicator, -1);
	if (message.record)
		((struct record_transfer *)message.record)->peer = message.peer;
	status = run(work, real);
	if (has_failed(work, status))
		finish_failed(message.record);
	else if (is_immediate)
		keep_request(work, &message);
	else
		finish_receive(message.record, communicator, told);
	return status;
}

/* --- collectives ------------------------------------------------------------------------------ */

static uintptr_t call_collective(struct at_work *work, mpi_function *real)
{
	bool is_immediate = calls[work->call].what == ICOLLECTIVE;
	const struct mpi_communicator *communicator = known_communicator(work);
	struct record_collective *record =
		tacho_is_recording()
			? tacho_collective_begin(
				  class_of(move_classes, work->call, TRACE_KIND_COLLECTIVE), 0,
				  communicator ? communicator->number : 0)
			: NULL;
	uintptr_t status = run(work, real);

	if (!record)
		return status;
	if (has_failed(work, status)) {
		record->bytes = TRACE_FAILED;
		tacho_collective_finish(record, thread_id());
		return status;
	}
	communicator = used_communicator(work);
	record->group = communicator ? communicator->number : 0;
	/* between groups, what arguments say depends on the side */
	if (communicator && !communicator->is_across)
		record->bytes = bytes_from(work, 0, communicator);
	if (is_immediate) {
		struct mpi_request request = { .record = record,
					       .call = (uint16_t)work->call,
					       .generation = tacho_generation() };

		keep_request(work, &request);
	} else {
		tacho_collective_finish(record, thread_id());
	}
	return status;
}

/* --- what it costs -------------------------------------------------------------------------- */

#define COST_ROUNDS 9
#define COST_CALLS  32

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The record of a call, or of what it moves, in picoseconds; 0: not measured. */
static uint64_t measure(bool is_transfer)
{
	uint32_t wait = class_of(slice_classes, MPI_CALL_Send, TRACE_KIND_WAIT);
	uint32_t transfer = class_of(move_classes, MPI_CALL_Send, TRACE_KIND_TRANSFER);
	uint64_t least_ns = UINT64_MAX;

	if (!tacho_scratch_begin(2 * COST_CALLS * sizeof(struct record_transfer)))
		return 0;
	for (int round = 0; round < COST_ROUNDS; round++) {
		uint64_t begin_ns = now_ns(), taken_ns;

		for (int i = 0; i < COST_CALLS; i++) {
			if (is_transfer)
				tacho_collective_finish(
					&tacho_transfer_begin(transfer, TRACE_WAY_SEND, 0, 0, 0, 0)
						 ->collective,
					thread_id());
			else
				tacho_slice_finish(tacho_slice_begin(wait, 0));
		}
		taken_ns = now_ns() - begin_ns;
		tacho_scratch_rewind();
		if (taken_ns < least_ns)
			least_ns = taken_ns;
	}
	tacho_scratch_end();
	return least_ns * 1000 / COST_CALLS;
}

static void tell_costs(void)
{
	uint64_t slice = measure(false), transfer = measure(true);

	if (!slice || !transfer)
		return;
	tacho_cost(TRACE_KIND_WAIT, "mpi", slice);
	tacho_cost(TRACE_KIND_RUNTIME, "mpi", slice);
	tacho_cost(TRACE_KIND_TRANSFER, "mpi", transfer);
	tacho_cost(TRACE_KIND_COLLECTIVE, "mpi", transfer);
}

/* --- communicators come and go, and the program --------------------------------------------- */

static uintptr_t call_new_communicator(struct at_work *work, mpi_function *real)
{
	uintptr_t status = run(work, real);

	if (!has_failed(work, status))
		communicator_of(new_communicator_at(work, place_of(work, 'c', 0)));
	return status;
}

static uintptr_t call_free_communicator(struct at_work *work, mpi_function *real)
{
	uint64_t handle = KEY(new_communicator_at(work, place_of(work, 'c', 0)));

	mpi_communicator_remove(handle); /* before another gets its handle */
	return run(work, real);
}

/* Whether the launcher has told the rank to the environment, where the agent has found it. */
static bool is_rank_told(void)
{
	static const char *const variables[] = { "RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
						 "PMI_RANK", "SLURM_PROCID" };

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		if (getenv(variables[i]))
			return true;
	return false;
}

static uintptr_t call_init(struct at_work *work, mpi_function *real)
{
	uintptr_t status = run(work, real);
	int rank = 0, size = 0;

	if (has_failed(work, status) || pmpi.Comm_rank(world, &rank) != MPI_SUCCESS ||
	    pmpi.Comm_size(world, &size) != MPI_SUCCESS)
		return status;
	if (!is_rank_told() && size > 1)
		tacho_mark(TRACE_RANK_MARK, rank, size, "");
	communicator_of(world);
	tell_costs();
	return status;
}

static uintptr_t call_bytes(struct at_work *work, mpi_function *real)
{
	static uint64_t one_sided, files; /* atomic */
	bool is_one_sided = calls[work->call].what == ONE_SIDED;
	uintptr_t status = run(work, real);

	if (!has_failed(work, status))
		count_bytes(is_one_sided ? "MPI one-sided bytes" : "MPI file bytes",
			    is_one_sided ? &one_sided : &files, bytes_from(work, 0, NULL));
	return status;
}

static uintptr_t dispatch(struct at_work *work, mpi_function *real)
{
	switch (calls[work->call].what) {
	case SEND:
		return call_send(work, real);
	case RECV:
		return call_receive(work, real);
	case SENDRECV:
		return call_exchange(work, real);
	case ISEND:
	case SEND_INIT:
		return call_start_send(work, real);
	case IRECV:
	case RECV_INIT:
		return call_start_receive(work, real);
	case START:
		return call_start(work, real);
	case WAIT:
	case TEST:
		return call_wait(work, real);
	case REQUEST_FREE:
		return call_free_request(work, real);
	case MPROBE:
		return call_probe_message(work, real);
	case MRECV:
	case IMRECV:
		return call_receive_message(work, real);
	case COLLECTIVE:
	case ICOLLECTIVE:
		return call_collective(work, real);
	case COMM_NEW:
		return call_new_communicator(work, real);
	case COMM_FREE:
		return call_free_communicator(work, real);
	case INIT:
		return call_init(work, real);
	case ONE_SIDED:
	case FILE_BYTES:
	case IFILE:
		return call_bytes(work, real);
	default:
		return run(work, real);
	}
}

static uintptr_t record_call(enum mpi_call call, bool is_fortran, mpi_function *real,
			     uintptr_t arguments[MPI_CALL_ARGUMENTS])
{
	struct at_work work = { .call = call,
				.is_fortran = is_fortran,
				.letters = calls[call].arguments,
				.arguments = arguments };
	uintptr_t status;

	if (tacho_is_recording_all())
		work.slice = tacho_slice_begin(
			class_of(slice_classes, call,
				 is_wait(calls[call].what) ? TRACE_KIND_WAIT : TRACE_KIND_RUNTIME),
			0);
	/* where nothing is recorded now, communicators and requests are followed all the same */
	status = dispatch(&work, real);
	tacho_slice_finish(work.slice);
	return status;
}

static void after_fork_in_child(void)
{
	mpi_communicators_after_fork();
	mpi_requests_after_fork();
}

TACHO_EXPORT mpi_recorded_call *tacho_mpi_flavour(void *library);

mpi_recorded_call *tacho_mpi_flavour(void *library)
{
#define FUNCTION(name)                                                                             \
	pmpi.name = (__typeof__(pmpi.name))dlsym(library, "PMPI_" #name);                          \
	if (!pmpi.name)                                                                            \
		return NULL;
	PMPI_FUNCTIONS(FUNCTION)
#undef FUNCTION
	if (!find_constants(library))
		return NULL;
	find_places();
	pthread_atfork(NULL, NULL, after_fork_in_child);
	return record_call;
}
