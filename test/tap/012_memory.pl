# What a backend holds stays bounded: over many rows, over many joins of one query, and over many queries that fail.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Cwd qw(realpath);
use Time::HiRes qw(sleep time);
use GpuJoinTest;

my $node = make_node('memory');
start_ready($node);
$node->safe_psql('postgres', q{
	CREATE TABLE many AS SELECT g AS k, g % 100 AS v, 'text of row ' || g AS t FROM generate_series(1, 500000) g;
	CREATE TABLE few AS SELECT g % 1000 AS k, g AS v, 'match ' || g AS t FROM generate_series(1, 25000) g;
	ANALYZE many, few;
	ALTER DATABASE postgres SET gpujoin.force = on;
	ALTER DATABASE postgres SET max_parallel_workers_per_gather = 0;});
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->set_query_timer_restart(1);    # the time is a query's, not the session's
my $pid = $session->query_safe('SELECT pg_backend_pid()');

# Memory of its own, in MB: the arena, which it shares with the server, is not counted.
sub own_memory
{
	return (slurp_file("/proc/$pid/status") =~ /RssAnon:\s+(\d+) kB/)[0] / 1024;
}

# The most that the backend holds while it runs a query, over what it held before, in MB; and its output.
sub highest
{
	my ($query) = @_;
	my $before = own_memory();
	my $highest = $before;
	$session->query_until(qr/started/, "\\echo started\n$query;\n");
	wait_until(sub { index($query, $node->safe_psql('postgres', "SELECT left(query, 60) FROM pg_stat_activity WHERE pid = $pid")) == 0 })
	  or die 'the query does not begin';
	while (is_active($node, $pid))
	{
		my $now = own_memory();
		$highest = $now if $now > $highest;
		sleep 0.05;
	}
	return ($highest - $before, $session->query_until(qr/\n/, "\\echo\n"));
}

is($session->query_safe('SELECT count(*) FROM many JOIN few USING (k)'), '24975', 'a join, to begin with');
$session->query_safe('BEGIN; DECLARE c CURSOR FOR SELECT * FROM many JOIN few USING (k); FETCH 1 FROM c');
my @mappings = grep { /memfd:gpujoin/ } split /^(?=[0-9a-f]+-[0-9a-f]+ )/m, slurp_file("/proc/$pid/smaps");
cmp_ok(scalar(@mappings), '>', 0, 'a backend maps the memory that it shares with the server');
is(scalar(grep { !/^VmFlags:.* dd\b/m } @mappings), 0, 'and leaves it out when it dumps core');
$session->query_safe('COMMIT');
my ($mb, $out) = highest(q{SELECT count(*), max(a.t), max(b.t) FROM many a JOIN few b ON a.k % 1000 = b.k});
like($out, qr/^12500000\|text of row 99999\|match 9999/, 'a join gives 12.5 million rows');
cmp_ok($mb, '<', 40, sprintf('with little memory (%.0f MB)', $mb));
($mb, $out) = highest(q{SELECT count(*), max(b.t) FROM many a LEFT JOIN few b ON a.k % 1000 = b.k AND length(a.t || b.t) % 2 = 0});
like($out, qr/^\d{7,}\|match/, 'as many candidates are decided');
cmp_ok($mb, '<', 40, sprintf('with as little (%.0f MB)', $mb));
my $one = 'SELECT a.k, a.v, a.t, b.v AS w FROM many a JOIN many b USING (k)';
($mb, $out) = highest("SELECT count(*), max(t), sum(v), sum(w) FROM (" . join(' UNION ALL ', ($one) x 24) . ") s");
like($out, qr/^12000000\|/, 'a query appends 24 joins');
cmp_ok($mb, '<', 80, sprintf('which do not add up (%.0f MB)', $mb));

# Failures, by the hundred, in subtransactions and at the top. Descriptors of files in the data directory are not
# counted: core opens and keeps those of tables and indexes, catalogs included, when it comes to read them.
sub figures
{
	my $data = realpath($node->data_dir);
	my @links = grep { defined } map { readlink "/proc/$pid/fd/$_" } slurp_dir("/proc/$pid/fd");
	return $session->query_safe(q{SELECT count(*) FROM pg_backend_memory_contexts WHERE name LIKE 'gpujoin%'}) . ' contexts, '
	  . (grep { index($_, "$data/") != 0 } @links) . ' descriptors';
}
$session->query_safe(q{CREATE PROCEDURE fail_often(times int) LANGUAGE plpgsql AS $$ BEGIN
	FOR i IN 1 .. times LOOP
		BEGIN PERFORM 1 / (a.k - 7000) FROM many a JOIN few b ON a.k = b.v; EXCEPTION WHEN division_by_zero THEN END;
		BEGIN PERFORM 1 FROM many a JOIN few b ON a.k = b.v AND 1 / (a.k - b.v - i % 2) >= 0; EXCEPTION WHEN division_by_zero THEN END;
	END LOOP; END $$; CALL fail_often(20)});
my $figures = figures();
my $before = own_memory();
$session->query_safe('CALL fail_often(150)');
for (1 .. 30)
{
	$session->query('SELECT 1 / (a.k - 7000) FROM many a JOIN few b ON a.k = b.v');
	die 'no error' unless $session->{stderr} =~ /division by zero/;
	$session->{stderr} = '';
}
is(figures(), $figures, "failures leave nothing in the backend ($figures)");
cmp_ok(own_memory() - $before, '<', 10, sprintf('nor memory (%.1f MB)', own_memory() - $before));
ok(wait_until_idle($node), 'nor anything in the server');
is($session->query_safe('SELECT count(*) FROM many JOIN few USING (k)'), '24975', 'and joins go on');
$session->quit;
$node->stop;
done_testing();
