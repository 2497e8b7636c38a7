# Another extension has registered a plan node of our node's name: plans would resolve to its methods. So gpujoin does
# not load, while preloading nor in a session, and queries go on with core's plans.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

# Such an extension, made on the spot.
my $folder = PostgreSQL::Test::Utils::tempdir();
append_to_file("$folder/namesake.c", <<'C');
#include "postgres.h"
#include "fmgr.h"
#include "nodes/extensible.h"
PG_MODULE_MAGIC;
extern __attribute__((visibility("default"))) void _PG_init(void);
static Node *
create_state(CustomScan *plan)
{
	elog(ERROR, "the namesake's node was run");
}
static const CustomScanMethods methods = {"GPU Join", create_state};
void
_PG_init(void)
{
	RegisterCustomScanMethods(&methods);
}
C
my $pg_config = $ENV{PG_CONFIG} // 'pg_config';
chomp(my $include = `$pg_config --includedir-server`);
system("gcc -shared -fPIC -I'$include' -o '$folder/namesake.so' '$folder/namesake.c' 2>/dev/null") == 0
  or plan skip_all => 'needs a C compiler';
my $taken = qr/another extension has registered a plan node named "GPU Join"/;

# Preloaded before gpujoin.
my $node = make_node('namesake');
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'$folder/namesake.so,gpujoin'");
is($node->start(fail_ok => 1), 0, 'preloaded before gpujoin, it keeps the cluster from starting');
like(slurp_file($node->logfile), qr/FATAL:  $taken.*HINT:  Remove that extension or gpujoin from shared_preload_libraries/s, 'with a reason and a hint');

# Loaded in a session, before gpujoin.
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
$node->start;
$node->safe_psql('postgres', q{
	CREATE TABLE t AS SELECT i AS k FROM generate_series(1, 20000) AS i;
	ALTER TABLE t SET (parallel_workers = 2);
	ANALYZE t;
});
my $count = 'SELECT count(*) FROM t JOIN t u ON t.k = u.k + 1';
my $parallel = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0';
my ($rc, $out, $err) = $node->psql('postgres', qq{
	LOAD '$folder/namesake.so';
	LOAD 'gpujoin';
	$count;
	LOAD 'gpujoin';
	$count;
	$parallel;
	EXPLAIN (COSTS OFF) $count;
	$count;
}, on_error_stop => 0);
is(() = $err =~ /ERROR:  $taken/g, 2, 'loaded in a session before gpujoin, it makes each LOAD of that an error');
like($out, qr/Workers Planned: 2.*Parallel/s, 'there is a parallel plan');
unlike($out, qr/GPU Join/, 'of core\'s nodes');
is(() = $out =~ /^19999$/mg, 3, 'queries go on, in parallel workers too');
unlike($err, qr/namesake/, 'and nobody runs the other node');
is($node->safe_psql('postgres', $count), '19999', 'other sessions go on as well');

# A session that loads both as it starts.
($rc, $out, $err) = $node->psql('postgres', $count,
	connstr => $node->connstr('postgres') . " options='-c session_preload_libraries=$folder/namesake.so,gpujoin'");
isnt($rc, 0, 'a session that loads both as it starts does not start');
like($err, $taken, 'with the same reason');
unlike(slurp_file($node->logfile), qr/terminated by signal/, 'and no process crashed');
$node->stop;
done_testing();
