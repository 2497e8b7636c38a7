# Build sides for which memory is short and that keys do not divide: they are cut into pieces, which all rows pass, and the
# rows are core's for every kind of join, alone, in a chain and below aggregates.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

my $node = make_node('pieces', "gpujoin.host_memory = '1MB'");
start_ready($node);
$node->safe_psql('postgres', q{
	ALTER DATABASE postgres SET gpujoin.force = on;
	ALTER DATABASE postgres SET max_parallel_workers_per_gather = 0;
	ALTER DATABASE postgres SET statement_timeout = '600s';
	CREATE TABLE probe AS SELECT g AS id, lpad(CASE WHEN g % 30 = 0 THEN NULL WHEN g % 5003 = 1 THEN '7' ELSE (g % 400 + 400)::text END, 60) AS k,
		g % 17 AS n, 'p' || g AS t FROM generate_series(-3000, 35000, 4) g;
	CREATE TABLE build AS SELECT g AS id, lpad(CASE WHEN g % 40 = 0 THEN NULL WHEN g < 20000 THEN '7' ELSE (g % 900)::text END, 60) AS k,
		g % 13 AS n, repeat(md5(g::text), 2) AS t FROM generate_series(1, 25000) g;
	CREATE TABLE small AS SELECT g AS n, 's' || g AS t FROM generate_series(0, 20, 3) g;
	CREATE INDEX ON build (id); CREATE INDEX ON build (k); CREATE INDEX ON probe (id); CREATE INDEX ON probe (k);
	CREATE FUNCTION hidden_build() RETURNS SETOF build LANGUAGE plpgsql STABLE ROWS 2 AS $$ BEGIN RETURN QUERY SELECT * FROM build; END $$;
	CREATE FUNCTION hidden_probe() RETURNS SETOF probe LANGUAGE plpgsql STABLE ROWS 2 AS $$ BEGIN RETURN QUERY SELECT * FROM probe; END $$;
	VACUUM ANALYZE probe, build, small});

# What is thought to have two rows is the build side of any join. Core reads the table itself.
sub compare
{
	my ($name, $settings, $query, $core) = @_;
	my $hashed = 'SELECT count(*), sum(hashtextextended(s::text, 0)::numeric) FROM (%s) s';
	my $run = sprintf "$settings; $hashed; EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) %s", ($query =~ s/\{B\}/hidden_build()/gr) x 2;
	my ($rc, $out, $err) = $node->psql('postgres', $run);
	my $expected = $node->safe_psql('postgres', sprintf "SET gpujoin.enabled = off; $hashed", ($core // $query) =~ s/\{B\}/build/gr);
	my ($rows, $plan) = split /\n/, $out, 2;
	is($rows, $expected, "$name: the rows are core's") or diag($err);
	my $pieces = ($plan // '') =~ /Partitions: (\d+)/ ? $1 : 0;
	cmp_ok($pieces, '>', 1, "and came from $pieces partitions") or diag($plan);
}

my %conditions = (
	'a range' => 'b.id > a.id AND b.id < a.id + 3 AND a.id > b.id - 3',
	'a range with a residual' => 'b.id > a.id AND b.id < a.id + 3 AND a.id > b.id - 3 AND length(a.t || b.t || b.n) % 3 = 1',
	'a hot key' => 'a.k = b.k AND b.t IS NOT NULL',
	'a hot key and a filter' => 'a.k = b.k AND a.n <> b.n',
	'a hot key with a residual' => 'a.k = b.k AND length(a.t || b.t || b.n) % 3 = 1');
my $unmatched = 'SELECT NULL, NULL, b.id, b.t FROM {B} b WHERE NOT EXISTS (SELECT FROM probe a WHERE %s)';
for my $term (sort keys %conditions)
{
	my $on = $conditions{$term};
	my $left = "SELECT a.id AS x, a.t, b.id AS y, b.t AS w FROM probe a LEFT JOIN {B} b ON $on";
	compare("a left join on $term", 'SET gpujoin.chain = off', $left);
	compare("a full join on $term", 'SET gpujoin.chain = off', $left =~ s/LEFT/FULL/r, "$left UNION ALL " . sprintf($unmatched, $on));
	my $semi = "SELECT a.id AS x, a.t, a.k AS y FROM probe a WHERE EXISTS (SELECT FROM {B} b WHERE $on AND b.t > '')";
	my $anti = $semi =~ s/EXISTS/NOT EXISTS/r;
	compare("a semijoin on $term", 'SET gpujoin.chain = off', $semi);
	compare("an antijoin on $term", 'SET gpujoin.chain = off', $anti);
	next if $term =~ /residual/;
	my $grouped = 'SELECT x % 7, count(*), count(y), min(y), sum(x) FROM (%s) s GROUP BY 1';
	my $chain = 'SET gpujoin.chain = on; SET gpujoin.aggregate = on';
	compare("groups of a left join on $term", $chain, sprintf($grouped =~ s/x % 7/x %% 7/r, $left));
	$chain = 'SET gpujoin.chain = on';
	compare("a chain with a left join on $term", $chain, "SELECT a.id, b.id, b.t, c.t FROM probe a LEFT JOIN {B} b ON $on LEFT JOIN small c ON c.n = a.n");
	compare("a chain with a semijoin on $term", $chain, "SELECT a.id, c.t FROM probe a LEFT JOIN small c ON c.n = a.n WHERE EXISTS (SELECT FROM {B} b WHERE $on AND b.t > '')");
	compare("a chain with an antijoin on $term", $chain, "SELECT a.id, c.t FROM probe a LEFT JOIN small c ON c.n = a.n WHERE NOT EXISTS (SELECT FROM {B} b WHERE $on AND b.t > '')");

	# Searched by what an earlier stage has given.
	for my $first ('JOIN', 'LEFT JOIN')
	{
		my $two = "small c $first probe a ON a.n = c.n + 9";
		compare("a left join on $term, searched by rows of a $first", $chain, "SELECT c.n, a.id, b.id, b.t FROM $two LEFT JOIN {B} b ON $on");
		compare("a semijoin on $term, searched by rows of a $first", $chain, "SELECT c.n, a.id FROM $two WHERE EXISTS (SELECT FROM {B} b WHERE $on AND b.t > '')");
		compare("an antijoin on $term, searched by rows of a $first", $chain, "SELECT c.n, a.id FROM $two WHERE NOT EXISTS (SELECT FROM {B} b WHERE $on AND b.t > '')");
	}
}
compare('two left joins of which no build side fits', 'SET gpujoin.chain = on',
	"SELECT a.id, b.id, d.id, d.t FROM probe a LEFT JOIN {B} b ON $conditions{'a range'} LEFT JOIN {B} d ON d.id > a.id AND d.id < a.id + 2");
compare('a limit', 'SET gpujoin.chain = off', "SELECT count(t) FROM (SELECT a.t FROM probe a LEFT JOIN {B} b ON $conditions{'a range'} AND b.t > '' LIMIT 9000) s");
compare('a subquery that is run again', 'SET gpujoin.chain = off',
	"SELECT x, (SELECT sum(a.id + coalesce(b.id, 0)) FROM probe a LEFT JOIN {B} b ON $conditions{'a range'} AND b.n <> x AND b.t > '') FROM generate_series(1, 3) x");
ok(wait_until_idle($node), 'nothing of it is left');
$node->stop;
done_testing();
