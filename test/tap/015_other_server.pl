# A server that is of another build, that does not get ready, or that cannot be killed: core's plans, a reason, and the
# next server.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

use_fake_server();
my $node = make_node('other', "gpujoin.server_timeout = '2s'");
my $join = 'SELECT a.v, b.v FROM a JOIN a b ON a.k = b.k';
sub is_planned { return $node->safe_psql('postgres', "SET gpujoin.force = on; EXPLAIN (COSTS OFF) $join") =~ /GPU Join/; }

sub misbehave
{
	my $file = $node->data_dir . '/misbehaviour';
	unlink "$file.new";
	append_to_file("$file.new", $_[0]);
	rename "$file.new", $file;
}
sub is_down
{
	my ($reason) = @_;
	return wait_until(sub { status($node, "server = 'down' AND reason ~ '$reason'") eq 't' });
}

# As after an upgrade of the package, without a restart of PostgreSQL.
misbehave('devices:build');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION gpujoin; CREATE TABLE a AS SELECT g AS k, g AS v FROM generate_series(1, 10) g');
ok(is_down('is of another build of gpujoin.*Restart PostgreSQL'), 'a server of another build is down, for that reason');
ok(!is_planned(), 'and no join is planned for it');
is($node->safe_psql('postgres', "SELECT count(*) FROM ($join) j"), '10', 'but executed by core');
like(slurp_file($node->logfile), qr/DETAIL:  Its build is [0-9a-f]{16} .* here it is [0-9a-f]{16} /, 'the log names both builds');
misbehave('');
ok(wait_until_ready($node), 'one of the same build is ready');
ok(is_planned(), 'and joins are planned for it');

# One that cannot answer for want of something is asked again: it may have it later.
misbehave('devices:shortage');
my $short = server_pid($node);
kill 'KILL', $short;
wait_until(sub { my $now = server_pid($node); $now ne '' && $now ne $short }) or die 'the server was not started again';
$short = server_pid($node);
sleep 5;
is(status($node, 'ready'), 'f', 'a server that is short of something is not ready');
misbehave('');
ok(wait_until_ready($node), 'and asked until it is');
is(server_pid($node), $short, 'without being replaced');

# One that is killed, while another process holds its connections open: as one would that is stuck in the kernel.
misbehave('probe:silent outlive');
my $pid = server_pid($node);
kill 'KILL', $pid;
wait_until_ready($node, $pid) or die 'the server did not come back';
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->set_query_timer_restart(1);
$session->query_safe("SET gpujoin.force = on; SET statement_timeout = '300s'");
my $backend = $session->query_safe('\set VERBOSITY verbose
	SELECT pg_backend_pid()');
$session->query_until(qr/started/, "\\echo started\n$join;\n");
wait_until(sub { $node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity
	WHERE pid = $backend AND wait_event_type = 'Extension' AND now() - query_start > '1s'") eq '1' }) or die 'no join waits';
$pid = server_pid($node);
kill 'KILL', $pid;
$session->query('SELECT 1');
like($session->{stderr}, qr/ERROR:  58000: .*HINT:  Retry the query/s, 'a join ends with its server, though the connection is open');
$session->{stderr} = '';
ok(wait_until_ready($node, $pid), 'and the next server is ready');

# One that does not answer, and that cannot be reaped after it was killed, for a while or at all.
sub wait_until_traced
{
	my ($before) = @_;
	wait_until(sub { my $now = server_pid($node); $now ne '' && $now ne $before && -s $node->data_dir . '/traced' })
	  or die 'no server is traced';
	return slurp_file($node->data_dir . '/traced') eq 'yes';
}
$pid = server_pid($node);
misbehave('ping:silent slow');
SKIP:
{
	skip 'processes may not be traced', 5 if !wait_until_traced($pid);
	my $slow = server_pid($node);
	wait_until(sub { slurp_file($node->logfile) =~ /\(PID $slow\) is no use/ }) or die 'it is not replaced';
	unlink $node->data_dir . '/traced';
	misbehave('ping:silent unreapable');
	ok(wait_until(sub { my $now = server_pid($node); $now ne '' && $now ne $slow }), 'one that ends slowly is replaced');
	unlike(slurp_file($node->logfile), qr/left behind/, 'and waited for');

	wait_until_traced($slow);
	ok(wait_until(sub { slurp_file($node->logfile) =~ /does not end when killed, and is left behind/ }),
		'a server that does not end is left behind');
	misbehave('');
	ok(wait_until_ready($node, $pid), 'and another one started');
	ok(is_planned(), 'for which joins are planned');
}

# One that does not get ready: it has a hundred times as long.
misbehave('start:silent');
$node->safe_psql('postgres', q{ALTER SYSTEM SET gpujoin.server_timeout = '100ms'});
$node->reload;
$pid = server_pid($node);
kill 'KILL', $pid;
ok(is_down('it was not ready after 10000 ms'), 'a server that does not start is ended');
# A slow machine may take longer than that to answer. Whoever has been told to be silent goes.
$node->safe_psql('postgres', q{ALTER SYSTEM SET gpujoin.server_timeout = '10s'});
$node->reload;
misbehave('');
kill 'KILL', grep { $_ ne '' } server_pid($node);
ok(wait_until_ready($node, $pid), 'and the next one is ready');

unlike(slurp_file($node->logfile), qr/server process .* was terminated|PANIC/, 'no backend has crashed');
$node->stop;
done_testing();
