# Blocks and memory used up by many nested joins in many sessions at once: each query gives the right rows, none waits for
# another for ever, and all is given back. And many connections that have joined once and idle.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Fcntl qw(:flock);
use Time::HiRes qw(sleep time);
use GpuJoinTest;

my $rows = 30_000;

# Eight joins, one above the other, each of which streams into the next (as a chain they would be one).
sub nested_joins
{
	my $from = 't0';
	$from .= " JOIN t$_ ON t$_.k = t0.k" for (1 .. 8);
	my $longest = join ', ', map { "max(t$_.t)" } (1 .. 8);
	return "SELECT count(*), sum(t0.v + t8.v), greatest($longest) FROM $from";
}
my $answer = join '|', $rows, $rows * ($rows + 1), 'row 9999';

sub fill
{
	my ($node) = @_;
	$node->safe_psql('postgres', "CREATE TABLE t$_ AS SELECT g AS k, g AS v, 'row ' || g AS t FROM generate_series(1, $rows) g; ANALYZE t$_")
	  for (0 .. 8);
	$node->safe_psql('postgres', q{
		ALTER DATABASE postgres SET gpujoin.force = on;
		ALTER DATABASE postgres SET gpujoin.chain = off;
		ALTER DATABASE postgres SET max_parallel_workers_per_gather = 0;
		ALTER DATABASE postgres SET statement_timeout = '600s'});
}

# Runs the statements in that many sessions at once; returns their outputs.
sub in_sessions
{
	my ($node, $sessions, $sql) = @_;
	my @runs;
	for (1 .. $sessions)
	{
		my ($in, $out, $err) = ($sql, '', '');
		push @runs, { out => \$out, err => \$err, run => IPC::Run::start(
			[ 'psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-d', $node->connstr('postgres') ],
			'<', \$in, '>', \$out, '2>', \$err) };
	}
	$_->{run}->finish for @runs;
	return map { ${ $_->{out} } . ${ $_->{err} } } @runs;
}

# With eight blocks, a query of eight joins cannot have four pinned blocks for each of them; small ones must do.
my $node = make_node('blocks', "gpujoin.staging_memory = '32MB'", 'max_connections = 150');
start_ready($node);
fill($node);
my $join = nested_joins();
my $plan = $node->safe_psql('postgres', "EXPLAIN (COSTS OFF) $join");
is(scalar(() = $plan =~ /GPU Join/g), 8, 'eight joins are nested');
is($node->safe_psql('postgres', $join), $answer, 'a query with more joins than pinned blocks gives the right rows');
my $begin = time;
my @outputs = in_sessions($node, 12, "$join;\n" x 3);
is(scalar(grep { $_ eq "$answer\n" x 3 } @outputs), 12, 'twelve sessions at once, three times each, do too')
  or diag(@outputs);
note(sprintf 'in %.1f s', time - $begin);
ok(wait_until_idle($node), 'and all blocks are given back');

# A hundred connections that have joined keep nothing open. They stay until we give up a lock.
my $server = server_pid($node);
sub sockets_of_server { return scalar grep { defined && /^socket:/ } map { readlink("/proc/$server/fd/$_") } slurp_dir("/proc/$server/fd") }
my ($script, $lock) = map { $node->basedir . "/$_" } ('idle.sql', 'stay');
append_to_file($script, "SELECT count(*) FROM t0 JOIN t1 USING (k);\n\\shell flock --shared $lock true\n");
open(my $stay, '>', $lock) or die;
flock($stay, LOCK_EX) or die;
my $bench = IPC::Run::start([ 'pgbench', '-n', '-c', '100', '-j', '100', '-t', '1', '-f', $script, '-d',
	$node->connstr('postgres') ], '>', \my $bench_out, '2>', \my $bench_err);
my $idle_backends = "SELECT pid FROM pg_stat_activity WHERE state = 'idle' AND query LIKE 'SELECT count(*) FROM t0%'";
ok(wait_until(sub { $node->safe_psql('postgres', "SELECT count(*) FROM ($idle_backends) s") eq '100' }),
	'a hundred connections have joined and idle');
my $held = 0;
for my $pid (split /\n/, $node->safe_psql('postgres', $idle_backends))
{
	$held += grep { defined && /memfd:gpujoin/ } map { readlink("/proc/$pid/fd/$_") } slurp_dir("/proc/$pid/fd");
}
is($held, 0, 'they hold no descriptor of the shared memory');
ok(wait_until(sub { sockets_of_server() == 2 }), 'nor the server a connection, but that of the supervisor and the socket it listens on');
is($node->safe_psql('postgres', $join), $answer, 'and others join meanwhile');
close $stay;
$bench->finish;
is($?, 0, 'all of them end well') or diag($bench_err);
$node->stop;

# Too little memory for all of them: each has its minimum, and what does not fit into that goes through temporary files.
$node = make_node('memory', "gpujoin.staging_memory = '32MB'", "gpujoin.host_memory = '16MB'", 'max_connections = 50');
start_ready($node);
fill($node);
is($node->safe_psql('postgres', $join), $answer, 'one query fits into little memory');
is($node->safe_psql('postgres', "SET gpujoin.chain = on; $join"), $answer, 'as one chain too');
my ($right, $other) = (0, '');
for my $output (in_sessions($node, 16, "$join;\n" x 3))
{
	for my $line (grep { /^\d|ERROR|FATAL|lost/ } split /\n/, $output)
	{
		if ($line eq $answer) { $right++; } else { $other .= "$line\n"; }
	}
}
is($other, '', 'sixteen sessions at once get no error');
is($right, 48, 'and the right rows');
ok(wait_until_idle($node), 'everything is given back');
is($node->safe_psql('postgres', $join), $answer, 'and the next one succeeds');

# Cursors that keep their build sides, more of them than there is memory for: they take it from nobody.
my $cursors = "\\set ON_ERROR_ROLLBACK on\nBEGIN;\n";
$cursors .= "DECLARE c$_ CURSOR FOR SELECT t0.t, t1.t FROM t0 JOIN t1 USING (k);\nFETCH 1 FROM c$_;\n" for (1 .. 60);
my ($held_open) = in_sessions($node, 1, "$cursors\n$join;\nFETCH 1 FROM c1;\nCOMMIT;\n");
my $fetched = () = $held_open =~ /^row /mg;
is($fetched, 61, 'sixty cursors with build sides are open at once');
like($held_open, qr/^\Q$answer\E$/m, 'and another join has room beside them');
ok(wait_until_idle($node), 'all is given back in the end');

# What is not expected to fit is planned all the same, where an equality divides it, and otherwise.
$node->safe_psql('postgres', q{CREATE TABLE large AS SELECT g AS k, repeat(g::text, 5) AS t FROM generate_series(1, 600000) g; ANALYZE large});
sub planned
{
	my ($force, $x, $y, $condition) = @_;
	return $node->safe_psql('postgres', "SET gpujoin.force = $force; SET enable_hashjoin = off; SET enable_mergejoin = off;
		SET enable_nestloop = off; EXPLAIN (COSTS OFF) SELECT max(x.t), max(y.t) FROM $x x JOIN $y y $condition");
}
my $near = 'ON x.k BETWEEN y.k AND y.k + 1';
like(planned('off', 't0', 't1', 'USING (k)'), qr/GPU Join/, 'a join that fits is planned');
like(planned('off', 'large', 'large', 'USING (k)'), qr/GPU Join/, 'one that is not expected to fit is, where it can be divided');
like(planned('off', 't0', 't1', $near), qr/GPU Join/, 'a range that fits is planned');
like(planned('off', 'large', 'large', $near), qr/GPU Join/, 'and so is one that is not expected to fit');

# Build sides that do not fit are partitioned into temporary files, and where keys do not tell rows apart cut into pieces
# (of which there is more in 019_pieces.pl): the rows are core's.
$node->safe_psql('postgres', q{
	CREATE TABLE wide AS SELECT g AS id, CASE WHEN g % 40 <> 0 THEN g * 7919::bigint % 300000 END AS k, g % 13 AS n,
		repeat(md5(g::text), 3) AS t FROM generate_series(1, 250000) g;
	CREATE TABLE hot AS SELECT id, CASE WHEN id < 200000 THEN 7 ELSE k END AS k, n, t FROM wide;
	CREATE TABLE few AS SELECT * FROM wide WHERE k < 30;
	CREATE FUNCTION hidden_hot() RETURNS SETOF hot LANGUAGE plpgsql STABLE ROWS 2 AS $$ BEGIN RETURN QUERY SELECT * FROM hot; END $$;
	CREATE FUNCTION hidden_wide() RETURNS SETOF wide LANGUAGE plpgsql STABLE ROWS 2 AS $$ BEGIN RETURN QUERY SELECT * FROM wide; END $$;
	CREATE SEQUENCE calls;
	CREATE FUNCTION called(int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$ BEGIN PERFORM nextval('calls'); RETURN $1; END $$;
	ANALYZE wide, hot, few});
# What is thought to have two rows is the build side of any join. The count of partitions, and of the rows with their hash, by gpujoin and by core.
sub partitioned
{
	my ($query, $settings) = @_;
	my $hashed = "SELECT count(*), sum(hashtextextended(s::text, 0)::numeric) FROM ($query) s";
	my $plan = $node->safe_psql('postgres', "$settings; EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) $query");
	my $rows = $node->safe_psql('postgres', "$settings; $hashed");
	my $core = $settings =~ /enable_nestloop/ ? 'SET gpujoin.enabled = off; SET enable_nestloop = off' : 'SET gpujoin.enabled = off';
	return ($plan =~ /Partitions: (\d+)/ ? $1 : 0, $rows eq $node->safe_psql('postgres', "$core; $hashed") ? 'same' : $rows, $plan);
}
my $unexpected = q{(SELECT g AS k, repeat(g::text, 20) AS t FROM generate_series(1, 1000000) g OFFSET 0)};
for (['a join of which few rows were expected', "SELECT max(x.t), max(y.t) FROM $unexpected x JOIN $unexpected y USING (k)"],
	['an inner join', 'SELECT a.id, a.t, b.id, b.t FROM wide a JOIN wide b USING (k)'],
	['a left join with a residual', q{SELECT a.id, b.id, b.t FROM wide a LEFT JOIN wide b ON a.k = b.k AND length(a.t || b.n) > 97 AND a.n < b.n}],
	['a full join', 'SELECT a.id, a.t, b.id, b.t FROM wide a FULL JOIN (SELECT k + 1000 AS k, id, t FROM wide) b USING (k)'],
	['a semijoin', 'SELECT a.id FROM wide a WHERE EXISTS (SELECT FROM wide b WHERE b.k = a.n AND b.t > a.t)'],
	['an antijoin', 'SELECT a.id, a.t FROM wide a WHERE NOT EXISTS (SELECT FROM wide b WHERE b.k = a.k AND b.t <> a.t)'],
	['one hot key', 'SELECT a.id, b.id, b.t FROM few a JOIN hidden_hot() b USING (k)'],
	['a range', 'SELECT a.id, b.t FROM few a RIGHT JOIN hidden_wide() b ON a.id < b.id AND a.id + 3 > b.id'],
	['a join in a subquery that is run again', 'SELECT x, (SELECT sum(a.id) FROM wide a JOIN wide b USING (k) WHERE a.n <> x AND b.t < a.t) FROM generate_series(1, 3) x'],
	['functions with side effects, each called once', q{SELECT a.id, b.t FROM few a JOIN (SELECT called(id) AS id, k, t FROM hidden_wide() OFFSET 0) b USING (k)}],
	['build keys that are NULL', 'SELECT a.id, b.t FROM few a LEFT JOIN (SELECT nullif(k, k) AS k, t FROM hidden_wide() OFFSET 0) b ON a.k = b.k'],
	['a chain', 'SELECT a.id, a.t, b.t, c.t FROM wide a JOIN wide b ON a.k = b.k LEFT JOIN few c ON c.k = a.n', 'SET gpujoin.chain = on'],
	['a chain with two build sides that do not fit', 'SELECT a.id, b.t, c.t FROM wide a JOIN hidden_wide() b ON a.k = b.k JOIN hidden_wide() c ON a.id = c.id', 'SET gpujoin.chain = on; SET enable_nestloop = off'],
	['groups', 'SELECT a.n, count(*), sum(b.id), min(b.k), avg(a.n) FROM wide a JOIN wide b ON a.k = b.k AND a.t <= b.t GROUP BY a.n', 'SET gpujoin.chain = on'])
{
	my ($name, $query, $settings) = @$_;
	my ($partitions, $rows) = partitioned($query, $settings // 'SET gpujoin.chain = off');
	is($rows, 'same', "$name: the rows are core's");
	cmp_ok($partitions, '>', 1, "and came from $partitions partitions");
}
# Each statement called the function for each of the rows: EXPLAIN ANALYZE, and one with each kind of join.
is($node->safe_psql('postgres', 'SELECT last_value FROM calls'), 3 * 250_000, 'no function was called twice');

# In parallel: each participant divides its share of both inputs. The same scans are read twice, of all kinds that there are.
my $parallel = 'SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET max_parallel_workers_per_gather = 2';
$node->safe_psql('postgres', 'CREATE INDEX ON wide (id); ANALYZE wide');
my $half = '(SELECT * FROM wide WHERE id > 60000)';
for (['an inner join', 'SELECT a.id, a.t, b.id, b.t FROM wide a JOIN wide b USING (k)'],
	['a left join with a residual', q{SELECT a.id, b.id, b.t FROM wide a LEFT JOIN wide b ON a.k = b.k AND length(a.t || b.n) > 97 AND a.n < b.n}],
	['a full join', 'SELECT a.id, a.t, b.id, b.t FROM wide a FULL JOIN (SELECT k + 1000 AS k, id, t FROM wide) b USING (k)'],
	['an antijoin', 'SELECT a.id, a.t FROM wide a WHERE NOT EXISTS (SELECT FROM wide b WHERE b.k = a.k AND b.t <> a.t)'],
	['an append', 'SELECT a.id, a.t, b.t FROM wide a JOIN (SELECT * FROM wide UNION ALL SELECT * FROM few) b USING (k)'],
	['an index scan', "SELECT a.id, a.t, b.t FROM $half a JOIN $half b USING (k)", 'SET enable_seqscan = off; SET enable_bitmapscan = off'],
	['a bitmap scan', "SELECT a.id, a.t, b.t FROM $half a JOIN $half b USING (k)", 'SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off'],
	['a range', 'SELECT a.id, a.t, b.t FROM wide a JOIN (SELECT * FROM wide UNION ALL SELECT * FROM wide) b ON a.id < b.id AND a.id + 2 > b.id'],
	['a join of a join', 'SELECT a.id, b.t, c.t FROM wide a JOIN wide b ON a.k = b.k JOIN wide c ON c.id = a.id WHERE a.id < 200000'],
	['a chain', 'SELECT a.id, b.t, c.t FROM wide a JOIN wide b ON a.k = b.k JOIN wide c ON c.id = a.id WHERE a.id < 200000', 'SET gpujoin.chain = on'],
	['groups', 'SELECT a.n, count(*), sum(b.id), min(b.k), avg(a.n) FROM wide a JOIN wide b ON a.k = b.k AND a.t <= b.t GROUP BY a.n', 'SET gpujoin.chain = on'],
	['a limit', 'SELECT count(x || y) FROM (SELECT a.t AS x, b.t AS y FROM wide a JOIN wide b USING (k) LIMIT 1000) s'],
	['a parallel query that is run again', 'SELECT x, (SELECT sum(a.id) FROM wide a JOIN wide b USING (k) WHERE a.n <> x AND b.t < a.t) FROM generate_series(1, 3) x'])
{
	my ($name, $query, $settings) = @$_;
	my ($partitions, $rows, $plan) = partitioned($query, join '; ', $parallel, $settings // 'SET gpujoin.chain = off');
	is($rows, 'same', "in parallel, $name: the rows are core's");
	cmp_ok($partitions, '>', 0, 'and came from partitions') or diag($plan);
}
my $files = $node->data_dir . '/base/pgsql_tmp';
is(scalar(grep { !/^\.+$/ } (-d $files ? slurp_dir($files) : ())), 0, 'their files are gone');

# What cannot be: a row that does not fit by itself; temporary files beyond their limit.
sub refusal
{
	my ($query) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET gpujoin.chain = off; $query");
	return $err;
}
like(refusal("SELECT max(length(b.t)) FROM few a JOIN (SELECT g AS k, repeat('x', 40000000) AS t FROM generate_series(1, 2) g OFFSET 0) b USING (k)"),
	qr/ERROR:  53200:.*HINT: .*gpujoin.host_memory/s, 'a row that does not fit by itself is refused, with a hint');
like(refusal("SET temp_file_limit = '1MB'; SELECT max(a.t), max(b.t) FROM wide a JOIN wide b USING (k)"), qr/ERROR:  53400:.*temp_file_limit/s, 'temp_file_limit holds');
ok(wait_until_idle($node), 'nothing of it is left');
$node->stop;

# Cursors until the backend may open no more descriptors: their sockets count, and one is left to wait on them.
$node = make_node('descriptors', 'max_files_per_process = 150');
start_ready($node);
fill($node);
($held_open) = in_sessions($node, 1, "$cursors\nFETCH 1 FROM c1;\nCOMMIT;\n$join;\n");
$fetched = () = $held_open =~ /^row /mg;
my $too_many = () = $held_open =~ /ERROR:  53000:.*\nHINT:  .*max_files_per_process/g;
cmp_ok($too_many, '>', 0, "cursors are refused when descriptors are used up ($fetched fetched, $too_many refused)");
is($fetched + $too_many, 61, 'and only for that; the others go on');
like($held_open, qr/^\Q$answer\E$/m, 'the next query has descriptors again');
$node->stop;
done_testing();
