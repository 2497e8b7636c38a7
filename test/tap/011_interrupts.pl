# Joins that are cancelled, time out, or are still running when the cluster restarts: while the build side is read, while
# it is sealed, and while it is probed. The statement ends soon, and the server has given everything back soon after.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);
use GpuJoinTest;

# Seconds, the best of a few times: other things that the machine does only add to them.
my ($bound, $times) = (3, 5);
my $node = make_node('interrupts', 'max_connections = 50');
start_ready($node);
$node->safe_psql('postgres', q{
	CREATE TABLE r AS SELECT g AS k, g % 1000 AS v, md5(g::text) AS t FROM generate_series(1, 400000) g;
	CREATE TABLE s AS SELECT md5(g::text) AS t FROM generate_series(1, 1200000) g;
	ANALYZE r, s;
	ALTER DATABASE postgres SET gpujoin.force = on;
	ALTER DATABASE postgres SET max_parallel_workers_per_gather = 0;});

# What each is busy with for much longer than the test waits.
my $endless = 'generate_series(1, 2000000000)';
my %queries = (
	'reading the build side' =>
	  "SELECT count(*) FROM (SELECT g AS k FROM $endless g OFFSET 0) a JOIN (SELECT g AS k FROM $endless g OFFSET 0) b USING (k)",
	'reading the probe side' =>
	  "SELECT count(*) FROM (SELECT g AS k FROM $endless g OFFSET 0) a JOIN r USING (k)",
	'probing' => "SET gpujoin.algorithm = nested_loop; SELECT count(*) FROM r a JOIN r b ON a.k < b.k AND a.t > b.t AND a.k > b.k",
	'emitting' => 'SELECT count(*) FROM r a JOIN r b ON a.k <> b.k AND a.k > b.k - 100000',
	'deciding' => 'SELECT count(*) FROM r a LEFT JOIN r b ON a.v = b.v AND length(a.t || b.t) = 1',
	'rescanning' => 'SELECT n, (SELECT count(*) FROM r a JOIN r b ON a.k = b.k WHERE a.v > n) FROM generate_series(1, 100000) n',);

# Starts a statement in a session of its own; returns it with the pid of its backend, when it has begun, and has perhaps ended.
sub start_query
{
	my ($query) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	$session->query_until(qr/started/, "\\echo started\n$query;\n\\echo ended\n");
	wait_until(sub { $node->safe_psql('postgres', "SELECT query ~ '^SELECT (n, |count)' FROM pg_stat_activity WHERE pid = $pid") eq 't' })
	  or die 'the statement does not begin';
	return ($session, $pid);
}

sub wait_for_end
{
	my ($session) = @_;
	my $begin = time;
	$session->query_until(qr/ended/, '');
	return time - $begin;
}

# The least of the numbers that a sub returns, each of a time; it is called again until they are within their bounds.
sub best_of_times
{
	my ($sub, @bounds) = @_;
	my @best;
	for (1 .. $times)
	{
		my @seconds = $sub->();
		@best = map { defined $best[$_] && $best[$_] < $seconds[$_] ? $best[$_] : $seconds[$_] } 0 .. $#bounds;
		last unless grep { $best[$_] >= $bounds[$_] } 0 .. $#bounds;
	}
	return @best;
}

# Cancels a query; returns the seconds until it ended, and until the server had given all back.
sub cancel
{
	my ($what) = @_;
	my ($session, $pid) = start_query($queries{$what});
	sleep 1.5;
	ok(is_active($node, $pid), "$what takes long");
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	my $seconds = wait_for_end($session);
	my $idle = wait_until_idle($node) or fail("$what is over in the server, too");
	like($session->{stderr}, qr/canceling statement due to user request/, "$what is cancelled");
	$session->{stderr} = '';
	is($session->query_safe('RESET ALL; SET gpujoin.force = on; SELECT count(*) FROM r a JOIN r b USING (k)'), '400000',
		'the next join of the session works');
	$session->quit;
	return ($seconds, $idle);
}

# Lets a query time out; returns the seconds until it ended, and until the server had given all back.
sub time_out
{
	my ($what) = @_;
	my $begin = time;
	my ($rc, $out, $err) = $node->psql('postgres', "SET statement_timeout = '700ms'; $queries{$what}");
	my $seconds = time - $begin;
	my $idle = wait_until_idle($node) or fail("$what is over in the server, too");
	like($err, qr/canceling statement due to statement timeout/, "$what times out");
	return ($seconds, $idle);
}

my $server = server_pid($node);
for my $what (sort keys %queries)
{
	my ($ended, $idle) = best_of_times(sub { cancel($what) }, $bound, $bound);
	cmp_ok($ended, '<', $bound, sprintf('soon (%.2f s)', $ended));
	cmp_ok($idle, '<', $bound, sprintf('and the server has given all back (%.2f s)', $idle));
	($ended, $idle) = best_of_times(sub { time_out($what) }, $bound + 1, $bound);
	cmp_ok($ended, '<', $bound + 1, sprintf('in time (%.2f s)', $ended));
	cmp_ok($idle, '<', $bound, sprintf('and leaves nothing (%.2f s)', $idle));
}

# Cancelled at moments all over a join whose build side is sorted when it is sealed, as long as that takes here and now.
my $sorted = 'SET gpujoin.algorithm = index; SELECT count(*) FROM s a JOIN s b ON a.t >= (b.t COLLATE "C") AND a.t <= (b.t COLLATE "C")';
my ($cancelled, $done, $longest) = (0, 0, 0);
my $duration = time;
$node->safe_psql('postgres', $sorted);
$duration = time - $duration;
for my $moment (0 .. 11)
{
	my ($seconds) = best_of_times(sub {
		my ($session, $pid) = start_query($sorted);
		sleep $duration * $moment / 12;
		$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
		my $seconds = wait_for_end($session);
		if ($session->{stderr} =~ /canceling statement/) { $cancelled++; }
		elsif ($session->{stderr} eq '') { $done++; }
		else { fail($session->{stderr}); }
		$session->{stderr} = '';
		eval { $session->quit };
		return $seconds }, $bound);
	$longest = $seconds if $seconds > $longest;
}
cmp_ok($cancelled, '>', 0, "joins are cancelled at any moment ($cancelled; $done had ended)");
cmp_ok($longest, '<', $bound, sprintf('and soon (%.2f s at most)', $longest));
ok(wait_until_idle($node), 'with nothing left');
is(server_pid($node), $server, 'the server has gone through all that');

# A restart of the cluster ends the joins that run, and a prepared statement of a new session works with the new server.
my ($restarted) = best_of_times(sub {
	my $server = server_pid($node);
	my @running = map { (start_query($queries{$_}))[0] } sort keys %queries;
	sleep 1;
	my $begin = time;
	$node->restart;
	my $seconds = time - $begin;
	ok(wait_until(sub { !is_alive($server) }), 'the server ends with its cluster');
	eval { $_->quit } for @running;
	ok(wait_until_ready($node), 'the new one is ready');
	return $seconds }, 20);
cmp_ok($restarted, '<', 20, sprintf('a cluster restarts with joins running (%.1f s)', $restarted));
is($node->safe_psql('postgres', 'SET plan_cache_mode = force_generic_plan; PREPARE p AS SELECT count(*) FROM r a JOIN r b USING (k); EXECUTE p'),
	'400000', 'for prepared statements too');
unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC/, 'no process has crashed');
$node->stop;
done_testing();
