# Parallel joins that lose their server or a participant: an error for the query or the right rows, never anything
# else, and no session is left at the server.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);
use GpuJoinTest;

my $node = make_node('parallel', 'max_worker_processes = 16', 'max_parallel_workers = 8');
start_ready($node);
my $rows = 300_000;
$node->safe_psql('postgres', qq{
	CREATE TABLE a AS SELECT g AS k, g AS v, 'a' || g AS t FROM generate_series(1, $rows) g;
	CREATE TABLE b AS SELECT 2 * g AS k, g AS v, 'b' || g AS t FROM generate_series(1, $rows) g;
	ANALYZE a, b;
	ALTER DATABASE postgres SET gpujoin.force = on;
	ALTER DATABASE postgres SET parallel_setup_cost = 0;
	ALTER DATABASE postgres SET parallel_tuple_cost = 0;
	ALTER DATABASE postgres SET gpujoin.startup_cost = 0;
	ALTER DATABASE postgres SET gpujoin.encode_cost = 1;
	ALTER DATABASE postgres SET max_parallel_workers_per_gather = 3;});
my $join = 'SELECT count(*), count(a.v), count(b.v), max(b.t) FROM a FULL JOIN b USING (k)';
my $answer = join '|', $rows * 3 / 2, $rows, $rows, 'b99999';
is($node->safe_psql('postgres', $join), $answer, 'a parallel join gives the right rows');
like($node->safe_psql('postgres', "EXPLAIN (COSTS OFF) $join"), qr/Parallel Custom Scan \(GPU Join\)/,
	'all participants together');

# Runs the join, and something else so many seconds after its start; counts what comes of it.
my %outcome;
sub disturb
{
	my ($delay, $disturbance, $expected) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query_safe('\set VERBOSITY verbose');
	my $pid = fork // die 'could not fork';
	if ($pid == 0) { sleep $delay; $disturbance->(); POSIX::_exit(0); }
	my $out = $session->query($join);
	waitpid $pid, 0;
	if ($out eq $answer) { $outcome{right}++; }
	elsif ($session->{stderr} =~ $expected) { $outcome{refused}++; }
	else { $outcome{other}++; diag("after $delay s: $out, $session->{stderr}"); }
	eval { $session->quit };
}

# At moments all over the join, as long as it takes here and now, until one was in its middle.
my $duration = time;
$node->safe_psql('postgres', $join);
$duration = time - $duration;
sub disturb_all_over
{
	my ($moments, $disturbance) = @_;
	%outcome = ();
	for my $round (0 .. 10 * $moments)
	{
		last if $round >= $moments && $outcome{refused};
		$disturbance->($duration * ($round % $moments) / $moments);
	}
}

# A worker is terminated.
my $terminate = q{psql -X -d postgres -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE backend_type = 'parallel worker' ORDER BY pid LIMIT 1" > /dev/null};
sub terminate_worker
{
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	system $terminate;
}
disturb_all_over(10, sub {
	my ($delay) = @_;
	disturb($delay, \&terminate_worker, qr/57P01: terminating .* due to administrator command/) });
is($outcome{other} // 0, 0, 'a worker that is terminated fails the join, or does not matter');
cmp_ok($outcome{refused} // 0, '>', 0, 'some were terminated in the middle');
ok(wait_until_idle($node), 'no session is left');

# The server is killed.
my $server = 0;
disturb_all_over(12, sub {
	my ($delay) = @_;
	wait_until_ready($node, $server) or die 'the server did not come back';
	$server = server_pid($node);
	disturb($delay, sub { kill 'KILL', $server }, qr/ERROR:  58000: .*HINT:  Retry the query/s) });
is($outcome{other} // 0, 0, 'a server that is killed gives the right rows or 58000');
cmp_ok($outcome{refused} // 0, '>', 0, 'some were killed in the middle');
wait_until_ready($node, $server);

# Cancels and timeouts, in whatever phase.
for my $timeout (map { 20 * $_ } 1 .. 10)
{
	$node->psql('postgres', "SET statement_timeout = ${timeout}; $join");
}
ok(wait_until_idle($node), 'timeouts leave no session');
$node->safe_psql('postgres', 'SELECT a.t, b.t FROM a FULL JOIN b USING (k) LIMIT 5') for 1 .. 10;
ok(wait_until_idle($node), 'nor does a LIMIT');

# Workers that come late: many at once, for joins that are soon over.
my $many = "SELECT count(*), count(a.v), count(b.v) FROM a FULL JOIN (SELECT * FROM b WHERE k < 50) b USING (k) WHERE a.k < 100 OR a.k IS NULL";
my $few = $node->safe_psql('postgres', $many);
is($few, '99|99|24', 'a short join gives the right rows');
$node->safe_psql('postgres', "CREATE FUNCTION repeat_join() RETURNS bigint LANGUAGE plpgsql AS \$\$
	DECLARE wrong bigint := 0; c text;
	BEGIN
		FOR i IN 1 .. 100 LOOP
			SELECT concat_ws('|', x, y, z) INTO c FROM ($many) s (x, y, z);
			wrong := wrong + (c <> '$few')::integer;
		END LOOP;
		RETURN wrong;
	END \$\$");
my @sessions = map { $node->background_psql('postgres') } 1 .. 3;
$_->query_until(qr/started/, "\\echo started\nSELECT 'wrong: ' || repeat_join();\n") for @sessions;
like($_->query("SELECT 1"), qr/1/, 'joins side by side, with more workers than there is room for') for @sessions;
like($_->{stdout} . $_->query('SELECT 2'), qr/2/, 'go on') for @sessions;
$_->quit for @sessions;
is($node->safe_psql('postgres', 'SELECT repeat_join()'), '0', 'and give the right rows');
ok(wait_until_idle($node), 'no session is left');
unlike(slurp_file($node->logfile), qr/terminated by signal (?!9)|server process .* was terminated/,
	'and no process crashed');
$node->stop;
done_testing();
