# gpujoin.max_join_memory, set for a role: its joins take no more, and go through temporary files where they need it; it may
# not change that; others' joins take what they like.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

my $node = make_node('join_memory', "gpujoin.host_memory = '512MB'", 'max_parallel_workers_per_gather = 0', 'work_mem = 1GB',
	'parallel_setup_cost = 0', 'parallel_tuple_cost = 0', 'min_parallel_table_scan_size = 0');
start_ready($node);
$node->safe_psql('postgres', q{
	CREATE TABLE big AS SELECT g AS k, md5(g::text) AS t FROM generate_series(1, 300000) g;
	VACUUM ANALYZE big;
	CREATE ROLE small LOGIN; CREATE ROLE other LOGIN; GRANT SELECT ON big TO small, other;
	ALTER ROLE small SET gpujoin.max_join_memory = '4MB'});
my $join = 'SELECT count(*), max(a.t || b.t) FROM big a JOIN big b USING (k)';
my $rows = '300000|' . $node->safe_psql('postgres', 'SELECT max(t || t) FROM big');

# As a role: what SQL gives, or the error.
sub as_role
{
	my ($role, $sql) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', $sql, extra_params => [ '-U', $role ]);
	return $out . $err;
}

sub partitions
{
	my ($role, $settings) = @_;
	my $plan = as_role($role, "SET gpujoin.force = on; $settings EXPLAIN (ANALYZE) $join");
	like($plan, qr/GPU Join/, "$role joins") or diag($plan);
	my ($peak) = $plan =~ /Peak Memory: (\d+) kB/;
	return ($plan =~ /Partitions: (\d+)/ ? $1 : 0, $peak);
}

is(as_role('small', 'SHOW gpujoin.max_join_memory'), '4MB', 'a role has a limit of its own');
is(as_role('small', "SET gpujoin.force = on; $join"), $rows, 'its joins give the rows');
my ($partitions, $peak) = partitions('small', '');
cmp_ok($partitions, '>', 1, "in partitions ($partitions)");
cmp_ok($peak // 1e9, '<=', 4 * 1024, 'that take no more memory');
($partitions, $peak) = partitions('other', '');
is($partitions, 0, 'those of another role need none');
cmp_ok($peak // 0, '>', 4 * 1024, 'and take more');
($partitions) = partitions('small', 'SET max_parallel_workers_per_gather = 2;');
cmp_ok($partitions, '>', 1, "with workers, too ($partitions)");
is(as_role('small', "SET gpujoin.force = on; SET max_parallel_workers_per_gather = 2; $join"), $rows, 'and the rows are right');
is(as_role('small', "SET gpujoin.force = on; SELECT count(*) FROM big a JOIN big b USING (k) JOIN big c USING (k)"), '300000', 'so are those of a chain');

like(as_role('small', $_), qr/ERROR:  permission denied/, "$_ is refused")
  for ('SET gpujoin.max_join_memory = 0', "ALTER ROLE small SET gpujoin.max_join_memory = '1GB'");
like(as_role('small', 'ALTER ROLE small RESET gpujoin.max_join_memory'), qr/ERROR:  permission denied|^$/, 'nor can it take the limit away');
is(as_role('small', 'SHOW gpujoin.max_join_memory'), '4MB', 'so that it stays');
my ($rc, $out, $err) = $node->psql('postgres', "ALTER ROLE small SET gpujoin.max_join_memory = '-1MB'");
like($err, qr/ERROR:.*outside the valid range/, 'it is no negative number');
is($node->safe_psql('postgres', "ALTER ROLE small IN DATABASE postgres SET gpujoin.max_join_memory = '8MB'") . as_role('small', 'SHOW gpujoin.max_join_memory'),
	'8MB', 'there may be another limit in a database');

# The planner knows.
my $why = q{SET temp_file_limit = '1MB'; SELECT reason FROM gpujoin_why('SELECT count(*) FROM big a JOIN big b USING (k)') WHERE kind = 'Inner Join'};
$node->safe_psql('postgres', "GRANT SET ON PARAMETER temp_file_limit TO $_") for ('small', 'other');
unlike(as_role('other', $why), qr/more than a join may take/, 'the planner does not mind where there is no limit');
like(as_role('small', $why), qr/more than a join may take/, 'and leaves larger joins to core where there is one, and they may not be written');
is($node->safe_psql('postgres', 'SELECT count(*) FROM gpujoin_statistics() WHERE failed = 0'), '1', 'nothing has failed');

# Where a parallel join gets no shared memory its leader is alone, and partitions it all the same. Segments are used up by
# other parts of the query.
$node->append_conf('postgresql.conf', "$_\n") for ('max_connections = 10', 'max_worker_processes = 8', 'max_wal_senders = 0', 'max_parallel_workers_per_gather = 1',
	'gpujoin.startup_cost = 0', 'gpujoin.encode_cost = 1', 'enable_parallel_append = off', 'jit = off');
$node->restart;
wait_until_ready($node) or die 'gpujoin is not ready';
$node->safe_psql('postgres', 'CREATE TABLE one AS SELECT i FROM generate_series(1, 3000) i; ANALYZE one');
my $others = join ' UNION ALL ', ('SELECT count(*), NULL FROM one') x 400;
my $after = "SET gpujoin.max_join_memory = '4MB'; SET gpujoin.force = on;";
my $plan = $node->safe_psql('postgres', "$after EXPLAIN (ANALYZE, BUFFERS OFF) $others UNION ALL $join");
like($plan, qr/Workers Launched: 0\n[^\n]*\n[^\n]*Parallel Custom Scan \(GPU Join\).*Partitions: (?!1\b)\d+/s, 'a parallel join without shared memory is partitioned')
  or diag(substr($plan, 0, 1200), substr($plan, -3000));
like($node->safe_psql('postgres', "$after $others UNION ALL $join"), qr/^\Q$rows\E$/m, 'and gives the rows');
sub files { return join ' ', grep { !/^\.+$/ } slurp_dir($node->data_dir . '/base/pgsql_tmp'); }
is(files(), '', 'and leaves no files');
($rc, $out, $err) = $node->psql('postgres', "$after $others UNION ALL SELECT count(*), max((1 / (a.k - 150000))::text) FROM big a JOIN big b USING (k)");
like($err, qr/division by zero/, 'or fails as it should');
is(files(), '', 'nor does that');
$node->stop;

done_testing();
