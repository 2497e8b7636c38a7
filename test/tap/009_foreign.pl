# Foreign tables of postgres_fdw, over a loopback connection: as inputs of a GPU Join, with joins that are sent to the
# remote side, where they may be a GPU Join in turn, below an asynchronous append, and under row locks and updates, which
# have the remote join made again locally.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

my $node = make_node('foreign', 'max_connections = 50');
start_ready($node);
my ($host, $port) = ($node->host, $node->port);
# Over the server "loopback" the remote side joins as it likes, over "forced" by GPU Join. The tables are small: a session
# that costs something would have them joined wherever no GPU Join is.
$node->safe_psql('postgres', qq{
	CREATE SCHEMA far;
	CREATE TABLE far.a AS SELECT i AS k, i % 10 AS g, 'a' || i AS t FROM generate_series(1, 400) AS i;
	CREATE TABLE far.b AS SELECT i AS k, i % 15 AS g, 'b' || i AS t FROM generate_series(1, 600, 2) AS i;
	INSERT INTO far.a VALUES (NULL, 1, 'none'), (1000, NULL, NULL);
	INSERT INTO far.b VALUES (NULL, 1, 'none'), (2000, NULL, NULL);
	CREATE TABLE far.parts_1 AS SELECT * FROM far.b WHERE k < 300;
	CREATE TABLE far.parts_2 AS SELECT * FROM far.b WHERE k >= 300;
	CREATE TABLE near AS SELECT i AS k, i % 12 AS g, 'n' || i AS t FROM generate_series(1, 500, 3) AS i;
	INSERT INTO near VALUES (NULL, 2, 'none'), (3000, NULL, NULL);
	ANALYZE far.a, far.b, far.parts_1, far.parts_2, near;
	CREATE EXTENSION postgres_fdw;
	CREATE SERVER loopback FOREIGN DATA WRAPPER postgres_fdw
		OPTIONS (host '$host', port '$port', dbname 'postgres', async_capable 'true');
	CREATE SERVER forced FOREIGN DATA WRAPPER postgres_fdw
		OPTIONS (host '$host', port '$port', dbname 'postgres', async_capable 'true', use_remote_estimate 'true',
			options '-c gpujoin.force=on -c gpujoin.startup_cost=0');
	CREATE USER MAPPING FOR CURRENT_USER SERVER loopback;
	CREATE USER MAPPING FOR CURRENT_USER SERVER forced;
	CREATE FOREIGN TABLE a (k integer, g integer, t text) SERVER loopback OPTIONS (schema_name 'far');
	CREATE FOREIGN TABLE b (k integer, g integer, t text) SERVER loopback OPTIONS (schema_name 'far');
	CREATE FOREIGN TABLE fa (k integer, g integer, t text) SERVER forced OPTIONS (schema_name 'far', table_name 'a');
	CREATE FOREIGN TABLE fb (k integer, g integer, t text) SERVER forced OPTIONS (schema_name 'far', table_name 'b');
	CREATE TABLE parts (k integer, g integer, t text) PARTITION BY RANGE (k);
	CREATE FOREIGN TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (300) SERVER loopback OPTIONS (schema_name 'far');
	CREATE FOREIGN TABLE parts_2 PARTITION OF parts FOR VALUES FROM (300) TO (3000) SERVER forced OPTIONS (schema_name 'far');
	ANALYZE a, b, fa, fb, parts_1, parts_2;
});

# A query's rows, in order of their text, under settings.
sub rows_of
{
	my ($query, $settings) = @_;
	return join "\n", sort split /\n/, $node->safe_psql('postgres', "$settings; $query");
}

sub plan_of
{
	my ($query, $settings) = @_;
	return $node->safe_psql('postgres', "$settings; EXPLAIN (COSTS OFF, VERBOSE) $query");
}

my $core = 'SET gpujoin.enabled = off; SET enable_async_append = off';
my $forced = 'SET gpujoin.force = on; SET gpujoin.startup_cost = 0';
my $cheap = 'SET gpujoin.startup_cost = 0; SET enable_partitionwise_join = on';
my $parallel = "$forced; SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; "
  . 'SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET gpujoin.encode_cost = 1';

# Joined here: foreign tables with a local one, and with each other.
for my $query (
	'SELECT a.*, near.t FROM a JOIN near ON a.k = near.k',
	'SELECT a.t, near.* FROM near LEFT JOIN a ON a.k = near.k AND a.g <> near.g',
	'SELECT a.t, near.* FROM near LEFT JOIN a ON a.k = near.k AND (a.g + near.g) % 3 = 0 WHERE a.k IS NULL OR near.g > 3',
	'SELECT a, near FROM a FULL JOIN near ON a.k = near.k',
	'SELECT a.k, near.k FROM a JOIN near ON a.k BETWEEN near.k - 1 AND near.k + 1',
	'SELECT near.* FROM near WHERE EXISTS (SELECT FROM a WHERE a.k = near.k)',
	'SELECT a.* FROM a WHERE NOT EXISTS (SELECT FROM near WHERE a.k = near.k AND a.g < near.g)',
	'SELECT a.*, b.* FROM a JOIN b ON a.k = b.k',
	'SELECT a.k, b.t FROM a RIGHT JOIN b ON a.k = b.k AND a.g < b.g',
	'SELECT a.t, b.t FROM a FULL JOIN b USING (k)',
	'SELECT a.* FROM a WHERE a.k IN (SELECT b.k FROM b WHERE b.g > 3)',
	q{SELECT a.tableoid::regclass, b.tableoid::regclass, a, b FROM a JOIN b ON a.t = replace(b.t, 'b', 'a')},
	'SELECT a.k, b.g, near.t FROM a JOIN b ON a.k = b.k LEFT JOIN near ON near.k = a.k + b.g',
	'SELECT a.g, count(*), sum(b.k) FROM a JOIN b USING (k) GROUP BY a.g',
	'SELECT near.k, (SELECT count(*) FROM (SELECT FROM a JOIN b USING (k) WHERE a.g = near.g OFFSET 0) s) FROM near WHERE near.k < 30',
	'SELECT near.k, s.* FROM near, LATERAL (SELECT a.t, b.g FROM a JOIN b USING (k) WHERE b.g = near.g OFFSET 0) s WHERE near.k < 30',
	'SELECT parts.*, near.t FROM parts JOIN near USING (k)',
	'SELECT parts, near.k FROM parts FULL JOIN near USING (k)',
	'SELECT a.t, parts.t, parts.tableoid::regclass FROM a LEFT JOIN parts ON a.k = parts.k AND a.g <= parts.g')
{
	like(plan_of($query, $forced), qr/Custom Scan \(GPU Join\)/, "taken: $query");
	my $expected = rows_of($query, $core);
	is_deeply([ map { rows_of($query, $_) } $forced, $parallel, $cheap ], [ ($expected) x 3 ],
		'the same rows, forced, beside parallel plans, and by cost');
}

# An asynchronous append feeds either side of a join.
for my $query ('SELECT near.t, parts.t FROM near LEFT JOIN parts USING (k)', 'SELECT near.t, parts.t FROM parts LEFT JOIN near USING (k)')
{
	like(plan_of($query, $forced), qr/GPU Join.*Append.*Async Foreign Scan.*Async Foreign Scan/s, "asynchronous: $query");
	is(rows_of($query, $forced), rows_of($query, $core), 'the same rows');
}

# Joined by a GPU Join of the remote side; and an asynchronous append of such joins.
for my $query (
	'SELECT fa.*, fb.* FROM fa JOIN fb ON fa.k = fb.k',
	'SELECT fa.k, fb.t FROM fa LEFT JOIN fb ON fa.k = fb.k AND fa.g < fb.g',
	'SELECT fa, fb FROM fa FULL JOIN fb ON fa.k = fb.k',
	'SELECT fa.g, count(*), sum(fb.k) FROM fa JOIN fb USING (k) GROUP BY fa.g',
	'SELECT fa.t, near.t FROM fa JOIN fb USING (k) JOIN near ON near.k = fa.k + 1',
	'SELECT fa.t, fb.t FROM fa JOIN fb USING (k) WHERE fa.g = 3 UNION ALL SELECT x.t, y.t FROM fa x JOIN fb y USING (k)')
{
	my $expected = rows_of($query =~ s/\bf([ab])\b/$1/gr, $core);
	like(plan_of($query, 'SET gpujoin.enabled = off'), qr/Remote SQL: .* JOIN /, "sent away: $query");
	my $before = $node->safe_psql('postgres', 'SELECT joins FROM gpujoin_statistics()');
	is(rows_of($query, 'SET gpujoin.enabled = off'), $expected, 'the same rows, joined there');
	ok(wait_until(sub { $node->safe_psql('postgres', 'SELECT joins FROM gpujoin_statistics()') > $before }), 'by a GPU Join');
	is(rows_of($query, $forced), $expected, 'and joined here');
}

# Statements that write to foreign tables and to local ones, undone after each: what they return, and what they leave.
sub written
{
	my ($statement, $settings) = @_;
	return rows_of("BEGIN; $statement RETURNING *; SELECT 'a', a FROM a; SELECT 'near', near FROM near; SELECT 'parts', parts FROM parts; ROLLBACK", $settings);
}
for my $statement (
	'UPDATE a SET t = near.t FROM near WHERE a.k = near.k',
	'UPDATE near SET t = a.t, g = b.g FROM a JOIN b USING (k) WHERE near.k = a.k',
	'DELETE FROM a USING near WHERE a.k BETWEEN near.k - 1 AND near.k AND near.g <> 2',
	'DELETE FROM near WHERE EXISTS (SELECT FROM a JOIN b USING (k) WHERE near.k = a.k)',
	'UPDATE a SET t = b.t FROM b WHERE a.k = b.k',
	'UPDATE parts SET t = near.t FROM near WHERE parts.k = near.k',
	'DELETE FROM parts WHERE k IN (SELECT near.k FROM near)',
	'INSERT INTO near SELECT a.k, b.g, a.t FROM a FULL JOIN b USING (k)')
{
	like(plan_of($statement, $forced), qr/Custom Scan \(GPU Join\)/, "taken: $statement");
	is(written($statement, $forced), written($statement, $core), 'the same rows');
}

# A row that changes while it is waited for is joined again: with the rows of foreign tables as they were, also where
# the remote side has joined them.
sub locking
{
	my ($x, $y) = @_;
	return "SELECT near, $x, $y FROM near JOIN ($x JOIN $y ON $x.k = $y.k) ON near.k = $x.k WHERE near.k < 20 FOR UPDATE OF near";
}
sub after_change
{
	my ($query, $settings) = @_;
	my ($writer, $reader) = map { $node->background_psql('postgres') } 1 .. 2;
	$writer->query_safe(q{BEGIN; UPDATE near SET g = 100 WHERE t = 'n7'; UPDATE near SET k = 7 WHERE t = 'n13'});
	$reader->query_until(qr/started/, "$settings;\n\\echo started\n$query;\n");
	wait_until(sub { $node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") })
	  or die 'nobody waits';
	$writer->query_safe('COMMIT');
	my $rows = join "\n", sort split /\n/, $reader->query('SELECT');
	$_->quit for $writer, $reader;
	$node->safe_psql('postgres', q{UPDATE near SET g = 7 WHERE t = 'n7'; UPDATE near SET k = 13 WHERE t = 'n13'});
	return $rows;
}
my $expected = after_change(locking('a', 'b'), $core);
like($expected, qr/n1\).*n19\).*\(7,100,n7\)/s, 'a row that has changed comes as it is now, with core');
unlike($expected, qr/n13\)/, 'and one that has lost its partner does not');
is(after_change(locking('a', 'b'), $forced), $expected, 'with GPU Join');
like(plan_of(locking('fa', 'fb'), 'SELECT'), qr/Relations: \(public.fa\) INNER JOIN \(public.fb\)/, 'a locking join is sent away');
is(after_change(locking('fa', 'fb'), 'SELECT'), $expected, 'the same rows');
unlike(plan_of(locking('fa', 'fb'), $forced), qr/Relations:/, 'and kept here');
is(after_change(locking('fa', 'fb'), $forced), $expected, 'the same rows');

# A remote query that fails, in the middle of a join.
my ($rc, $out, $err) = $node->psql('postgres', "$forced; ALTER FOREIGN TABLE b OPTIONS (ADD table_name 'missing'); "
	. 'SELECT count(*) FROM near LEFT JOIN a USING (k) LEFT JOIN b USING (k)');
like($err, qr/relation "far.missing" does not exist/, 'a remote error ends the query');
ok(wait_until_idle($node), 'no session is left');
unlike(slurp_file($node->logfile), qr/terminated by signal/, 'and no process crashed');
$node->stop;
done_testing();
