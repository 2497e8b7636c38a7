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

# What is thought to have few rows is the build side of any join, which core does not need.
my $hidden = 'hidden_build()';
sub compare
{
	my ($name, $settings, $query, $core) = @_;
	my $hashed = 'SELECT count(*), sum(hashtextextended(s::text, 0)::numeric) FROM (%s) s';
	my $run = sprintf "$settings; $hashed; EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) $hashed", ($query =~ s/\{B\}/$hidden/gr) x 2;
	my ($rc, $out, $err) = $node->psql('postgres', $run);
	my $expected = $node->safe_psql('postgres', sprintf "SET gpujoin.enabled = off; $hashed", ($core // $query) =~ s/\{B\}/build/gr);
	my ($rows, $plan) = split /\n/, $out, 2;
	is($rows, $expected, "$name: the rows are core's") or diag($err);
	my $pieces = ($plan // '') =~ /Partitions: (\d+)/ ? $1 : 0;
	cmp_ok($pieces, '>', 1, "and came from $pieces partitions") or diag($plan);
	return $plan;
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
# By what two earlier inputs have given: an inner join is in the chain and divided by a part of its keys, or cut.
for my $on ('b.id = a.id AND b.n <> c.n', 'b.id > a.id AND b.id < a.id + 3 AND b.n <> c.n', 'b.n = c.n AND b.id = a.id')
{
	my $two = 'small c JOIN probe a ON a.n = c.n';
	compare("an inner join on $on", 'SET gpujoin.chain = on', "SELECT c.n, a.id, b.id, b.t FROM $two JOIN {B} b ON $on");
	compare("a left join on $on", 'SET gpujoin.chain = on', "SELECT c.n, a.id, b.id, b.t FROM $two LEFT JOIN {B} b ON $on");
	compare("a semijoin on $on", 'SET gpujoin.chain = on', "SELECT c.n, a.id FROM $two WHERE EXISTS (SELECT FROM {B} b WHERE $on AND b.t || b.k <> a.t)");
	compare("an antijoin on $on", 'SET gpujoin.chain = on', "SELECT c.n, a.id FROM $two WHERE NOT EXISTS (SELECT FROM {B} b WHERE $on AND b.t || b.k <> a.t)");
}
compare('two left joins of which no build side fits', 'SET gpujoin.chain = on',
	"SELECT a.id, b.id, d.id, d.t FROM probe a LEFT JOIN {B} b ON $conditions{'a range'} LEFT JOIN {B} d ON d.id > a.id AND d.id < a.id + 2");
# Whose batches no memory is left to sort.
$node->safe_psql('postgres', "CREATE TABLE late AS SELECT g AS id, 'x' || g AS t FROM generate_series(-40000, 200) g; ANALYZE late");
compare("a forced $_", 'SET gpujoin.chain = off; SET gpujoin.algorithm = sort_merge', "SELECT a.id, a.t, b.id, b.t FROM late a $_ {B} b ON b.id > a.id AND b.id < a.id + 3")
  for ('JOIN', 'LEFT JOIN');
compare('a limit', 'SET gpujoin.chain = off', "SELECT count(t) FROM (SELECT a.t FROM probe a LEFT JOIN {B} b ON $conditions{'a range'} AND b.t > '' LIMIT 9000) s");
compare('a subquery that is run again', 'SET gpujoin.chain = off',
	"SELECT x, (SELECT sum(a.id + coalesce(b.id, 0)) FROM probe a LEFT JOIN {B} b ON $conditions{'a range'} AND b.n <> x AND b.t > '') FROM generate_series(1, 3) x");

# In parallel: what cannot be divided by keys one participant joins by itself.
my $parallel = 'SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET cpu_tuple_cost = 1; SET max_parallel_workers_per_gather = 2';
$hidden = '(SELECT * FROM build WHERE n + 0 = n * 1 AND id + 0 = id * 1)';
for my $term (grep { !/filter/ } sort keys %conditions)
{
	my $on = $conditions{$term};
	my $left = "SELECT a.id AS x, a.t, b.id AS y, b.t AS w FROM probe a LEFT JOIN {B} b ON $on";
	my $off = "$parallel; SET gpujoin.chain = off";
	like(compare("in parallel, a left join on $term", $off, $left), qr/Parallel Custom Scan/, 'of a parallel join');
	compare("in parallel, a full join on $term", $off, $left =~ s/LEFT/FULL/r, "$left UNION ALL " . sprintf($unmatched, $on));
	my $semi = "SELECT a.id AS x, a.t, a.k AS y FROM probe a WHERE EXISTS (SELECT FROM {B} b WHERE $on AND b.t > '')";
	compare("in parallel, a semijoin on $term", $off, $semi);
	compare("in parallel, an antijoin on $term", $off, $semi =~ s/EXISTS/NOT EXISTS/r);
}

# Of a build child that cannot be read again, or must not be, its participants keep what they have read.
$node->safe_psql('postgres', q{CREATE FUNCTION volatile_id(int) RETURNS int LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$ BEGIN RETURN $1; END $$});
compare('in parallel, functions with side effects', "$parallel; SET gpujoin.chain = off",
	'SELECT a.id, a.t, b.t FROM probe a JOIN (SELECT volatile_id(id) AS id, t FROM {B} c) b ON a.id = b.id');
SKIP:
{
	skip 'no ICU', 3 if $node->safe_psql('postgres', "SELECT count(*) FROM pg_collation WHERE collprovider = 'i'") eq '0';
	$node->safe_psql('postgres', q{
		CREATE COLLATION loose (provider = icu, locale = 'und', deterministic = false);
		CREATE TABLE named AS SELECT id, t, ('n' || n) COLLATE loose AS name FROM build;
		CREATE TABLE names AS SELECT g, ('n' || g) COLLATE loose AS name FROM generate_series(0, 12) g;
		ANALYZE named, names});
	my $plan = compare("in parallel, over core's parallel hash join", "$parallel; SET gpujoin.chain = off; SET enable_mergejoin = off; SET enable_nestloop = off",
		'SELECT a.id, a.t, b.t, b.g FROM (SELECT * FROM build UNION ALL SELECT * FROM build) a JOIN (SELECT * FROM named JOIN names USING (name)) b ON a.id = b.id');
	like($plan, qr/Parallel Custom Scan.*Parallel Hash Join/s, 'which is the build child of a parallel join');
}

# Groups by texts, for which a build side has left no memory; and texts that are compressed in files, of which a few rows fill it.
$node->safe_psql('postgres', q{
	CREATE TABLE texts AS SELECT g % 300 AS id, repeat(chr(97 + g % 26), 200 + g * 7919 % 7800) AS a, repeat(md5((g % 151)::text), 1 + g % 9) AS b FROM generate_series(1, 600) g;
	INSERT INTO texts SELECT g, repeat('long', 50000 + g), 'b' FROM generate_series(1, 20) g;
	ANALYZE texts});
for my $case (['t.a, t.b', 't.id = p.n + 5'], ['t.a, p.t', 't.id = p.n + 5 AND p.id < 3000'], ['t.a, t.b', 't.id >= p.n + 280'])
{
	my ($keys, $on) = @$case;
	my $query = "SELECT count(*), sum(hashtextextended(s::text, 0)::numeric) FROM
		(SELECT $keys, count(*), sum(p.id), max(p.id), avg(p.n) FROM probe p JOIN texts t ON $on GROUP BY 1, 2) s";
	my ($rc, $out, $err) = $node->psql('postgres', "SET gpujoin.aggregate = on; $query; EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) $query");
	my ($rows, $plan) = split /\n/, $out, 2;
	is($rows, $node->safe_psql('postgres', "SET gpujoin.enabled = off; $query"), "groups by $keys: the rows are core's") or diag($err);
	like($plan // '', qr/GPU Aggregate.*Partitions: (?!1\b)\d/s, 'and came from several partitions of the engine');
}
ok(wait_until_idle($node), 'nothing of it is left');
$node->stop;
done_testing();
