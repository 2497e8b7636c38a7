# EXPLAIN shows what a join ran on in the end, and by which algorithm, where it has moved from its device to the CPU after
# it was sealed; and that is counted.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

use_fake_server();

my $node = make_node('moved');
start_ready($node);
$node->safe_psql('postgres', 'CREATE TABLE a AS SELECT g AS k, g AS v FROM generate_series(1, 100) g; ANALYZE');

sub explained
{
	return $node->safe_psql('postgres', 'SET gpujoin.force = on; SET gpujoin.algorithm = hash;'
		  . 'EXPLAIN (ANALYZE, TIMING off, SUMMARY off) SELECT a.v, b.v FROM a JOIN a b ON a.k = b.k');
}

sub moved { return $node->safe_psql('postgres', "SELECT joins, moved FROM pg_stat_gpujoin WHERE datname = 'postgres'"); }

my $plan = explained();
like($plan, qr/Algorithm: hash$/m, 'the algorithm of a join that stays');
like($plan, qr/Device: GPU 0: fake$/m, 'and its device');
is(moved(), '1|0', 'which it has not left');
append_to_file($node->data_dir . '/misbehaviour', 'moved');
$plan = explained();
like($plan, qr/Algorithm: nested_loop$/m, 'the algorithm of a join that has moved');
like($plan, qr/Device: CPU: fake$/m, 'and its device');
is(moved(), '2|1', 'it is counted among those that have');

# The server is told which query it is, as other sessions see it.
my $session = $node->background_psql('postgres');
my $pid = $session->query_safe('SELECT pg_backend_pid()');
for my $computed ('on', 'off')
{
	$session->query_safe("SET compute_query_id = $computed");
	$session->query_safe('SET gpujoin.force = on; SELECT a.v, b.v FROM a JOIN a b ON a.k = b.k');
	my $query = $node->safe_psql('postgres', "SELECT coalesce(query_id, 0) FROM pg_stat_activity WHERE pid = $pid");
	is(slurp_file($node->data_dir . '/opened_for'), $query, "the query's identifier, computed $computed");
	is($query ne '0', $computed eq 'on', 'is there, or is not');
}
$session->quit;

$node->stop;
done_testing();
