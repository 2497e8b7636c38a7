# The view gpujoin_running, of joins that take long: each process with how far it has come, until it has ended, whatever ends
# it. And joins that are cancelled are none that have failed.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

my $node = make_node('running', 'gpujoin.force = on', 'max_parallel_workers_per_gather = 0', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0',
	'min_parallel_table_scan_size = 0', 'synchronize_seqscans = off');  # the slow rows come last
start_ready($node);
$node->safe_psql('postgres', 'CREATE TABLE r AS SELECT g AS k, md5(g::text) AS t FROM generate_series(1, 400000) g; ANALYZE r');

# Most of a table is read soon, the rest never is.
my $slow = "(SELECT k FROM r WHERE k < 390000 OR pg_sleep(0.1) IS NOT NULL OFFSET 0)";
my %queries = (
	building => "SELECT count(*) FROM (SELECT k FROM r OFFSET 0) a JOIN $slow b USING (k)",
	probing => "SELECT count(*) FROM $slow a JOIN (SELECT k FROM r WHERE k % 2 = 0 OFFSET 0) b USING (k)");

sub is_running
{
	my ($what, $result) = @_;
	return wait_until(sub { $node->safe_psql('postgres', "SELECT $what FROM gpujoin_running") eq $result });
}

# Which of both sides is the build side is the planner's to choose.
for my $query (values %queries)
{
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	$session->query_until(qr/started/, "\\echo started\n$query;\n");
	ok(is_running("count(*), bool_and(pid = $pid AND database = 'postgres' AND leader_pid IS NULL AND device LIKE 'CPU%' AND bytes > 0
		AND (phase = 'building' AND build_rows > 100000 OR phase = 'probing' AND build_rows >= 200000 AND probe_rows > 100000))", '1|t'),
		'a join that runs is shown');
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	ok(is_running('count(*)', '0'), 'until it is cancelled');
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
	eval { $session->quit };
}
is($node->safe_psql('postgres', "SELECT joins, failed, cancelled FROM pg_stat_gpujoin WHERE datname = 'postgres'"), '2|0|2', 'that is no failure');

my ($rc, $out, $err) = $node->psql('postgres', "SET statement_timeout = '500ms'; $queries{building}");
like($err, qr/statement timeout/, 'a join times out');
is($node->safe_psql('postgres', "SELECT failed, cancelled FROM pg_stat_gpujoin WHERE datname = 'postgres'"), '0|3', 'which is no failure either');

# A process that ends, with those that work for it.
my $session = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $session->query_safe('SELECT pg_backend_pid()');
$session->query_until(qr/started/, "\\echo started\nSET max_parallel_workers_per_gather = 2;\n"
	  . "SELECT count(*) FROM r a JOIN r b ON a.k = b.k WHERE a.k < 300000 OR pg_sleep(0.1) IS NOT NULL AND length(a.t || b.t) > 1;\n");
ok(is_running("count(*) FILTER (WHERE pid = $pid AND leader_pid IS NULL), count(*) FILTER (WHERE leader_pid = $pid) > 0", '1|t'), 'workers name their leader');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
ok(is_running('count(*)', '0'), 'and end with it');
eval { $session->quit };
is($node->safe_psql('postgres', 'SELECT failed FROM gpujoin_statistics()'), '0', 'nor has that failed');
is($node->safe_psql('postgres', 'SELECT count(*) FROM r a JOIN r b USING (k)'), '400000', 'joins go on');
$node->stop;

done_testing();
