# Several devices for one join: two CPU engines stand in for two GPUs. Every join that can be is run by both, with the same
# rows as core's; those whose build rows come out by whether they have matched run on one.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

my $node = make_node('several', 'autovacuum = off', 'gpujoin.aggregate = on', 'gpujoin.keep_memory = 256MB', 'gpujoin.keep_in_background = off', "gpujoin.device = ' cpu, CPU'");
start_ready($node);
is($node->safe_psql('postgres', "SELECT count(*), min(engine), max(engine) FROM gpujoin_devices WHERE state = 'ready'"), '2|cpu|cpu', 'there are two devices');

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE fact AS SELECT i AS id, i % 1000 AS d, i % 7777 AS e, (i % 300)::numeric(10,2) / 4 AS amount, 't' || i % 11 AS t, repeat('x', 40) AS pad FROM generate_series(1, 900000) i;
CREATE TABLE dim AS SELECT i AS d, i % 13 AS g, 'name ' || i % 5 AS name FROM generate_series(0, 899) i;
CREATE TABLE other AS SELECT i * 3 AS e, i AS v FROM generate_series(0, 3000) i UNION ALL SELECT NULL, -1;
CREATE TABLE empty (d int, e int);
VACUUM ANALYZE fact, dim, other, empty;
SQL

my $server = 'SET gpujoin.force = on; SET max_parallel_workers_per_gather = 0;';
sub rows_of
{
	my ($settings, $query) = @_;
	return $node->safe_psql('postgres', "$settings SELECT count(*), sum(hashtextextended(q::text, 1)::numeric) FROM ($query) AS q");
}
sub plan_of { return $node->safe_psql('postgres', "$server EXPLAIN (ANALYZE, VERBOSE) $_[0]"); }

my %queries = (
	'groups behind a chain' => 'SELECT g, name, count(*), sum(amount), min(v), avg(id) FROM fact JOIN dim USING (d) JOIN other USING (e) GROUP BY g, name',
	'groups of a table' => 'SELECT t, count(*), sum(amount) FROM fact WHERE id % 3 = 1 GROUP BY t',
	'many groups' => 'SELECT id, count(*), sum(amount) FROM fact GROUP BY id',
	'no group keys' => 'SELECT count(*), sum(amount), max(v) FROM fact LEFT JOIN other USING (e)',
	'no rows' => 'SELECT count(*), sum(id) FROM fact JOIN empty USING (d)',
	'groups of some groups' => 'SELECT d, count(*) FROM fact JOIN dim USING (d) GROUP BY d HAVING sum(amount) > 33000',
	'distinct values' => 'SELECT g, count(DISTINCT e) FROM fact JOIN dim USING (d) GROUP BY g',
	'inner join' => 'SELECT f.id, f.t, dim.name FROM fact f JOIN dim USING (d) WHERE f.e < 900',
	'left join' => 'SELECT f.id, f.t, v FROM fact f LEFT JOIN other o ON o.e = f.e AND o.v > 10 WHERE f.d < 100',
	'semijoin' => 'SELECT id FROM fact f WHERE EXISTS (SELECT FROM other o WHERE o.e = f.e)',
	'antijoin' => 'SELECT id FROM fact f WHERE NOT EXISTS (SELECT FROM other o WHERE o.e = f.e)',
	'full join' => 'SELECT f.id, o.v FROM fact f FULL JOIN other o ON o.e = f.e',
	'right join' => 'SELECT f.id, o.v FROM (SELECT * FROM fact WHERE id < 5000) f RIGHT JOIN other o ON o.e = f.e',
	'band join' => 'SELECT a.d, b.e FROM dim a JOIN other b ON b.v BETWEEN a.d - 3 AND a.d + 2',
	'nested loop' => 'SELECT count(*) FROM dim a JOIN other b ON b.v <> a.d AND b.e <> a.g',
	'a residual condition' => "SELECT f.id, dim.name FROM fact f JOIN dim ON dim.d = f.d AND f.t || dim.name LIKE '%1name 3'",
);
my $core = 'SET gpujoin.enabled = off;';
my %expected = map { $_ => rows_of($core, $queries{$_}) } keys %queries;
for my $kept (0, 1)
{
	my $how = $kept ? 'kept' : 'read';
	is(rows_of($server, $queries{$_}), $expected{$_}, "$_, $how: the rows are core's") for sort keys %queries;
	$node->safe_psql('postgres', "SELECT gpujoin_keep('fact')") if !$kept;
}
is(rows_of('SET gpujoin.force = on; SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;', $queries{$_}),
	$expected{$_}, "$_, with workers: the rows are core's") for sort keys %queries;

my $plan = plan_of($queries{'groups behind a chain'});
like($plan, qr/Device: 2 CPU engines: /, 'a chain runs on both devices');
like($plan, qr/Kept: (\d+) of \g1 chunks/, 'with kept rows');
my ($one, $two) = $plan =~ /Shares: rows=(\d+) [\d.]+ ms, rows=(\d+) [\d.]+ ms\n/;
ok($one > 0 && $two > 0 && $one + $two == 900000, 'of which each has a share');
like($node->safe_psql('postgres', "$server EXPLAIN (ANALYZE, FORMAT JSON) $queries{'groups behind a chain'}"),
	qr/"Shares": \[\s*\{\s*"Rows": \d+,\s*"Time": [\d.]+\s*\},\s*\{/, 'in every format');
$plan = plan_of($queries{'full join'});
like($plan, qr/Device: CPU: /, 'a full join runs on one device');
unlike($plan, qr/Shares/, 'which has no shares');

# A rescan begins anew on both.
my $rescan = 'SELECT dim.d, s.n, s.a FROM (SELECT * FROM dim WHERE d < 20) dim, LATERAL (SELECT count(*) AS n, sum(v) AS a FROM fact f JOIN other o USING (e) WHERE f.id % 20 = dim.d) s';
is(rows_of($server, $rescan), rows_of($core, $rescan), "rescans give core's rows");

# With little memory what is replicated moves to files like any other join.
$node->append_conf('postgresql.conf', 'gpujoin.host_memory = 64MB');
$node->restart;
ok(wait_until_ready($node), 'the server is ready again');
my $large = 'SELECT a.id, b.pad FROM fact a JOIN fact b ON a.id = b.id';
is(rows_of($server, $large), rows_of($core, $large), "a build side that does not fit gives core's rows");

$node->stop;
done_testing();
