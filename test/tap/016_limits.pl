# Limits of the machine: the server is the first to go when memory runs out, takes what memory is left beside
# shared_buffers, and refuses joins at once where there is no descriptor for them; idle sessions hold none of its memory.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use List::Util qw(max);
use GpuJoinTest;

my $node = make_node('limits', "shared_buffers = '16MB'");
start_ready($node);
my $server = server_pid($node);
cmp_ok(slurp_file("/proc/$server/oom_score_adj"), '>=', 900, 'the server is the first to go when memory runs out');

my $memory = status($node, 'host_memory');
$node->append_conf('postgresql.conf', "shared_buffers = '80MB'\n");
$node->restart;
wait_until_ready($node) or die 'gpujoin is not ready';
is($memory - status($node, 'host_memory'), 32 << 20, 'joins take half of what shared_buffers leaves');

$node->safe_psql('postgres', q{
	CREATE TABLE a AS SELECT g AS k, 'a' || g AS t FROM generate_series(1, 10000) g;
	CREATE TABLE b AS SELECT g AS k, 'b' || g AS t FROM generate_series(1, 10000) g;
	ANALYZE a, b;
	ALTER DATABASE postgres SET gpujoin.force = on;
	ALTER DATABASE postgres SET max_parallel_workers_per_gather = 0;});
my $join = 'SELECT count(*), max(a.t), max(b.t) FROM a JOIN b USING (k)';
my $answer = '10000|a9999|b9999';

sub open_descriptors { return grep { /^\d+$/ } slurp_dir("/proc/$_[0]/fd") }
sub allow_descriptors
{
	my ($pid, $number) = @_;
	system_or_bail('prlimit', '--pid', $pid, "--nofile=$number:");
}

# A server that may open ten more: each cursor that is open holds a connection.
$server = server_pid($node);
my $before = (slurp_file("/proc/$server/limits") =~ /^Max open files\s+(\d+)\s+(\d+)/m)[0];
is($before, (slurp_file("/proc/$server/limits") =~ /^Max open files\s+\d+\s+(\d+)/m)[0], 'the server takes all descriptors that it may');
allow_descriptors($server, 11 + max(open_descriptors($server)));
my $cursors = "\\set VERBOSITY verbose\n\\set ON_ERROR_ROLLBACK on\nBEGIN;\n";
$cursors .= "DECLARE c$_ CURSOR FOR SELECT a.t, b.t FROM a JOIN b USING (k);\nFETCH 1 FROM c$_;\n" for (1 .. 30);
my ($out, $err);
IPC::Run::run([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ], '<', \"$cursors\nFETCH 1 FROM c1;\nCOMMIT;\n", '>', \$out, '2>', \$err);
my $fetched = () = $out =~ /^a\d+\|/mg;
my $refused = () = $err =~ /ERROR:  53000: the gpujoin server has no file descriptor.*\nHINT: .*open files/g;
cmp_ok($fetched, '>', 5, "as many joins are taken as there are descriptors for ($fetched)");
cmp_ok($refused, '>', 5, "the others are refused ($refused)");
is($fetched + $refused, 31, 'and none for another reason') or diag($err);
is($node->safe_psql('postgres', $join), $answer, 'then there are descriptors again');
is(server_pid($node), $server, 'for the same server');
allow_descriptors($server, $before);

# A session that may open one more, where the server's shared memory needs another.
my $session = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $session->query_safe('SELECT pg_backend_pid()');
$session->query_safe("SET gpujoin.enabled = off; $join; SET gpujoin.enabled = on");
$session->query_safe("EXPLAIN $join");
my %used = map { $_ => 1 } open_descriptors($pid);
my @free = grep { !$used{$_} } (0 .. 1 + max(keys %used), 2 + max(keys %used));
my ($allowed) = slurp_file("/proc/$pid/limits") =~ /^Max open files\s+(\d+)/m;
allow_descriptors($pid, $free[1]);
$session->query("\\set VERBOSITY verbose\n$join");
like($session->{stderr}, qr/ERROR:  53000: could not .*\nHINT:  Close cursors/, 'a session without descriptors is told so');
$session->{stderr} = '';
allow_descriptors($pid, $allowed);
is($session->query($join), $answer, 'and joins when it has some');
$session->quit;

# Idle sessions keep nothing of the server's memory, whether it lives or not.
my @sessions = map { $node->background_psql('postgres', on_error_stop => 0) } (1 .. 4);
my @pids = map { $_->query_safe('SELECT pg_backend_pid()') } @sessions;
sub mappings { return scalar grep { slurp_file("/proc/$_/maps") =~ /memfd:gpujoin/ } @pids }
$_->query_safe("BEGIN; $join") for @sessions;
is(mappings(), 4, 'sessions map the memory of the server');
kill 'KILL', $server;
wait_until_ready($node, $server) or die 'gpujoin is not ready';
is(mappings(), 4, 'and keep it as long as their transactions last');
$_->query_safe('COMMIT') for @sessions[0 .. 2];
$sessions[3]->query('SELECT 1 / 0; ROLLBACK');
ok(wait_until(sub { mappings() == 0 }), 'but not when they idle after the loss of the server');
is($sessions[0]->query_safe($join), $answer, 'the next join maps it again');
ok(wait_until(sub { mappings() == 0 }), 'until the session idles');
$sessions[0]->query_safe("BEGIN; DECLARE c CURSOR FOR SELECT a.t FROM a JOIN b USING (k); FETCH c; COMMIT; $join");
$sessions[0]->query('SELECT 1 / 0');
ok(wait_until(sub { mappings() == 0 }), 'also after an error');
$_->quit for @sessions;
$node->stop;
done_testing();
