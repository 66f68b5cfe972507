/* SQL over a timeline: that it says what the timeline holds, that what narrows a walk loses no row,
 * that nothing but reading is possible, and how results are written. */
#include <string.h>

#include <tacho/correlate.h>
#include <tacho/query.h>

#include "foreign_traces.h"
#include "timeline_text.h"
#include "trace/source.h"

static const gchar two_ranks[] =
	"unit ns\n"
	"rank 0 host=a pid=10  thread 10 main\n"
	"  op aten::mm 100..140 seq=3 in=float32[8,16]@0x1000 in=int64[2] out=float32[8,8]@0x2000\n"
	"    kernel sgemm 105..130 flops=2048 bytes=1536 dims=8x8x16 dtype=float32\n"
	"    kernel sgemm 131..135\n"
	"  collective gloo:all_reduce 150..190 bytes=4096 in=float32[1024]\n"
	"  op aten::add 200..\n"
	"  mark epoch 210 first=7 text=begin\n"
	"  alloc 120 address=4096 bytes=256\n"
	"  free 205 address=4096 bytes=256\n"
	"  sample queue 100 3.25\n"
	"  sample queue 150 5\n"
	"  stream 7 main\n"
	"    kernel gemm_gpu 120..180\n"
	"rank 1 host=b pid=20 end=killed:9  thread 20 main\n"
	"  op aten::mm 100..150\n"
	"  collective gloo:all_reduce 160..180 bytes=4096 in=float32[1024]\n"
	"problem lost_records 3 somewhere\n";

/* The statements' results as text. */
static gchar *ask_in(const TachoTimeline *timeline, const gchar *sql, TachoQueryFormat format,
		     guint64 limit)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoQuery) query = tacho_query_open(timeline, &error);
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	g_autoptr(TachoResultWriter) writer = tacho_result_writer_new(format, out, 0, limit);
	gchar *copy;

	g_assert_no_error(error);
	tacho_query_run(query, sql, tacho_result_writer_handler(), writer, &error);
	fclose(out);
	if (error)
		g_error("%s: %s", sql, error->message);
	copy = g_strdup(text);
	free(text);
	return copy;
}

static gchar *ask(const TachoTimeline *timeline, const gchar *sql)
{
	return ask_in(timeline, sql, TACHO_QUERY_FORMAT_CSV, 0);
}

static void check(const TachoTimeline *timeline, const gchar *sql, const gchar *expected)
{
	g_autofree gchar *text = ask(timeline, sql);

	g_assert_cmpstr(text, ==, expected);
}

static void test_tables(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(two_ranks);

	check(timeline,
	      "SELECT id, name, type, upid, utid, rank, host, stream, n_slices FROM track",
	      "id,name,type,upid,utid,rank,host,stream,n_slices\n"
	      "0,main,thread_track,0,0,0,a,,4\n"
	      "1,collectives,process_track,0,0,0,a,,1\n"
	      "2,queue,counter_track,0,,0,a,,0\n"
	      "3,main,gpu_track,0,,0,a,7,1\n"
	      "4,main,thread_track,1,1,1,b,,1\n"
	      "5,collectives,process_track,1,1,1,b,,1\n");
	check(timeline,
	      "SELECT id, ts, dur, track_id, category, name, depth, parent_id, self_dur, rank, "
	      "is_open"
	      " FROM slice WHERE track_id = 0",
	      "id,ts,dur,track_id,category,name,depth,parent_id,self_dur,rank,is_open\n"
	      "0,100,40,0,op,aten::mm,0,,11,0,0\n"
	      "1,105,25,0,kernel,sgemm,1,0,25,0,0\n"
	      "2,131,4,0,kernel,sgemm,1,0,4,0,0\n"
	      "3,200,10,0,op,aten::add,0,,10,0,1\n");
	check(timeline, "SELECT utid, tid, name, upid, is_main_thread, track_id FROM thread",
	      "utid,tid,name,upid,is_main_thread,track_id\n0,10,main,0,1,0\n1,20,main,1,1,4\n");
	check(timeline, "SELECT upid, pid, rank, host, is_main, ended, exit_status FROM process",
	      "upid,pid,rank,host,is_main,ended,exit_status\n"
	      "0,10,0,a,1,exited,0\n1,20,1,b,1,killed,-9\n");
	check(timeline,
	      "SELECT ts, value, name FROM counter JOIN counter_track ct ON"
	      " ct.id = track_id",
	      "ts,value,name\n100,3.25,queue\n150,5,queue\n");
	check(timeline, "SELECT ts, slice_id, address, bytes, rank FROM memory",
	      "ts,slice_id,address,bytes,rank\n120,1,4096,256,0\n205,3,4096,-256,0\n");
	check(timeline, "SELECT ts, name, first, second, text FROM mark",
	      "ts,name,first,second,text\n210,epoch,7,0,begin\n");
	check(timeline, "SELECT kind, count, place FROM problem WHERE kind = 'lost_records'",
	      "kind,count,place\nlost_records,3,somewhere\n");
	check(timeline,
	      "SELECT ts, dur, name, bytes, ranks, last_begin_ts, transfer_dur FROM collective",
	      "ts,dur,name,bytes,ranks,last_begin_ts,transfer_dur\n"
	      "150,40,gloo:all_reduce,4096,2,160,30\n");
	check(timeline, "SELECT collective_id, rank, wait_dur, transfer_dur FROM collective_member",
	      "collective_id,rank,wait_dur,transfer_dur\n0,0,10,30\n0,1,0,20\n");
	check(timeline, "SELECT count(*), sum(dur) FROM thread_slice WHERE process_name = 'train'",
	      "count(*),sum(dur)\n5,129\n");
}

static void test_steps(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("unit ns\nrank 0 thread 10\n"
							       "op a 0..10\nop b 100..110\n"
							       "op c 205..210\nop d 300..301\n");
	TachoStep steps[] = { { .number = 4, .start_ns = 100, .end_ns = 200, .is_complete = TRUE },
			      { .number = 5, .start_ns = 200, .end_ns = 300 } };

	g_array_append_vals(timeline->steps, steps, G_N_ELEMENTS(steps));
	check(timeline, "SELECT name, step FROM slice", "name,step\na,\nb,4\nc,5\nd,\n");
	check(timeline, "SELECT step, rank, ts, dur, is_complete FROM step",
	      "step,rank,ts,dur,is_complete\n4,0,100,100,1\n5,0,200,100,0\n");
}

static void test_messages_and_buckets(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(two_ranks);
	TachoMessage messages[] = {
		{ .slice = 2,
		  .stream = 6,
		  .peer_process = 1,
		  .collective = 5,
		  .collective_row = 0,
		  .ring_step = 1,
		  .is_receive = 1,
		  .is_exact = 1,
		  .bytes = 100,
		  .offset_bytes = 7,
		  .paired_bytes = 90 },
		{ .slice = 3,
		  .peer_process = TACHO_NONE,
		  .collective = TACHO_NONE,
		  .collective_row = TACHO_NONE,
		  .ring_step = TACHO_NONE,
		  .bytes = 5 },
	};
	TachoBucket buckets[] = {
		{ .rank_index = 0,
		  .step = 3,
		  .index = 0,
		  .slice = 4,
		  .bytes = 96,
		  .n_gradients = 2,
		  .ready_ns = 11,
		  .queued_ns = 12,
		  .is_whole = TRUE },
		{ .rank_index = 1,
		  .step = TACHO_NONE,
		  .index = 1,
		  .slice = 5,
		  .bytes = 8,
		  .first_gradient = 2 },
		{ .rank_index = 1,
		  .step = 3,
		  .index = 2,
		  .slice = 5,
		  .first_gradient = 2,
		  .n_gradients = 1 },
	};
	TachoGradient gradients[] = { { 0, 32, 64, 10, TRUE },
				      { 1, 64, 0, 11, FALSE },
				      { 2, 8, 0, 12, TRUE } };

	g_array_append_vals(timeline->messages, messages, G_N_ELEMENTS(messages));
	g_array_append_vals(timeline->buckets, buckets, G_N_ELEMENTS(buckets));
	g_array_append_vals(timeline->gradients, gradients, G_N_ELEMENTS(gradients));
	check(timeline, "SELECT * FROM message",
	      "id,slice_id,rank,direction,stream,bytes,offset_bytes,paired_bytes,peer_upid,"
	      "peer_rank,collective_slice_id,collective_id,ring_step,is_exact\n"
	      "0,2,0,receive,6,100,7,90,1,1,5,0,1,1\n"
	      "1,3,0,send,0,5,0,0,,,,,,0\n");
	check(timeline, "SELECT slice.name, bytes FROM slice JOIN message ON slice_id = slice.id",
	      "name,bytes\nsgemm,100\naten::add,5\n");
	check(timeline, "SELECT * FROM bucket",
	      "id,rank,step,number,slice_id,bytes,n_gradients,ready_ts,queued_ts,is_whole\n"
	      "0,0,3,0,4,96,2,11,12,1\n1,1,,1,5,8,0,0,0,0\n2,1,3,2,5,0,1,0,0,0\n");
	check(timeline, "SELECT * FROM bucket_gradient",
	      "id,bucket_id,slice_id,bytes,offset_bytes,ready_ts,is_exact\n"
	      "0,0,0,32,64,10,1\n1,0,1,64,,11,0\n2,2,2,8,0,12,1\n");
	check(timeline,
	      "SELECT bucket.id, sum(g.bytes) AS b FROM bucket LEFT JOIN bucket_gradient g"
	      " ON g.bucket_id = bucket.id GROUP BY bucket.id",
	      "id,b\n0,96\n1,\n2,8\n");
}

static void test_args(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(two_ranks);

	check(timeline,
	      "SELECT flat_key, key, value_type, int_value, string_value, display_value FROM args"
	      " WHERE arg_set_id = 0 AND key NOT LIKE 'input%'",
	      "flat_key,key,value_type,int_value,string_value,display_value\n"
	      "outputs,outputs,string,,\"float32[8,8]\",\"float32[8,8]\"\n"
	      "sequence,sequence,int,3,,3\n"
	      "output.dtype,output[0].dtype,string,,float32,float32\n"
	      "output.shape,output[0].shape[0],int,8,,8\n"
	      "output.shape,output[0].shape[1],int,8,,8\n"
	      "output.device,output[0].device,string,,cpu,cpu\n"
	      "output.argument,output[0].argument,int,0,,0\n"
	      "output.storage,output[0].storage,int,8192,,8192\n"
	      "output.offset_bytes,output[0].offset_bytes,int,0,,0\n");
	check(timeline,
	      "SELECT extract_arg(arg_set_id, 'inputs') i, extract_arg(arg_set_id, "
	      "'input[0].shape[1]')"
	      " n, extract_arg(arg_set_id, 'flops') f, extract_arg(arg_set_id, 'wait_ns') w,"
	      " extract_arg(NULL, 'x') x, extract_arg(999, 'x') y FROM slice WHERE id IN (0, 1, 4)",
	      "i,n,f,w,x,y\n\"float32[8,16], int64[2]\",16,,,,\n,,2048,,,\n"
	      "float32[1024],,,10,,\n");
	/* The args of every slice are there, and none twice. */
	check(timeline,
	      "SELECT count(DISTINCT id) = count(*), count(DISTINCT arg_set_id) FROM args",
	      "count(DISTINCT id) = count(*),count(DISTINCT arg_set_id)\n1,7\n");
	check(timeline, "SELECT value_type, int_value FROM args WHERE key = 'open'",
	      "value_type,int_value\nbool,1\n");
}

static gchar *read_foreign_args(struct foreign_reader *reader, guint64 place)
{
	(void)reader;
	if (place == 2)
		return g_strdup("no JSON");
	return g_strdup("{\"Ext id\": 7, \"dims\": [[1, 2], []], \"on\": true, \"f\": 0.5,"
			" \"s\": \"x\\ny\", \"nothing\": null}");
}

static void free_reader(struct foreign_reader *reader)
{
	(void)reader;
}

static void test_foreign_args(void)
{
	static struct foreign_reader reader = { .args_json = read_foreign_args,
						.free = free_reader };
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 10\n");
	guint32 source = tacho_source_take_foreign(timeline->source, &reader);

	for (guint place = 1; place <= 2; place++)
		tacho_timeline_add_slice(timeline, TACHO_SLICE_EVENT, 0, 0, place, 1, 0,
					 tacho_source_foreign_handle(source, place));
	g_free(tacho_timeline_finish(timeline));
	check(timeline, "SELECT arg_set_id s, key, flat_key, value_type, display_value v FROM args",
	      "s,key,flat_key,value_type,v\n"
	      "0,args.Ext id,args.Ext id,int,7\n"
	      "0,args.dims[0][0],args.dims,int,1\n"
	      "0,args.dims[0][1],args.dims,int,2\n"
	      "0,args.on,args.on,bool,true\n"
	      "0,args.f,args.f,real,0.5\n"
	      "0,args.s,args.s,string,\"x\ny\"\n");
	check(timeline,
	      "SELECT key FROM args WHERE key = 'args.on'; SELECT key FROM args WHERE key ="
	      " 'ARGS.on' COLLATE NOCASE; SELECT key FROM args WHERE key IN ('bytes', 'args.f') AND"
	      " arg_set_id = 0; SELECT key FROM args WHERE key = 'args.on' AND key = 'bytes'",
	      "key\nargs.on\nkey\nargs.on\nkey\nargs.f\nkey\n");
	check(timeline,
	      "SELECT count(*), count(b.id) FROM args a LEFT JOIN args b"
	      " ON b.arg_set_id = a.arg_set_id AND b.key = a.key AND b.id = a.id",
	      "count(*),count(b.id)\n6,6\n");
	/* By key, one after the other. */
	check(timeline,
	      "SELECT extract_arg(id, 'args.dims[0][1]') d, extract_arg(id, 'bytes') b,"
	      " extract_arg(id, 'args.Ext id') e, extract_arg(id, 'input[0].dtype') i FROM slice",
	      "d,b,e,i\n2,,7,\n,,,\n");
}

/* --- what narrows a walk loses nothing -------------------------------------------------------- */

/* Four tracks, one empty, of slices that nest and share names. */
static TachoTimeline *random_timeline(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("rank 0 thread 10\nthread 11\nthread 12\nrank 1 thread 20\n");
	const TachoSliceKind kinds[] = { TACHO_SLICE_OP, TACHO_SLICE_KERNEL, TACHO_SLICE_WAIT };

	for (guint i = 0; i < 600; i++) {
		guint32 track = (guint32)g_test_rand_int_range(0, 3);
		g_autofree gchar *name = g_strdup_printf("%s_%d", i % 2 ? "Conv" : "add", i % 7);

		tacho_timeline_add_slice(timeline, kinds[i % 3], track == 2 ? 3 : track,
					 tacho_timeline_intern(timeline, name, -1),
					 g_test_rand_int_range(0, 1000),
					 g_test_rand_int_range(0, 60), 0, 0);
	}
	g_free(tacho_timeline_finish(timeline));
	for (guint i = 0; i < 200; i++) {
		TachoFlow flow = { .from = (guint32)g_test_rand_int_range(0, 600),
				   .to = (guint32)g_test_rand_int_range(0, 600) };

		g_array_append_val(timeline->flows, flow);
	}
	return g_steal_pointer(&timeline);
}

/* "@" before a column is nothing, or "+", with which SQLite itself compares. */
static gchar *with_marks(const gchar *sql, const gchar *mark)
{
	g_auto(GStrv) parts = g_strsplit(sql, "@", -1);

	return g_strjoinv(mark, parts);
}

static void test_constraints(void)
{
	static const gchar *const conditions[] = {
		"@id = 17",
		"@id = 17.5",
		"@id > 590 AND @id <= 595",
		"@id >= 597",
		"@id < 3.5",
		"@id = NULL",
		"@id = -1",
		"@id > 9e18",
		"@id < -9e300",
		"@rowid = 5",
		"@id IN (3, 599, 600, -4)",
		"@track_id = 1",
		"@track_id = 2",
		"@track_id = 77",
		"@ts >= 100 AND @ts < 200",
		"@ts > 100 AND @ts <= 200 AND @track_id = 3",
		"@ts BETWEEN 990 AND 2000",
		"@ts = 500",
		"@ts < 0",
		"@name = 'Conv_1'",
		"@name = 'Conv_1' AND @ts > 300 AND @track_id = 0",
		"@name = 'nobody'",
		"@name = ''",
		"@name = x'436f6e765f31'",
		"@name IN ('add_0', 'Conv_3', 'nobody')",
		"@name = 'CONV_1' COLLATE NOCASE",
		"@name LIKE 'conv%'",
		"@name LIKE 'conv%' AND @name LIKE '%_1'",
		"@name GLOB 'Conv*'",
		"@name GLOB 'conv*'",
		"@name REGEXP '^add_[0-3]$'",
		"@name IS NULL",
		"@category = 'kernel'",
		"@category = 'kernel' AND @name = 'add_0'",
		"@category = 'nothing'",
		"@parent_id = 3",
		"@parent_id IN (SELECT id FROM slice)",
		"@parent_id IS NULL AND @depth = 0",
		"@parent_id = 100000",
		"@parent_id = NULL",
		"(@id = 3 OR @name = 'add_2')",
	};
	g_autoptr(TachoTimeline) timeline = random_timeline();
	guint n_filled = 0;

	for (guint i = 0; i < G_N_ELEMENTS(conditions); i++) {
		g_autofree gchar *sql = g_strdup_printf(
			"SELECT id, name FROM slice WHERE %s ORDER BY id; SELECT count(*), sum(id)"
			" FROM slice WHERE %s",
			conditions[i], conditions[i]);
		g_autofree gchar *narrowed = with_marks(sql, ""), *plain = with_marks(sql, "+");
		g_autofree gchar *ours = ask(timeline, narrowed), *theirs = ask(timeline, plain);

		/* The heads of the columns name the marks. */
		n_filled += strlen(theirs) > strlen("id,name\ncount(*),sum(id)\n0,\n");
		if (strcmp(ours, theirs) != 0)
			g_error("%s: %s instead of %s", conditions[i], ours, theirs);
	}
	g_assert_cmpuint(n_filled, >, 20);
}

/* The same for joins: each side's index, and one that is asked many times. */
static void test_joins(void)
{
	static const gchar *const joins[] = {
		"slice a JOIN slice b ON @b.parent_id = a.id",
		"slice a JOIN slice b ON @b.name = a.name AND b.id > a.id",
		("slice a JOIN slice b ON @b.name = a.name AND @b.track_id = a.track_id"
		 " AND @b.ts >= a.ts"),
		"slice a JOIN slice b ON @b.track_id = a.track_id AND @b.ts = a.ts",
		"slice a JOIN flow b ON @b.slice_out = a.id",
		"slice a JOIN flow b ON @b.slice_in = a.id AND a.category = 'op'",
		"flow a JOIN slice b ON @b.id = a.slice_in",
		"slice a JOIN track b ON @b.id = a.track_id",
		"slice a JOIN thread b ON @b.track_id = a.track_id",
		"thread a JOIN process b ON @b.upid = a.upid",
		"thread a LEFT JOIN track b ON @b.id = a.utid + 2",
	};
	g_autoptr(TachoTimeline) timeline = random_timeline();

	for (guint i = 0; i < G_N_ELEMENTS(joins); i++) {
		g_autofree gchar *sql =
			g_strdup_printf("SELECT count(*), sum(a.id * 7 + b.id) FROM %s", joins[i]);
		g_autofree gchar *narrowed = with_marks(sql, ""), *plain = with_marks(sql, "+");
		g_autofree gchar *ours = ask(timeline, narrowed), *theirs = ask(timeline, plain);

		if (strcmp(ours, theirs) != 0)
			g_error("%s: %s instead of %s", joins[i], ours, theirs);
	}
}

static void check_plan(const TachoTimeline *timeline, const gchar *sql, const gchar *plan,
		       gboolean has_sorter)
{
	g_autofree gchar *explain = g_strconcat("EXPLAIN QUERY PLAN ", sql, NULL);
	g_autofree gchar *text = ask(timeline, explain);

	if (!strstr(text, plan) || has_sorter != (strstr(text, "TEMP B-TREE") != NULL))
		g_error("%s: %s", sql, text);
}

static void test_plans(void)
{
	g_autoptr(TachoTimeline) timeline = random_timeline();

	check_plan(timeline, "SELECT * FROM slice ORDER BY id", "INDEX 0:", FALSE);
	check_plan(timeline, "SELECT * FROM slice ORDER BY track_id, ts", "INDEX 0:", FALSE);
	check_plan(timeline, "SELECT * FROM slice WHERE track_id = 1 ORDER BY ts", "d=", FALSE);
	check_plan(timeline, "SELECT * FROM slice ORDER BY ts", "INDEX 0:", TRUE);
	check_plan(timeline, "SELECT * FROM slice ORDER BY id DESC", "INDEX 0:", TRUE);
	check_plan(timeline, "SELECT * FROM slice WHERE ts > 5 AND name = 'x'", "b>f=", FALSE);
	check_plan(timeline, "SELECT * FROM args WHERE arg_set_id = 5", "b=", FALSE);
	check_plan(timeline, "SELECT * FROM args WHERE arg_set_id = 5 AND key = 'bytes'",
		   "b=d=", FALSE);
	check_plan(timeline, "SELECT * FROM flow JOIN slice ON slice.id = slice_out", "a=", FALSE);
	check_plan(timeline, "SELECT * FROM step ORDER BY id", "INDEX 0:", FALSE);
	/* In order, also where rows of several tracks are joined from ranges. */
	check(timeline,
	      "SELECT count(*) FROM (SELECT id, lag(id) OVER (ROWS 1 PRECEDING) AS before FROM"
	      " (SELECT id FROM slice WHERE ts > 10 AND ts < 900)) WHERE before >= id",
	      "count(*)\n0\n");
}

/* --- what may run ----------------------------------------------------------------------------- */

static gboolean ignore_row(const TachoCell *cells, gpointer data)
{
	(void)cells, (void)data;
	return TRUE;
}

static void ignore_begin(const gchar *const *names, guint n_columns, gpointer data)
{
	(void)names, (void)n_columns, (void)data;
}

static void ignore_end(gpointer data)
{
	(void)data;
}

static void test_read_only(void)
{
	static const TachoQueryHandler handler = { ignore_begin, ignore_row, ignore_end };
	static const gchar *const statements[] = {
		"CREATE TABLE x(a)",
		"CREATE TEMP TABLE x(a)",
		"CREATE VIEW x AS SELECT 1",
		"CREATE VIRTUAL TABLE x USING fts5(a)",
		"DROP TABLE slice",
		"DROP VIEW thread_slice",
		"INSERT INTO slice(id) VALUES (1)",
		"DELETE FROM slice",
		"UPDATE slice SET name = 'x'",
		"UPDATE sqlite_schema SET sql = ''",
		"ATTACH 'made_by_a_query' AS x",
		"ATTACH '/etc/passwd' AS x",
		"DETACH main",
		"VACUUM",
		"VACUUM INTO 'made_by_a_query'",
		"PRAGMA journal_mode = wal",
		"PRAGMA writable_schema = 1",
		"PRAGMA temp_store_directory = '/'",
		"PRAGMA trusted_schema = 1",
		"BEGIN",
		"SAVEPOINT x",
		"ANALYZE",
		"ALTER TABLE slice RENAME TO x",
	};
	g_autoptr(TachoTimeline) timeline = timeline_from_text(two_ranks);
	g_autoptr(TachoQuery) query = tacho_query_open(timeline, NULL);

	for (guint i = 0; i < G_N_ELEMENTS(statements); i++) {
		g_autoptr(GError) error = NULL;

		if (tacho_query_run(query, statements[i], &handler, NULL, &error) ||
		    !(g_error_matches(error, TACHO_QUERY_ERROR, TACHO_QUERY_ERROR_READ_ONLY) ||
		      strstr(error->message, "may not be")))
			g_error("%s: %s", statements[i], error ? error->message : "was run");
	}
	g_assert_false(g_file_test("made_by_a_query", G_FILE_TEST_EXISTS));
	g_assert_false(tacho_query_run(query, "SELECT load_extension('x')", &handler, NULL, NULL));
	g_assert_false(tacho_query_run(query, "SELECT fts3_tokenizer('x')", &handler, NULL, NULL));
	g_assert_false(tacho_query_run(query, "SELECT name FROM slice WHERE name REGEXP '('",
				       &handler, NULL, NULL));
	g_assert_true(tacho_query_run(query, "EXPLAIN SELECT 1; PRAGMA table_info(slice)", &handler,
				      NULL, NULL));
}

static void check_error(TachoQuery *query, const gchar *sql, const gchar *message)
{
	static const TachoQueryHandler handler = { ignore_begin, ignore_row, ignore_end };
	g_autoptr(GError) error = NULL;

	g_assert_false(tacho_query_run(query, sql, &handler, NULL, &error));
	g_assert_cmpstr(error->message, ==, message);
}

static void test_errors(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(two_ranks);
	g_autoptr(TachoQuery) query = tacho_query_open(timeline, NULL);

	check_error(query, "SELECT * form slice",
		    "near \"form\": syntax error (line 1, column 10)\n"
		    "  SELECT * form slice\n           ^");
	check_error(query, "SELECT 1;\nSELECT\n\t'é', nme FROM slice",
		    "no such column: nme (line 3, column 7)\n  \t'é', nme FROM slice\n  \t     ^");
	check_error(query, "SELECT percentile(dur, 101) FROM slice",
		    "percentile: the second argument must be a number from 0 to 100");
	check_error(query, "SELECT zeroblob(134217729)", "string or blob too big");
	check_error(query, "SELECT 'open",
		    "unrecognized token: \"'open\" (line 1, column 8)\n"
		    "  SELECT 'open\n         ^");
}

/* What one statement keeps at once counts, of values and of what aggregates gather. What fits goes on working, also after one
 * that did not fit. */
static void test_memory(void)
{
	g_autoptr(TachoTimeline) timeline = random_timeline();
	g_autoptr(TachoQuery) query = tacho_query_open(timeline, NULL);
	static const gchar too_much[] =
		"stopped, since it needs more memory than it may have (4 MiB)";

	tacho_query_limit_memory(4 << 20);
	check_error(query, "SELECT hex(zeroblob(4000000))", too_much);
	check_error(query, "SELECT median(a.dur) FROM slice a, slice b, slice c", too_much);
	check(timeline, "SELECT median(a.dur) > 0 AS m FROM slice a", "m\n1\n");
	tacho_query_limit_memory(0);
	check(timeline, "SELECT length(hex(zeroblob(20000000))) AS n", "n\n40000000\n");
}

static gboolean interrupt_row(const TachoCell *cells, gpointer data)
{
	(void)cells;
	tacho_query_interrupt(data);
	return TRUE;
}

static void test_interrupt(void)
{
	static const TachoQueryHandler handler = { ignore_begin, interrupt_row, ignore_end };
	g_autoptr(TachoTimeline) timeline = random_timeline();
	g_autoptr(TachoQuery) query = tacho_query_open(timeline, NULL);
	g_autoptr(GError) error = NULL;

	g_assert_false(tacho_query_run(query, "SELECT * FROM slice a, slice b, slice c", &handler,
				       query, &error));
	g_assert_error(error, TACHO_QUERY_ERROR, TACHO_QUERY_ERROR_INTERRUPTED);
	g_clear_error(&error);

	/* It ends the next statement where none runs, but not what is run after that. */
	tacho_query_interrupt(query);
	g_assert_false(tacho_query_run(query, "SELECT 1", &handler, query, &error));
	g_assert_error(error, TACHO_QUERY_ERROR, TACHO_QUERY_ERROR_INTERRUPTED);
	tacho_query_interrupt(query);
	g_assert_true(tacho_query_run(query, "", &handler, query, NULL));
	g_assert_true(tacho_query_run(query, "SELECT 1 WHERE 0", &handler, query, NULL));
	check(timeline, "SELECT count(*) FROM slice", "count(*)\n600\n");
}

static void test_complete(void)
{
	g_assert_true(tacho_query_is_complete(""));
	g_assert_true(tacho_query_is_complete(" -- nothing\n\n"));
	g_assert_true(tacho_query_is_complete("SELECT 1;"));
	g_assert_false(tacho_query_is_complete("SELECT 1"));
	g_assert_false(tacho_query_is_complete("SELECT ';"));
	g_assert_false(tacho_query_is_complete("-- why\nSELECT"));
}

/* --- functions and formats -------------------------------------------------------------------- */

static void test_functions(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 10\n");

	check(timeline,
	      "SELECT percentile(column1, 25) p, median(column1) m, stddev(column1) s, "
	      "percentile(column1, 100) l FROM (VALUES (1), (2), (NULL), (4), (9.5))",
	      "p,m,s,l\n1.75,3.0,3.7941841459440697,9.5\n");
	check(timeline, "SELECT median(1) m, stddev(1) s, percentile(NULL, 5) p", "m,s,p\n1.0,,\n");
	check(timeline, "SELECT median(column1) m FROM (VALUES (1)) WHERE 0", "m\n\n");
}

/* A product of 2 * 100^3 operations on 3 * 40 kB, and a kernel of which the name alone tells something. */
static void test_kernels(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(
		"rank 0 thread 10\n"
		"  op aten::mm 0..10 in=float16[100,100] in=float16[100,100] out=float16[100,100]\n"
		"    runtime cudaLaunchKernel 1..2\n"
		"  runtime cudaLaunchKernel#2 20..21\n"
		"stream 7\n"
		"  kernel hgemm 30..40 launch=cudaLaunchKernel\n"
		"  kernel triton_red_fused 40..50 launch=cudaLaunchKernel#2\n");

	check(timeline,
	      "SELECT name, kernel_class(id) c, kernel_type(id) t, kernel_flops(id) f, "
	      "kernel_bytes(id) b, (SELECT name FROM slice o WHERE o.id = kernel_op(s.id)) o "
	      "FROM slice s WHERE category = 'kernel' ORDER BY ts",
	      "name,c,t,f,b,o\nhgemm,gemm,fp16,2000000.0,60000.0,aten::mm\n"
	      "triton_red_fused,reduction,,,,\n");
	check(timeline,
	      "SELECT kernel_class(-1) a, kernel_class('x') b, kernel_op(1000000) c, "
	      "kernel_flops(NULL) d, kernel_class(0) e",
	      "a,b,c,d,e\n,,,,\n");
}

/* What the args of a trace tell of a launch and a copy. */
static void test_launches(void)
{
	static const gchar text[] =
		"{\"schemaVersion\": 1, \"traceEvents\": [\n"
		"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7,"
		" \"ts\": 1, \"dur\": 2, \"args\": {\"grid\": [6, 2, 1], \"block\": [32, 4, 1],"
		" \"registers per thread\": 40, \"shared memory\": 1024,"
		" \"est. achieved occupancy %\": 37.5}},\n"
		"{\"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"Memcpy HtoD\", \"pid\": 0,"
		" \"tid\": 7, \"ts\": 4, \"dur\": 2, \"args\": {\"bytes\": 4096}}\n]}";
	gchar *path = foreign_write("x.json", text, sizeof(text) - 1);
	g_autoptr(TachoTimeline) timeline = foreign_open(path);

	check(timeline,
	      "SELECT kernel_blocks(id) b, kernel_block_threads(id) t, kernel_registers(id) r, "
	      "kernel_shared_bytes(id) s, kernel_occupancy(id) o, copy_kind(id) k, "
	      "copy_bytes(id) c, copy_gb_per_s(id) g FROM slice ORDER BY ts",
	      "b,t,r,s,o,k,c,g\n12,128,40,1024,37.5,,,\n,,,,,HtoD,4096,2.048\n");
	check(timeline, "SELECT kernel_blocks(-1) a, kernel_blocks('x') b, copy_bytes(99) c",
	      "a,b,c\n,,\n");
	foreign_remove(path);
}

static void test_formats(void)
{
	static const gchar sql[] =
		"SELECT 1 AS a, NULL AS a, 0.1 AS \"b,c\" UNION ALL"
		" SELECT -5, 'tab\tquote\"\nback\\ é' || char(27), x'00ff' UNION ALL"
		" SELECT 2, '', 1e300";
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 10\n");
	g_autofree gchar *csv = ask_in(timeline, sql, TACHO_QUERY_FORMAT_CSV, 0);
	g_autofree gchar *tsv = ask_in(timeline, sql, TACHO_QUERY_FORMAT_TSV, 0);
	g_autofree gchar *json = ask_in(timeline, sql, TACHO_QUERY_FORMAT_JSON, 0);
	g_autofree gchar *lines = ask_in(timeline, sql, TACHO_QUERY_FORMAT_JSONL, 2);
	g_autofree gchar *table = ask_in(timeline, sql, TACHO_QUERY_FORMAT_TABLE, 2);
	g_autofree gchar *none =
		ask_in(timeline, "SELECT 1 AS x WHERE 0", TACHO_QUERY_FORMAT_JSON, 0);

	g_assert_cmpstr(csv, ==,
			"a,a_2,\"b,c\"\n1,,0.1\n-5,\"tab\tquote\"\"\nback\\ é?\",x'00ff'\n"
			"2,\"\",1e+300\n");
	g_assert_cmpstr(tsv, ==,
			"a\ta_2\tb,c\n1\t\\N\t0.1\n-5\ttab\\tquote\"\\nback\\\\ é?\tx'00ff'\n"
			"2\t\t1e+300\n");
	g_assert_cmpstr(json, ==,
			"[\n\t{\"a\":1,\"a_2\":null,\"b,c\":0.1},\n"
			"\t{\"a\":-5,\"a_2\":\"tab\\tquote\\\"\\nback\\\\ "
			"é\\u001b\",\"b,c\":\"x'00ff'\"},\n"
			"\t{\"a\":2,\"a_2\":\"\",\"b,c\":1e+300}\n]\n");
	g_assert_cmpstr(
		lines, ==,
		"{\"a\":1,\"a_2\":null,\"b,c\":0.1}\n"
		"{\"a\":-5,\"a_2\":\"tab\\tquote\\\"\\nback\\\\ é\\u001b\",\"b,c\":\"x'00ff'\"}\n");
	g_assert_cmpstr(table, ==,
			" a  a_2                      b,c\n"
			"--  -------------------  -------\n"
			" 1  NULL                     0.1\n"
			"-5  tab�quote\"�back\\ é�  x'00ff'\n"
			"These are the first 2 rows; there are more (--limit shows more).\n");
	g_assert_cmpstr(none, ==, "[]\n");
}

static void test_schema(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 10\n");
	g_autoptr(TachoQuery) query = tacho_query_open(timeline, NULL);
	g_auto(GStrv) tables = tacho_query_tables(query);
	g_autoptr(GError) error = NULL;

	for (guint i = 0; tables[i]; i++) {
		g_auto(GStrv) columns = tacho_query_columns(query, tables[i]);
		g_autofree gchar *schema = tacho_query_schema(query, tables[i], &error);
		g_autofree gchar *sql = g_strdup_printf("SELECT * FROM %s", tables[i]);
		g_autofree gchar *empty = NULL;

		g_assert_no_error(error);
		g_assert_cmpstr(columns[0], ==, "id");
		g_assert_nonnull(tacho_query_describe(tables[i]));
		g_assert_nonnull(strstr(schema, tables[i]));
		empty = ask(timeline, sql);
	}
	g_assert_null(tacho_query_schema(query, "nothing", &error));
	g_assert_error(error, TACHO_QUERY_ERROR, TACHO_QUERY_ERROR_NO_TABLE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/query/tables", test_tables);
	g_test_add_func("/query/steps", test_steps);
	g_test_add_func("/query/messages-and-buckets", test_messages_and_buckets);
	g_test_add_func("/query/args", test_args);
	g_test_add_func("/query/foreign-args", test_foreign_args);
	g_test_add_func("/query/constraints", test_constraints);
	g_test_add_func("/query/joins", test_joins);
	g_test_add_func("/query/plans", test_plans);
	g_test_add_func("/query/read-only", test_read_only);
	g_test_add_func("/query/errors", test_errors);
	g_test_add_func("/query/interrupt", test_interrupt);
	g_test_add_func("/query/memory", test_memory);
	g_test_add_func("/query/complete", test_complete);
	g_test_add_func("/query/functions", test_functions);
	g_test_add_func("/query/launches", test_launches);
	g_test_add_func("/query/kernels", test_kernels);
	g_test_add_func("/query/formats", test_formats);
	g_test_add_func("/query/schema", test_schema);
	return g_test_run();
}
