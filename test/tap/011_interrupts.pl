# Joins that are cancelled, time out, or are still running when the cluster restarts: while the build side is read, while
# it is sealed, and while it is probed. The statement ends soon, and the server has given everything back soon after.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);
use GpuJoinTest;

my $bound = 3;    # seconds, on a machine that does other things too
my $node = make_node('interrupts', 'max_connections = 50');
start_ready($node);
$node->safe_psql('postgres', q{
	CREATE TABLE r AS SELECT g AS k, g % 1000 AS v, md5(g::text) AS t FROM generate_series(1, 400000) g;
	ANALYZE r;
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

sub is_idle
{
	my ($seconds) = @_;
	return wait_until($seconds, sub {
		$node->safe_psql('postgres', 'SELECT sum(sessions) + sum(used_memory) FROM gpujoin_devices') eq '0' });
}

# Starts a statement in a session of its own; returns it with the pid of its backend.
sub start_query
{
	my ($query) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	$session->query_until(qr/started/, "\\echo started\n$query;\n\\echo ended\n");
	return ($session, $pid);
}

sub wait_for_end
{
	my ($session) = @_;
	my $begin = time;
	$session->query_until(qr/ended/, '');
	return time - $begin;
}

my $server = server_pid($node);
for my $what (sort keys %queries)
{
	my ($session, $pid) = start_query($queries{$what});
	sleep 1.5;
	is($node->safe_psql('postgres', "SELECT state FROM pg_stat_activity WHERE pid = $pid"), 'active', "$what takes long");
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	my $seconds = wait_for_end($session);
	like($session->{stderr}, qr/canceling statement due to user request/, "$what is cancelled");
	cmp_ok($seconds, '<', $bound, sprintf('soon (%.2f s)', $seconds));
	ok(is_idle($bound), 'and the server has given all back');
	$session->{stderr} = '';
	is($session->query_safe('RESET ALL; SET gpujoin.force = on; SELECT count(*) FROM r a JOIN r b USING (k)'), '400000',
		'the next join of the session works');
	$session->quit;

	my $begin = time;
	my ($rc, $out, $err) = $node->psql('postgres', "SET statement_timeout = '700ms'; $queries{$what}");
	like($err, qr/canceling statement due to statement timeout/, "$what times out");
	cmp_ok(time - $begin, '<', $bound + 1, 'in time');
	ok(is_idle($bound), 'and leaves nothing');
}

# Cancelled at moments all over a join whose build side is sorted when it is sealed.
my $sorted = 'SET gpujoin.algorithm = index; SELECT count(*) FROM r a JOIN r b ON a.t >= (b.t COLLATE "C") AND a.t <= (b.t COLLATE "C")';
my ($cancelled, $done, $longest) = (0, 0, 0);
for my $delay (map { 0.1 * $_ } 0 .. 11)
{
	my ($session, $pid) = start_query($sorted);
	sleep $delay;
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	my $seconds = wait_for_end($session);
	$longest = $seconds if $seconds > $longest;
	if ($session->{stderr} =~ /canceling statement/) { $cancelled++; }
	elsif ($session->{stderr} eq '') { $done++; }
	else { fail($session->{stderr}); }
	$session->{stderr} = '';
	eval { $session->quit };
}
cmp_ok($cancelled, '>', 0, "joins are cancelled at any moment ($cancelled; $done had ended)");
cmp_ok($longest, '<', $bound, sprintf('and soon (%.2f s at most)', $longest));
ok(is_idle($bound), 'with nothing left');
is(server_pid($node), $server, 'the server has gone through all that');

# A restart of the cluster ends the joins that run, and a prepared statement of a new session works with the new server.
my @running = map { (start_query($queries{$_}))[0] } sort keys %queries;
sleep 1;
my $begin = time;
$node->restart;
cmp_ok(time - $begin, '<', 20, sprintf('a cluster restarts with joins running (%.1f s)', time - $begin));
ok(wait_until(5, sub { !is_alive($server) }), 'and its server is gone');
eval { $_->quit } for @running;
ok(wait_until_ready($node), 'the new one is ready');
is($node->safe_psql('postgres', 'SET plan_cache_mode = force_generic_plan; PREPARE p AS SELECT count(*) FROM r a JOIN r b USING (k); EXECUTE p'),
	'400000', 'for prepared statements too');
unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC/, 'no process has crashed');
$node->stop;
done_testing();
