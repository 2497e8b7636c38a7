# Groups above chains of joins where something goes wrong: the server is killed at any moment, the query is cancelled or left
# early, the groups are more than there is memory for. The right groups come, each once, or an error; nothing is left behind.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);
use GpuJoinTest;

my $node = make_node('groups', 'gpujoin.aggregate = on', "gpujoin.server_timeout = '10min'", "gpujoin.host_memory = '80MB'");
start_ready($node);
$node->safe_psql('postgres', q{
	CREATE TABLE f AS SELECT g AS id, g % 1000 AS a, g % 70 AS b, g AS v, (g % 100 / 100.0)::numeric(5, 2) AS n FROM generate_series(1, 600000) g;
	CREATE TABLE d AS SELECT g AS a, g % 10 AS x FROM generate_series(0, 989) g;
	CREATE TABLE e AS SELECT g AS b, 'e' || g % 3 AS t FROM generate_series(0, 69) g;
	ANALYZE f, d, e;
	ALTER DATABASE postgres SET gpujoin.force = on;
	ALTER DATABASE postgres SET min_parallel_table_scan_size = 0;
	ALTER DATABASE postgres SET parallel_setup_cost = 0;});
my $from = 'FROM f JOIN d USING (a) LEFT JOIN e USING (b)';
my $query = "SELECT x, t, count(*), sum(v), avg(n), sum(v * n) $from GROUP BY x, t ORDER BY x, t";
my $answer = $node->safe_psql('postgres', "SET gpujoin.enabled = off; $query");
for my $workers (0, 2)
{
	my $set = "SET max_parallel_workers_per_gather = $workers; ";
	like($node->safe_psql('postgres', "$set EXPLAIN (COSTS OFF) $query"), qr/Custom Scan \(GPU Aggregate\).*Stage 2/s, "$workers workers: groups of a chain");
	is($node->safe_psql('postgres', $set . $query), $answer, "$workers workers: the right groups");

	# Killed at moments all over the query, until one was in its middle.
	my ($right, $refused, $other) = (0, 0, 0);
	my $duration = time;
	$node->safe_psql('postgres', $set . $query);
	$duration = time - $duration;
	my $pid = 0;
	for my $round (0 .. 79)
	{
		last if $round >= 8 && $refused > 0;
		wait_until_ready($node, $pid) or die 'the server did not come back';
		$pid = server_pid($node);
		my $killer = fork;
		if ($killer == 0) { sleep($duration * ($round % 8) / 8); kill 'KILL', $pid; POSIX::_exit(0); }
		my ($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$set$query");
		waitpid $killer, 0;
		if ($rc == 0 && $out eq $answer) { $right++; }
		elsif ($err =~ /ERROR:  58000: .*HINT:  Retry the query/s) { $refused++; }
		else { $other++; diag("round $round: $rc, $out, $err"); }
	}
	is($other, 0, "$workers workers: no kill gave anything but the right groups ($right) or an error 58000 ($refused)");
	cmp_ok($refused, '>', 0, "$workers workers: some kills were in the middle");
	wait_until_ready($node, $pid);
}

# More groups than the server has memory for: they come in parts.
my $many = "SELECT count(*), sum(n), sum(s) FROM (SELECT id, count(*) AS n, sum(v) AS s $from GROUP BY id) q";
my $expected = $node->safe_psql('postgres', "SET gpujoin.enabled = off; $many");
for my $workers (0, 2)
{
	is($node->safe_psql('postgres', "SET max_parallel_workers_per_gather = $workers; $many"), $expected, "$workers workers: 594,000 groups");
}

# Left early, from a cursor and by a LIMIT; cancelled; an error in an argument. Afterwards the server holds nothing.
is($node->safe_psql('postgres', "BEGIN; DECLARE c CURSOR FOR SELECT id, sum(v) $from GROUP BY id; FETCH 1 FROM c; COMMIT") =~ tr/\n//, 0, 'a cursor that is left');
is($node->safe_psql('postgres', "SELECT count(*) FROM (SELECT id, sum(v) $from GROUP BY id LIMIT 3) q"), 3, 'a LIMIT');
my ($rc, $out, $err) = $node->psql('postgres', "SET statement_timeout = '20ms'; SELECT sum(f.v) FROM f JOIN f g ON f.b = g.b JOIN d ON d.a = g.a");
like($err, qr/canceling statement due to statement timeout/, 'a query is cancelled');
($rc, $out, $err) = $node->psql('postgres', "SELECT x, sum(1000000 / (v - 300)) $from GROUP BY x");
like($err, qr/division by zero/, 'an error in an argument');
ok(wait_until(sub { $node->safe_psql('postgres', 'SELECT sum(sessions) FROM gpujoin_devices') == 0 }), 'no session is left');
is($node->safe_psql('postgres', $query), $answer, 'the right groups, after all');
unlike(slurp_file($node->logfile), qr/terminated by signal (?!9)|server process .* was terminated/, 'no backend crashed');

# A plan that is kept, with parameters in a condition and an argument.
is($node->safe_psql('postgres', "SET plan_cache_mode = force_generic_plan; PREPARE p (integer) AS SELECT sum(v + \$1) $from WHERE v < \$1; EXECUTE p (100); EXECUTE p (2000)"),
	$node->safe_psql('postgres', "SET gpujoin.enabled = off; SELECT sum(v + 100) $from WHERE v < 100; SELECT sum(v + 2000) $from WHERE v < 2000"), 'a prepared statement');
$node->stop;
done_testing();
