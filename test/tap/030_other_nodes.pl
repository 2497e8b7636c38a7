# Nodes of another extension, made once for each of its paths, as some extensions make them: no plan of ours has one twice.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

# Such an extension, made on the spot: it reads all tables itself.
my $folder = PostgreSQL::Test::Utils::tempdir();
append_to_file("$folder/reader.c", <<'C');
#include "postgres.h"
#include "access/table.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "optimizer/restrictinfo.h"
PG_MODULE_MAGIC;
extern __attribute__((visibility("default"))) void _PG_init(void);
static set_rel_pathlist_hook_type before;
typedef struct { CustomScanState scan; TupleTableSlot *slot; } Reading;

static TupleTableSlot *
next_row(ScanState *state)
{
	Reading *reading = (Reading *) state;
	if (!state->ss_currentScanDesc)
		state->ss_currentScanDesc = table_beginscan(state->ss_currentRelation, state->ps.state->es_snapshot, 0, NULL);
	if (!table_scan_getnextslot(state->ss_currentScanDesc, ForwardScanDirection, reading->slot))
		return NULL;
	return ExecCopySlot(state->ss_ScanTupleSlot, reading->slot);
}
static bool any_row(ScanState *state, TupleTableSlot *slot) { return true; }
static void
begin(CustomScanState *state, EState *estate, int flags)
{
	((Reading *) state)->slot = table_slot_create(state->ss.ss_currentRelation, &estate->es_tupleTable);
}
static TupleTableSlot *run(CustomScanState *state) { return ExecScan(&state->ss, next_row, any_row); }
static void
end(CustomScanState *state)
{
	if (state->ss.ss_currentScanDesc)
		table_endscan(state->ss.ss_currentScanDesc);
}
static void
again(CustomScanState *state)
{
	if (state->ss.ss_currentScanDesc)
		table_rescan(state->ss.ss_currentScanDesc, NULL);
	ExecScanReScan(&state->ss);
}
static const CustomExecMethods exec_methods = {.CustomName = "Reader", .BeginCustomScan = begin, .ExecCustomScan = run, .EndCustomScan = end, .ReScanCustomScan = again};
static Node *
make_state(CustomScan *plan)
{
	Reading *reading = (Reading *) newNode(sizeof(Reading), T_CustomScanState);
	reading->scan.methods = &exec_methods;
	return (Node *) reading;
}
static const CustomScanMethods scan_methods = {"Reader", make_state};

/* The node is the path's, and is changed each time that it is planned. */
static Plan *
make_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses, List *plans)
{
	CustomScan *scan = linitial(path->custom_private);
	ListCell   *cell;
	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = extract_actual_clauses(clauses, false);
	foreach(cell, scan->custom_scan_tlist)
		castNode(Var, lfirst_node(TargetEntry, cell)->expr)->varno = rel->relid;
	return &scan->scan.plan;
}
static const CustomPathMethods path_methods = {"Reader", make_plan};

static void
read_it(PlannerInfo *root, RelOptInfo *rel, Index relid, RangeTblEntry *entry)
{
	CustomPath *path;
	CustomScan *scan;
	if (before)
		before(root, rel, relid, entry);
	if (entry->rtekind != RTE_RELATION || entry->relkind != RELKIND_RELATION || entry->relid < FirstNormalObjectId || rel->lateral_relids)
		return;
	path = makeNode(CustomPath);
	scan = makeNode(CustomScan);
	scan->scan.scanrelid = relid;
	scan->custom_scan_tlist = build_physical_tlist(root, rel);
	scan->methods = &scan_methods;
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.rows = rel->rows;
	path->path.total_cost = rel->rows * 0.01;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_private = list_make1(scan);
	path->methods = &path_methods;
	rel->pathlist = list_make1(path);
	rel->partial_pathlist = NIL;
}
void
_PG_init(void)
{
	RegisterCustomScanMethods(&scan_methods);
	before = set_rel_pathlist_hook;
	set_rel_pathlist_hook = read_it;
}
C
my $pg_config = $ENV{PG_CONFIG} // 'pg_config';
chomp(my $include = `$pg_config --includedir-server`);
plan skip_all => 'needs a C compiler and headers' if !-e "$include/postgres.h" || system('cc --version >/dev/null 2>&1') != 0;
system("cc -shared -fPIC -Werror -I'$include' -o '$folder/reader.so' '$folder/reader.c'") == 0 or die 'the extension cannot be compiled';

my @queries = (
	'SELECT count(DISTINCT g), count(*), sum(v) FROM t',
	'SELECT h, count(DISTINCT g) FROM t GROUP BY h',
	'SELECT count(DISTINCT g), h FROM t GROUP BY h',
	'SELECT count(DISTINCT g) FROM t WHERE v < 3000',
	'SELECT h + 1, count(DISTINCT g) FROM t GROUP BY h + 1',
	'SELECT count(DISTINCT g), sum(v) FROM parts',
	'SELECT count(DISTINCT g), h FROM parts WHERE v > 100 GROUP BY h',
	'SELECT count(DISTINCT p.g), p.h FROM parts p JOIN u USING (k) GROUP BY p.h',
	'SELECT count(DISTINCT a.g), max(b.v) FROM t a JOIN u b USING (k)',
	'SELECT a.h, count(DISTINCT a.g) FROM t a JOIN u b USING (k) GROUP BY a.h HAVING count(DISTINCT a.g) > 2',
	'SELECT count(DISTINCT s.g) FROM (SELECT g, k, count(*) FROM t GROUP BY g, k OFFSET 0) s JOIN u USING (k)',
	'SELECT a.h, count(*), sum(b.v) FROM t a LEFT JOIN u b USING (k) GROUP BY a.h',
	'SELECT a.h, count(*) FROM t a JOIN u b USING (k) GROUP BY ROLLUP (a.h, a.g)',
	'SELECT h, sum(v) FROM t GROUP BY h',
	'SELECT a.k, b.v FROM t a JOIN u b ON b.v BETWEEN a.v AND a.v + 3',
	'SELECT count(*) FROM t WHERE EXISTS (SELECT FROM u WHERE u.k = t.k) AND g > (SELECT avg(v) FROM u WHERE u.k < t.h)',
	'SELECT count(*) FROM t a WHERE v < (SELECT avg(v) FROM u b WHERE b.k = a.k)',
	'WITH s AS MATERIALIZED (SELECT k, count(DISTINCT g) AS n FROM t GROUP BY k) SELECT count(*), sum(n) FROM s JOIN u USING (k)');
for my $place ('after', 'before')
{
	my $order = $place eq 'after' ? "gpujoin,$folder/reader.so" : "$folder/reader.so,gpujoin";
	my $node = make_node("reader_$place", 'gpujoin.aggregate = on', 'max_parallel_workers_per_gather = 0');
	$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'$order'");
	start_ready($node);
	$node->safe_psql('postgres', q{
		CREATE TABLE t AS SELECT i % 500 AS k, i % 7 AS g, i % 5 AS h, i AS v FROM generate_series(1, 5000) AS i;
		CREATE TABLE u AS SELECT i % 700 AS k, i * 3 AS v FROM generate_series(1, 3000) AS i;
		CREATE TABLE parts (k int, g int, h int, v int) PARTITION BY LIST (h);
		CREATE TABLE parts_few PARTITION OF parts FOR VALUES IN (0, 1);
		CREATE TABLE parts_more PARTITION OF parts DEFAULT;
		INSERT INTO parts TABLE t;
		ANALYZE t, u, parts;
	});
	for my $query (@queries)
	{
		my $core = $node->safe_psql('postgres', "SET gpujoin.enabled = off; SELECT * FROM ($query) s ORDER BY s");
		for my $settings ('SET gpujoin.force = on', 'SET gpujoin.startup_cost = 0')
		{
			my ($rc, $ours, $error) = $node->psql('postgres', "$settings; SELECT * FROM ($query) s ORDER BY s");
			is($rc == 0 ? $ours : $error, $core, "loaded $place us, $settings: $query");
		}
	}
	my $plan = $node->safe_psql('postgres', "SET gpujoin.force = on; EXPLAIN (COSTS OFF) SELECT a.h, count(*), sum(b.v) FROM t a LEFT JOIN u b USING (k) GROUP BY a.h");
	like($plan, qr/GPU Aggregate.*Custom Scan \(Reader\)/s, 'rows of such a node are joined and aggregated');
	$node->stop;
}
done_testing();
