# Losing the server, or leaving it, at any moment: an error of SQLSTATE 58000 or the right rows, never anything else;
# and nothing is left behind, neither in the backend nor in the server.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);
use GpuJoinTest;

my $node = make_node('lost', "gpujoin.server_timeout = '10min'");
start_ready($node);
my $rows = 300_000;
$node->safe_psql('postgres', qq{
	CREATE TABLE a AS SELECT g AS k, g AS v, 'a' || g AS t FROM generate_series(1, $rows) g;
	CREATE TABLE b AS SELECT g AS k, g AS v, 'b' || g AS t FROM generate_series(1, $rows) g;
	ANALYZE a, b;
	ALTER DATABASE postgres SET gpujoin.force = on;
	ALTER DATABASE postgres SET max_parallel_workers_per_gather = 0;});
my $join = 'SELECT count(*), sum(a.v + b.v), max(b.t) FROM a JOIN b USING (k)';
my $answer = join '|', $rows, $rows * ($rows + 1), 'b99999';
is($node->safe_psql('postgres', $join), $answer, 'a join gives the right rows');
like($node->safe_psql('postgres', "EXPLAIN (COSTS OFF) $join"), qr/GPU Join/, 'through GPU Join');

# How many sockets and memory files a program has open that COPY starts.
sub descriptors_of_program
{
	my ($in) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir() . '/descriptors';
	my $copy = "COPY (SELECT 1) TO PROGRAM 'ls -l /proc/self/fd | grep -cE \"socket|memfd\" > $file || true'";
	$in == $node ? $node->safe_psql('postgres', $copy) : $in->query_safe($copy);
	return slurp_file($file);
}

# Killed at moments all over the join, as long as it takes here and now, until one was in its middle.
my ($right, $refused, $other) = (0, 0, 0);
my $duration = time;
$node->safe_psql('postgres', $join);
$duration = time - $duration;
my $pid = 0;
for my $round (0 .. 149)
{
	last if $round >= 15 && $refused > 0;
	my $delay = $duration * ($round % 15) / 15;
	wait_until_ready($node, $pid) or die 'the server did not come back';
	$pid = server_pid($node);
	my $killer = fork;
	if ($killer == 0) { sleep $delay; kill 'KILL', $pid; POSIX::_exit(0); }
	my ($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$join");
	waitpid $killer, 0;
	if ($rc == 0 && $out eq $answer) { $right++; }
	elsif ($err =~ /ERROR:  58000: .*HINT:  Retry the query/s) { $refused++; }
	else { $other++; diag("after $delay s: $rc, $out, $err"); }
}
is($other, 0, "no kill gave anything but the right rows ($right) or an error 58000 ($refused)");
cmp_ok($refused, '>', 0, 'some kills were in the middle of a join');
unlike(slurp_file($node->logfile), qr/terminated by signal (?!9)|server process .* was terminated/,
	'and no backend crashed');
wait_until_ready($node, $pid);

# A prepared statement keeps its plan over the loss of the server; it waits for the next one, for ten seconds, in which
# on a busy machine there may be none at first.
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->set_query_timer_restart(1);    # the time is a query's, not the session's
$session->query_safe("SET plan_cache_mode = force_generic_plan; PREPARE p AS $join");
is($session->query_safe('EXECUTE p'), $answer, 'a prepared statement is executed');
my $again;
for (1 .. 5)
{
	$pid = server_pid($node);
	kill 'KILL', $pid;
	$again = $session->query('EXECUTE p');
	$session->{stderr} = '';
	wait_until_ready($node, $pid);
	last if $again eq $answer;
}
is($again, $answer, 'and again while the server is being replaced');

# Left in the middle: by an error, a cancel, a timeout, a cursor, the end of the backend.
sub fails
{
	my ($query, $message, $name) = @_;
	$session->query($query);
	like($session->{stderr}, $message, $name);
	$session->{stderr} = '';
}
my $wide = 'SELECT count(*) FROM a JOIN (SELECT k % 100 AS k FROM b) b ON a.k % 100 = b.k';
fails("SET statement_timeout = '300ms'; $wide", qr/canceling statement due to statement timeout/,
	'a timeout ends a join');
$session->query_safe('SET statement_timeout = 0');
ok(wait_until_idle($node), 'and frees it in the server');
is($session->query_safe($join), $answer, 'the next join of the backend works');

fails('SELECT 1 / (a.v - b.v) FROM a JOIN b USING (k)', qr/division by zero/, 'an error above the join ends it');
$session->query_safe("BEGIN; DECLARE c CURSOR FOR SELECT a.v FROM a JOIN b USING (k); FETCH 10 FROM c");
is($session->query_safe('SELECT count(*) FROM pg_cursors'), '1', 'a cursor stays open');
ok(wait_until(sub { $node->safe_psql('postgres', "SELECT sessions FROM gpujoin_devices WHERE engine = 'cpu'") eq '1' }),
	'with its session');
is(descriptors_of_program($session), descriptors_of_program($node), 'of which the programs of COPY inherit nothing');
$session->query_safe('SAVEPOINT s');
fails('SELECT 1 / (a.v - b.v) FROM a JOIN b USING (k)', qr/division by zero/, 'a join in a subtransaction fails');
$session->query_safe('ROLLBACK TO s; FETCH 10 FROM c; COMMIT');
ok(wait_until_idle($node), 'nothing of either is left after the transaction');

my $backend = $session->query_safe('SELECT pg_backend_pid()');
sub open_sockets
{
	return scalar grep { defined && /^socket|memfd/ }
	  map { readlink("/proc/$backend/fd/$_") } slurp_dir("/proc/$backend/fd");
}
my $before = open_sockets();
$session->query_safe(q{DO $$ BEGIN FOR i IN 1 .. 100 LOOP
	BEGIN PERFORM 1 / (a.v - b.v) FROM a JOIN b USING (k) WHERE b.v < 1000; EXCEPTION WHEN division_by_zero THEN END;
	PERFORM a.v FROM a JOIN b USING (k) WHERE b.v < 1000 LIMIT 1;
	END LOOP; END $$});
is(open_sockets(), $before, 'two hundred joins leak no descriptor');
is($session->query_safe("SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'gpujoin client'"), '0',
	'and no client');
ok(wait_until_idle($node), 'nor anything in the server');

$session->query_until(qr/started/, "\\echo started\n$wide;\n");
wait_until(sub { is_joining($node) }) or die 'no join runs';
$node->safe_psql('postgres', "SELECT pg_terminate_backend($backend)");
ok(wait_until(sub { !is_alive($backend) }), 'a backend is terminated in the middle of a join');
ok(wait_until_idle($node), 'which frees it in the server');
eval { $session->quit };

# A server that is stopped, not dead, does not hold a statement either, which would wait for it without end.
$pid = server_pid($node);
kill 'STOP', $pid;
my ($rc, $out, $err) = $node->psql('postgres', "SET statement_timeout = '1s'; $join");
like($err, qr/statement timeout/, 'a wait for a server that hangs can be interrupted');
kill 'CONT', $pid;

# The extension can go while its joins run; the library stays.
ok(wait_until_idle($node), 'the server goes on');
$node->safe_psql('postgres', "BEGIN; DECLARE c CURSOR FOR $join; DROP EXTENSION gpujoin; FETCH c; COMMIT");
is($node->safe_psql('postgres', $join), $answer, 'joins go on without the SQL functions');
$node->stop;
done_testing();
