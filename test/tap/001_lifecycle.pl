# The server starts with the cluster, comes back after it was killed, and never outlives the postmaster, however
# that ends; with the logging collector on, which ends when the last writer of its pipe does.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);
use GpuJoinTest;

my $node = make_node('lifecycle', 'logging_collector = on', 'restart_after_crash = on');
start_ready($node);

my $pid = server_pid($node);
ok(is_alive($pid), 'the server runs');
is(status($node, 'server'), 'ready', 'and is ready');
is(status($node, 'generation'), '1', 'as the first of its cluster');
is(scalar(sockets($node)), 1, 'with one socket');
is((stat((sockets($node))[0]))[2] & 0777, 0600, 'that only its user may open');
is(scalar(special_files($node->data_dir)), 0, 'and that is not in the data directory');
is(readlink("/proc/$pid/cwd"), readlink('/proc/' . supervisor_pid($pid) . '/cwd'), 'in the data directory');

# What it has inherited: nothing of the data directory, and not the log.
my @inherited = grep { defined && m{^/} && !m{^/(dev|proc|sys)/|/dev/|memfd:} }
  map { readlink("/proc/$pid/fd/$_") } slurp_dir("/proc/$pid/fd");
is("@inherited", '', 'and holds no file open');
isnt(readlink("/proc/$pid/fd/2"), readlink('/proc/' . supervisor_pid($pid) . '/fd/2'),
	'nor the pipe of the logging collector');

# A server that dies is replaced within seconds: the best of several times, since a busy machine only adds to them.
my ($losses, $soonest) = (0, 9**9**9);
until ($losses == 5 || $soonest < 5)
{
	my $lost = server_pid($node);
	kill 'KILL', $lost;
	$losses++;
	my $seconds = wait_until_ready($node, $lost) or last;
	$soonest = $seconds if $seconds < $soonest;
}
cmp_ok($soonest, '<', 5, 'a killed server is replaced within 5 seconds');
isnt(server_pid($node), $pid, 'by a new process');
is(scalar(sockets($node)), 1, 'whose socket is the only one');
is($node->safe_psql('postgres', 'SELECT server_restarts FROM pg_stat_gpujoin WHERE datid = 0'), $losses, 'and counted');
is(status($node, 'generation'), $losses + 1, 'as the next of its cluster');

# In between, the status says what happened; once more where the next server came before we looked.
my $reason;
for (1 .. 10)
{
	$pid = server_pid($node);
	kill 'KILL', $pid;
	wait_until(sub {
		$reason = status($node, "CASE WHEN server = 'down' THEN reason WHEN server_pid <> $pid THEN 'replaced' END");
		$reason ne '' });
	last if $reason ne 'replaced';
	wait_until_ready($node, $pid);
}
like($reason, qr/down since .*terminated by signal 9/, 'the status tells how it ended');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_class a JOIN pg_class b USING (oid)'),
	$node->safe_psql('postgres', 'SELECT count(*) FROM pg_class'), 'and joins are executed without it');
ok(wait_until_ready($node, $pid), 'until the next one is ready');

# The supervisor killed: the cluster restarts, as for any of PostgreSQL's processes.
$pid = server_pid($node);
my $supervisor = supervisor_pid($pid);
kill 'KILL', $supervisor;
ok(wait_until(sub { !is_alive($pid) }), 'the server ends with its supervisor');
ok(wait_until_ready($node, $pid), 'and both come back');

# A backend killed.
$pid = server_pid($node);
my $backend = $node->background_psql('postgres', on_error_stop => 0);
kill 'KILL', $backend->query_safe('SELECT pg_backend_pid()');
ok(wait_until(sub { !is_alive($pid) }), 'a crash restart ends the server');
ok(wait_until_ready($node, $pid), 'and starts one');
is(scalar(sockets($node)), 1, 'with no stale socket');
eval { $backend->quit };

# A socket that somebody has removed: joins that run go on, others are not planned, and then there is a new server.
$pid = server_pid($node);
my $running = $node->background_psql('postgres');
$running->query_safe(q{SET gpujoin.force = on; BEGIN; DECLARE c CURSOR FOR SELECT a FROM generate_series(1, 300000) a JOIN generate_series(1, 300000) b ON a = b});
is($running->query_safe('FETCH 1 FROM c') =~ /^\d+$/, 1, 'a join runs');
my $other = 'SET gpujoin.force = on; EXPLAIN (COSTS OFF) SELECT FROM generate_series(1, 10) a JOIN generate_series(1, 10) b ON a = b';
like($node->safe_psql('postgres', $other), qr/GPU Join/, 'and another one would');
unlink sockets($node);
ok(wait_until(sub { $node->safe_psql('postgres', $other) !~ /GPU Join/ }), 'without its socket a server is given no joins');
is(server_pid($node), $pid, 'and stays while one runs');
is($running->query_safe('MOVE ALL FROM c; SELECT 1'), '1', 'which goes on');
$running->query_safe('COMMIT');
ok(wait_until_ready($node, $pid), 'then it is replaced');
is(scalar(sockets($node)), 1, 'by one with a socket');
$running->quit;

# A server that hangs does not hold up a shutdown for long.
$pid = server_pid($node);
kill 'STOP', $pid;
$node->stop('fast');
ok(!is_alive($pid), 'a server that hangs is gone after a shutdown');
$node->start;
wait_until_ready($node);

# All ways to stop.
for my $mode ('fast', 'immediate')
{
	$pid = server_pid($node);
	$node->stop($mode);
	ok(wait_until(sub { !is_alive($pid) }), "no server is left after a $mode shutdown");
	$node->start;
	ok(wait_until_ready($node), 'and it starts again');
}

$pid = server_pid($node);
my ($postmaster) = split /\n/, slurp_file($node->data_dir . '/postmaster.pid');
my @children = split ' ', slurp_file("/proc/$postmaster/task/$postmaster/children");
my ($collector) = grep { (eval { slurp_file("/proc/$_/cmdline") } // '') =~ /logger/ } @children;    # some end meanwhile
ok(is_alive($collector), 'the logging collector runs');
kill 'STOP', $pid;    # not even a server that hangs
$node->kill9;
ok(wait_until(sub { !is_alive($pid) }), 'no server is left after kill -9 of the postmaster');
ok(wait_until(sub { !is_alive($collector) }), 'and no logging collector');
# No other one starts while any of its processes has the shared memory. It holds its lock files until it is reaped, which
# not every init process does.
wait_until(sub { !grep { is_alive($_) } $postmaster, @children }) or die 'processes of the cluster are left';
for (1 .. 300) { sleep 0.1 if kill 0, $postmaster }
unlink $node->data_dir . '/postmaster.pid', $node->host . '/.s.PGSQL.' . $node->port . '.lock' if kill 0, $postmaster;
# Version 0.1.0 had its sockets in the data directory.
my $old = $node->data_dir . '/pgsql_tmp_gpujoin.1.1';
append_to_file($old, '');
is(scalar(sockets($node)), 1, 'a socket is left');
$node->start;
ok(wait_until_ready($node), 'and the cluster starts again');
is(scalar(sockets($node)), 1, 'and removes the socket that was left');
ok(!-e $old, 'and what an older version left in the data directory');
$node->stop;
is(scalar(sockets($node)), 0, 'a stopped cluster has no socket');

# Where PostgreSQL has no folder for its own.
my $name = "\@gpujoin_test.$$";
$node->append_conf('postgresql.conf', "unix_socket_directories = '$name'");
$node->start;
my $ask = [ 'psql', '-XAtq', '-h', $name, '-p', $node->port, 'postgres', '-c', 'SELECT ready FROM gpujoin_status()' ];
ok(wait_until(sub { (run_command($ask))[0] eq 't' }), 'without a folder for sockets there is a server');
my @special = special_files($node->data_dir);
is(scalar(grep { m{/pg_stat_tmp/pgsql_tmp_gpujoin\.} } @special), 1, 'whose socket is where tools pass it over');
is(scalar(@special), 1, 'and nowhere else');
$node->stop;
is(scalar(special_files($node->data_dir)), 0, 'and gone with it');

# Single-user mode has none: queries are core's, and VACUUM does as ever.
$node->append_conf('postgresql.conf', "unix_socket_directories = '" . $node->host . "'");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS gpujoin; CREATE TABLE alone AS SELECT i FROM generate_series(1, 1000) i');
$node->stop;
my ($said, $failed);
IPC::Run::run([ 'postgres', '--single', '-j', '-D', $node->data_dir, 'postgres' ], '<',
	\"VACUUM ANALYZE alone;\n\nSELECT reason FROM gpujoin_status();\n\nSELECT count(*) FROM alone a JOIN alone b USING (i);\n\n", '>', \$said, '2>', \$failed);
like($said, qr/reason = "in single-user mode there is no server"/, 'in single-user mode it says that there is none') or diag($failed);
like($said, qr/count = "1000"/, 'and queries run');

done_testing();
