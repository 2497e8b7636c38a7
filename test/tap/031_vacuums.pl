# What VACUUM does to tables whose columns are kept while rows change: vacuums that have ended, have failed, were ended,
# or are running. Rows come as the table has them; where no vacuum has set bits of the map, what is kept stays in use.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

# Most pages do not lie in shared buffers: what the map does not prove is read from the table.
my $node = make_node('vacuums', 'autovacuum = off', "gpujoin.keep_memory = '64MB'", "shared_buffers = '2MB'",
	'max_parallel_workers_per_gather = 0');
start_ready($node);
$node->safe_psql('postgres', q{CREATE TABLE changed AS SELECT i, i % 40 AS k, repeat('x', 100) AS t FROM generate_series(1, 100000) i});
$node->safe_psql('postgres', 'VACUUM ANALYZE');

my $query = 'SELECT k, sum(i) AS s, count(*) AS c FROM changed WHERE i >= 0 GROUP BY k';
my $rows = "SELECT string_agg(q::text, ' ' ORDER BY k) FROM ($query) AS q";
# Nothing is kept anew by queries.
my $force = 'SET gpujoin.force = on; SET gpujoin.aggregate = on; SET gpujoin.keep_in_background = on';
sub keep
{
	$node->safe_psql('postgres', 'VACUUM changed');
	$node->safe_psql('postgres', "SELECT gpujoin_forget('changed'); SELECT gpujoin_keep('changed', '{i, k}')");
}
sub blocks_read
{
	my $plan = $node->safe_psql('postgres', "$force; EXPLAIN (ANALYZE) $query");
	$plan =~ m{Kept: 1 of 1 chunks, blocks read (\d+)} or diag("nothing is kept: $plan");
	return $1 // 'Inf';
}
sub is_right
{
	my ($what) = @_;
	is($node->safe_psql('postgres', "$force; $rows"), $node->safe_psql('postgres', "SET gpujoin.enabled = off; $rows"), $what);
}

# Of the block that has changed, of that which has the new row, and of those at the end that nothing was written to rows
# are read.
keep();
cmp_ok(blocks_read(), '<=', 64, 'all is kept');
for my $row (2, 50000, 99000)
{
	$node->safe_psql('postgres', "UPDATE changed SET i = -i WHERE i = $row");
	cmp_ok(blocks_read(), '<=', 64, "and stays kept when row $row changes");
	is_right("which is seen");
}
$node->safe_psql('postgres', 'BEGIN; UPDATE changed SET i = -i WHERE i = 3000; ROLLBACK');
cmp_ok(blocks_read(), '<=', 64, 'and when a row has not changed after all');
is_right('which is seen');

# It looks at all pages, one in a tenth of a second, and sets the bit of each.
my @slow = map { ('-c', $_) } ('SET vacuum_cost_delay = 100', 'SET vacuum_cost_limit = 1', q{SET application_name = 'slow'},
	'VACUUM (DISABLE_PAGE_SKIPPING) changed');
sub start_slow_vacuum
{
	my ($said) = @_;
	my $run = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), @slow ], '>', \my $out, '2>', $said);
	wait_until(sub { $node->safe_psql('postgres', 'SELECT coalesce(max(heap_blks_scanned), 0) >= 2 FROM pg_stat_progress_vacuum') eq 't' })
	  or die 'VACUUM does not begin';
	return $run;
}
sub end_slow_vacuum
{
	my ($run, $ending) = @_;
	$node->safe_psql('postgres', "SELECT pg_${ending}_backend(pid) FROM pg_stat_activity WHERE application_name = 'slow'");
	$run->finish;
}
# Rows of the first page change; nobody looks before it has its bit again.
my $next = 4;
sub change { $node->safe_psql('postgres', 'UPDATE changed SET i = 1000000 + i WHERE i = ' . $next++); }

for my $ending (qw(cancel terminate))
{
	keep();
	change();
	my $run = start_slow_vacuum(\my $said);
	is_right("rows that have changed are seen while VACUUM runs ($ending)");
	end_slow_vacuum($run, $ending);
	keep();
	change();
	$run = start_slow_vacuum(\$said);
	end_slow_vacuum($run, $ending);
	like($said, $ending eq 'cancel' ? qr/canceling statement/ : qr/terminating connection/, "VACUUM fails ($ending)");
	is_right("rows that have changed are seen after VACUUM has failed ($ending)");
}
keep();
change();
$node->safe_psql('postgres', 'VACUUM changed');
is_right('rows that have changed are seen after VACUUM');
keep();
change();
cmp_ok(blocks_read(), '<=', 64, 'what is kept anew is kept');
is_right('rows that have changed then are seen');

# A transaction that holds the lock itself, and one that others hold it in, can do without.
is($node->safe_psql('postgres', "$force; BEGIN; LOCK TABLE changed IN SHARE UPDATE EXCLUSIVE MODE; $rows; COMMIT"),
	$node->safe_psql('postgres', "SET gpujoin.enabled = off; $rows"), 'who has the lock reads the table');
$node->stop;
done_testing();
