# Base backups and pg_rewind find nothing of the server; a hot standby made from a backup has a server of its own and joins, before
# and after its promotion, in statements and cursors that are there when it is promoted, and until recovery cancels them.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

my $primary = make_node('primary', 'autovacuum = off', 'wal_log_hints = on', 'wal_keep_size = 1GB');    # no autovacuum, which would keep VACUUM from removing rows
start_ready($primary);

my $target = PostgreSQL::Test::Utils::tempdir();
my ($out, $err) = run_command(
	[ 'pg_basebackup', '-D', "$target/backup", '-d', $primary->connstr('postgres'), '-c', 'fast', '--no-sync' ]);
is($err, '', 'pg_basebackup says nothing');
ok(-e "$target/backup/PG_VERSION", 'and makes a backup');
is(scalar(special_files("$target/backup")), 0, 'of files alone');

$primary->backup('first');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'first', has_streaming => 1);
$standby->start;
ok(wait_until_ready($standby), 'a hot standby has a server');
isnt(server_pid($standby), server_pid($primary), 'of its own');
is($standby->safe_psql('postgres', 'SELECT pg_is_in_recovery()'), 't', 'while in recovery');

my $pid = server_pid($standby);

# Joins on the standby.
$primary->safe_psql('postgres', q{
	CREATE TABLE a AS SELECT i AS k, i % 10 AS g, 'a' || i AS t FROM generate_series(1, 30000) i;
	CREATE TABLE b AS SELECT 2 * i AS k, i % 15 AS g, 'b' || i AS t FROM generate_series(1, 30000) i;
	ANALYZE a, b});
$primary->wait_for_catchup($standby);
my $join = 'SELECT count(*), count(a.k), sum(b.g), max(a.t || b.t) FROM a FULL JOIN b ON a.k = b.k AND a.g <> b.g';
my $answer = $primary->safe_psql('postgres', "SET gpujoin.enabled = off; $join");
like($standby->safe_psql('postgres', "SET gpujoin.force = on; EXPLAIN (COSTS OFF) $join"), qr/Custom Scan \(GPU Join\)/,
	'joins are taken while in recovery');
is($standby->safe_psql('postgres', "SET gpujoin.force = on; $join"), $answer, 'and give the right rows');
is($standby->safe_psql('postgres', "SET gpujoin.force = on; SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0;
	SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET gpujoin.startup_cost = 0; SET gpujoin.encode_cost = 1; $join"), $answer, 'in parallel too');

# A join that needs rows which the primary has removed is cancelled.
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = '100ms'\n");
$standby->reload;
my $long = IPC::Run::start([ 'psql', '-XAtq', '-d', $standby->connstr('postgres'), '-c', 'SET gpujoin.force = on', '-c',
	q{SELECT count(*) FROM a JOIN b ON a.k < b.k AND a.t || b.t <> 'x'} ], '>', \my $long_out, '2>', \my $long_err);
wait_until(sub { is_joining($standby) }) or die 'no join runs';
$primary->safe_psql('postgres', 'DELETE FROM a WHERE g = 0');
$primary->safe_psql('postgres', 'VACUUM a');
$long->finish;
like($long_err, qr/canceling statement due to conflict with recovery/, 'recovery cancels a join');
ok(wait_until_idle($standby), 'which leaves nothing behind');
$primary->wait_for_catchup($standby);
$answer = $primary->safe_psql('postgres', "SET gpujoin.enabled = off; $join");

# A cursor and a prepared statement that see the promotion.
my $session = $standby->background_psql('postgres');
$session->query_safe("SET gpujoin.force = on; SET plan_cache_mode = force_generic_plan; PREPARE j AS $join");
is($session->query_safe('EXECUTE j'), $answer, 'a prepared statement');
$session->query_safe('BEGIN; DECLARE c CURSOR FOR SELECT a.k FROM a JOIN b USING (k)');
is($session->query_safe('FETCH 1 FROM c') =~ /^\d+$/, 1, 'a cursor');
$standby->promote;
is($standby->safe_psql('postgres', 'SELECT pg_is_in_recovery()'), 'f', 'promoted');
is(server_pid($standby), $pid, 'it keeps its server');
is($session->query_safe('MOVE ALL FROM c; COMMIT; EXECUTE j'), $answer, 'as do cursor and statement');
is($session->query_safe('CREATE TABLE made AS SELECT a.k FROM a JOIN b USING (k); SELECT count(*) FROM made'),
	$standby->safe_psql('postgres', 'SET gpujoin.enabled = off; SELECT count(*) FROM a JOIN b USING (k)'), 'and writes');
$session->quit;

# The primary, which has gone its own way, becomes the standby of the one that was promoted.
$primary->safe_psql('postgres', 'CREATE TABLE lost AS SELECT 1 AS one');
$primary->stop;
$standby->safe_psql('postgres', 'CHECKPOINT');
command_ok([ 'pg_rewind', '--target-pgdata', $primary->data_dir, '--source-server', $standby->connstr('postgres'), '--no-sync' ],
	'a data directory is rewound');
$primary->append_conf('postgresql.conf', 'port = ' . $primary->port . "\nprimary_conninfo = '" . $standby->connstr . "'\n");
$primary->set_standby_mode;
$primary->start;
ok(wait_until_ready($primary), 'the standby that comes of it has a server');
ok(wait_until(sub { $primary->safe_psql('postgres', "SELECT to_regclass('made') IS NOT NULL AND to_regclass('lost') IS NULL") eq 't' }), "and the other's tables");
$primary->stop;
$standby->stop;
ok(!is_alive($pid), 'which ends with it');

done_testing();
