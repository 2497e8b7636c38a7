# What VACUUM does to tables whose columns are kept while rows change: vacuums that have ended, have failed, were ended,
# or are running. Rows come as the table has them; where no vacuum has set bits of the map, what is kept stays in use.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

# Most pages of the first table do not lie in shared buffers: what the map does not prove is read from the table.
my $node = make_node('vacuums', 'autovacuum = off', "gpujoin.keep_memory = '64MB'", "shared_buffers = '4MB'",
	'max_parallel_workers_per_gather = 0');
start_ready($node);
my %rows = (changed => 100000, few => 10000);
$node->safe_psql('postgres', "CREATE TABLE $_ AS SELECT i, i % 40 AS k, repeat('x', 100) AS t FROM generate_series(1, $rows{$_}) i") for keys %rows;
$node->safe_psql('postgres', 'VACUUM ANALYZE');

my $table = 'changed';
sub query { return "SELECT k, sum(i) AS s, count(*) AS c FROM public.$table WHERE i >= 0 GROUP BY k"; }
# Nothing is kept anew by queries.
my $force = 'SET gpujoin.force = on; SET gpujoin.aggregate = on; SET gpujoin.keep_in_background = on';
sub keep
{
	$node->safe_psql('postgres', "VACUUM $table");
	$node->safe_psql('postgres', "SELECT gpujoin_forget('$table'); SELECT gpujoin_keep('$table', '{i, k}')");
}
# Of blocks that have changed, of those which have the new rows, and of those at the end that nothing was written to.
sub is_kept
{
	my ($what) = @_;
	my $plan = $node->safe_psql('postgres', "$force; EXPLAIN (ANALYZE) " . query());
	my $read = $plan =~ m{Kept: 1 of 1 chunks, blocks read (\d+)} ? $1 : 'Inf';
	cmp_ok($read, '<=', 64, $what) or diag($plan);
}
sub selected { return "SELECT string_agg(q::text, ' ' ORDER BY k) FROM (" . query() . ') AS q'; }
sub rows { return $node->safe_psql('postgres', "$_[0]; " . selected()); }
sub is_right { is(rows($force), rows('SET gpujoin.enabled = off'), $_[0]); }
# Rows of the first page.
my $next = 2;
sub change { $node->safe_psql('postgres', "UPDATE $table SET i = 1000000 + i WHERE i = " . $next++); }

keep();
is_kept('all is kept');
for my $row (1, 50000, 99000)
{
	$node->safe_psql('postgres', "UPDATE changed SET i = -i WHERE i = $row");
	is_kept("and stays kept when row $row changes");
	is_right("which is seen");
}
$node->safe_psql('postgres', 'BEGIN; UPDATE changed SET i = -i WHERE i = 3000; ROLLBACK');
is_kept('and when a row has not changed after all');
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

# Nobody looks before the first page has its bit again.
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
is_kept('what is kept anew is kept');
is_right('rows that have changed then are seen');

# Who has the lock that VACUUM takes, or finds that somebody has it, cannot tell: where a change gives the map another version
# (from minor versions of 17 and 18 on) the table is read.
my $lsn = 'SELECT lsn FROM page_header(get_raw_page(\'changed\', \'vm\', 0))';
my $has_pageinspect = ($node->psql('postgres', 'CREATE EXTENSION pageinspect'))[0] == 0;
sub version { return $has_pageinspect ? $node->safe_psql('postgres', $lsn) : ''; }
# The keeper, who would make it anew of the pages as they are, does not come; nor does a query, which leaves it to him.
my $explained = 'EXPLAIN (ANALYZE) ' . query();
my $none = qr/Kept: 0 of 1 chunks/;
my $keeper = call_keeper($node);
keep();
my $before = version();
my $holder = $node->background_psql('postgres');
$holder->query_safe("$force; BEGIN; LOCK TABLE changed IN SHARE UPDATE EXCLUSIVE MODE");
change();
my $tells = version() eq $before;
is($holder->query_safe(selected()), rows('SET gpujoin.enabled = off'), 'rows that have changed are seen by who has locked the table');
SKIP:
{
	skip 'a change gives the map no other version', 2 if $tells;
	like($holder->query_safe($explained), $none, 'and others are read by him');
	like($node->safe_psql('postgres', "$force; $explained"), $none, 'and by others');
}
is_right('who see rows that have changed, too');
$holder->query_safe('COMMIT');
unlike($node->safe_psql('postgres', "$force; $explained"), $none, 'until he gives it up');
$holder->quit;
kill 'CONT', $keeper;

# Of the second one all pages do: what the map does not prove they prove. So they do again after that.
$table = 'few';
sub prove { rows('SET gpujoin.enabled = off'); is_kept($_[0]); }
keep();
for my $round (1, 2)
{
	change();
	$node->safe_psql('postgres', 'VACUUM few');
	prove("pages prove what VACUUM has not changed ($round)");
	is_right('and nothing else');
	change();
	is_kept('what they have proven stays so');
	is_right('but for what has changed since');
	$node->safe_psql('postgres', "UPDATE few SET i = 1000000 + i WHERE i = 5000 + $round");
	$node->safe_psql('postgres', 'VACUUM few');
	is_right('also before VACUUM');
}

# A function of an index that VACUUM calls looks at the table, when bits are set already.
$node->safe_psql('postgres', q{CREATE FUNCTION looked(v int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
	BEGIN
		IF v = 2000150 AND current_setting('test.looks', true) = 'on' THEN
			RAISE NOTICE 'sees %', (SELECT sum(s) FROM (} . query() . q{) AS q);
		END IF;
		RETURN v;
	END $$});
$node->safe_psql('postgres', 'CREATE INDEX ON few USING brin (looked(i)) WITH (pages_per_range = 1)');
keep();
change();
$node->safe_psql('postgres', 'INSERT INTO few SELECT 2000000 + i, i % 40, repeat(\'x\', 100) FROM generate_series(1, 300) i');
my $sum = $node->safe_psql('postgres', 'SELECT sum(i) FROM few WHERE i >= 0');
my ($rc, $out, $err) = $node->psql('postgres', "$force; SET test.looks = on;\nVACUUM (INDEX_CLEANUP ON) few");
like($err, qr/NOTICE:  sees $sum\b/, 'rows that have changed are seen within VACUUM');
is_right('and after it');
$node->stop;
done_testing();
