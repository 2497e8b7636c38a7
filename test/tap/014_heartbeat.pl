# A server that is stopped or hangs is noticed: its joins end with an error, new ones are planned without it, and it is
# replaced. A supervisor that is late does not take its own lateness for the server's.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);
use GpuJoinTest;

my $node = make_node('heartbeat', "gpujoin.server_timeout = '2s'");
start_ready($node);
$node->safe_psql('postgres', q{
	CREATE TABLE a AS SELECT g AS k, g AS v FROM generate_series(1, 30000) g;
	ANALYZE a;
	ALTER DATABASE postgres SET gpujoin.force = on;
	ALTER DATABASE postgres SET statement_timeout = '300s';});
my $join = 'SELECT count(*) FROM a JOIN a b USING (k)';
my $long = 'SELECT count(*) FROM a JOIN a b ON a.v % 10 = b.v % 10 JOIN a c ON a.v % 10 = c.v % 10';
sub is_planned { return $node->safe_psql('postgres', "EXPLAIN (COSTS OFF) $join") =~ /GPU Join/; }

# Stopped while a join runs, with others that come.
my $running = $node->background_psql('postgres', on_error_stop => 0);
my $coming = $node->background_psql('postgres', on_error_stop => 0);
$_->set_query_timer_restart(1) for $running, $coming;
$_->query_safe('\set VERBOSITY verbose') for $running, $coming;
my $pid = server_pid($node);
$running->query_until(qr/started/, "\\echo started\n$long;\n");
wait_until(sub { is_joining($node) }) or die 'no join runs';
kill 'STOP', $pid;
$coming->query_until(qr/started/, "\\echo started\n$join;\n");
my $reason;
ok(wait_until(sub { ($reason = status($node, 'reason')) ne '' }), 'the status says that a stopped server is not ready');
like($reason, qr/does not answer|has not answered|has been (?:down|starting)/, 'and why');
ok(wait_until_ready($node, $pid), 'it is replaced');
ok(!is_alive($pid), 'and has been killed');
$running->query('SELECT 1');
like($running->{stderr}, qr/ERROR:  58000: .*HINT:  .*[Rr]etry the query/s, 'the join that ran on it has failed with a hint');
$running->{stderr} = '';
$coming->query('SELECT 1');
unlike($coming->{stderr}, qr/ERROR:  (?!58000)/, 'the join that came was not held up');
is($running->query_safe($join), '30000', 'sessions go on');
like(slurp_file($node->logfile), qr/gpujoin server \(PID $pid\) is no use: it has not answered for 2000 ms/,
	'and the log says why');
$coming->quit;

# What one session finds out, all plan by: here the server is gone and the supervisor cannot know.
$pid = server_pid($node);
my $supervisor = supervisor_pid($pid);
kill 'STOP', $supervisor;
kill 'KILL', $pid;
ok(is_planned(), 'joins are planned while nobody has noticed that the server is gone');
$running->query_until(qr/started/, "\\echo started\n$join;\n");
ok(wait_until(sub { !is_planned() }), 'and with core as soon as one could not be opened');
is(status($node, 'reason'), 'the server does not answer', 'of which the status tells');
kill 'CONT', $supervisor;
ok(wait_until_ready($node, $pid), 'until the next server is ready');
ok(is_planned(), 'and plans are as before');
$running->query('SELECT 1');    # whatever became of the join that waited
$running->{stderr} = '';
is($running->query_safe($join), '30000', 'and joins executed');
$running->quit;

# The supervisor is stopped for longer than the server may be.
$pid = server_pid($node);
$supervisor = supervisor_pid($pid);
kill 'STOP', $supervisor;
sleep 5;
kill 'CONT', $supervisor;
sleep 1;
is(server_pid($node), $pid, 'a supervisor that was late does not replace the server');
is(status($node, 'reason'), '', 'nor doubt it');

# A server that is stopped for a while only loses nothing.
$node->safe_psql('postgres', q{ALTER SYSTEM SET gpujoin.server_timeout = '10min'});
$node->reload;
sleep 3;    # for the supervisor to read it
kill 'STOP', $pid;
my $waiting = $node->background_psql('postgres');
$waiting->query_until(qr/started/, "\\echo started\n$join;\n");
sleep 3;
kill 'CONT', $pid;
$waiting->quit;
is(server_pid($node), $pid, 'within gpujoin.server_timeout, which a reload changes, a server may be stopped');
$node->stop;
done_testing();
