# The keeper of a database: what scans or plans would use if it were kept is kept by a process of its own, which leaves when
# nobody asks any more, is in nobody's way, and may be missing.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

my $node = make_node('keeper', 'autovacuum = off', 'gpujoin.aggregate = on', 'gpujoin.keep_memory = 64MB', 'gpujoin.keep_in_background = on',
	'max_parallel_workers_per_gather = 0');
start_ready($node);

sub make_table
{
	my ($database, $table, $rows) = @_;
	$node->safe_psql($database, "CREATE TABLE $table AS SELECT i, i % 40 AS k, 't' || i % 9 AS t, repeat('x', 60) AS pad FROM generate_series(1, $rows) i");
	$node->safe_psql($database, "VACUUM ANALYZE $table");
}
sub kept_chunks { return $node->safe_psql($_[0], "SELECT coalesce(sum(chunks), 0) FROM gpujoin_kept WHERE relation = '$_[1]'::regclass"); }
sub keepers { return count_keepers($node); }
# In a session of its own: the last line is what the query gives.
sub forced { return $node->safe_psql($_[0], "SET gpujoin.force = on; SELECT '1', coalesce(sum(c), 0), coalesce(sum(s), 0) FROM ($_[1]) AS q"); }
sub core { return $node->safe_psql($_[0], "SET gpujoin.enabled = off; SELECT '1', coalesce(sum(c), 0), coalesce(sum(s), 0) FROM ($_[1]) AS q"); }

# Scans ask the second time. What is computed is kept, too.
make_table('postgres', 'sale', 900000);
my $query = "SELECT k, count(*) AS c, sum(i) AS s FROM sale WHERE k < 30 OR t = 't3' OR t LIKE '%4' GROUP BY k";
my $rows = core('postgres', $query);
for my $run (1 .. 4) { is(forced('postgres', $query), $rows, "run $run gives core's rows"); }
ok(wait_until(sub { kept_chunks('postgres', 'sale') eq '2' }), 'the keeper keeps what scans ask for');
ok(wait_until(sub { keepers() eq '0' }), 'and leaves');
is(forced('postgres', $query), $rows, "with kept columns the rows are core's");
like($node->safe_psql('postgres', "SET gpujoin.force = on; EXPLAIN (ANALYZE) $query"), qr/Kept: 2 of 2 chunks, blocks read 0/, 'which are used');

# What is computed for groups is asked for like any other column: no scan keeps it itself.
$node->safe_psql('postgres', "CREATE TABLE dated AS SELECT i, i % 10 AS m, date '2020-01-01' + i % 1500 AS d, repeat('x', 60) AS pad FROM generate_series(1, 100000) i");
$node->safe_psql('postgres', 'CREATE TABLE ten AS SELECT i AS m FROM generate_series(0, 8) i');
$node->safe_psql('postgres', 'VACUUM ANALYZE dated, ten');
$query = 'SELECT extract(year FROM d) AS k, count(*) AS c, sum(i) AS s FROM dated JOIN ten USING (m) GROUP BY 1';
$rows = core('postgres', $query);
my $dating = call_keeper($node);
kill 'STOP', $dating;
for my $run (1 .. 3) { is(forced('postgres', $query), $rows, "computed groups of run $run are core's"); }
is(kept_chunks('postgres', 'dated'), '0', 'and are not kept by a query');
kill 'CONT', $dating;
ok(wait_until(sub { $node->safe_psql('postgres', "SET gpujoin.force = on; EXPLAIN (ANALYZE) $query") =~ /Kept(?: Build)?: 1 of 1 chunks, blocks read 0/ }),
	'but by the keeper');
is(forced('postgres', $query), $rows, "computed groups that are kept are core's");

# What a plan counts on in vain is remembered, while the keeper stands still and nothing else is kept: the next plans of that
# statement are not made twice.
$node->safe_psql('postgres', "CREATE TABLE price AS SELECT i, (i % 50)::numeric(10,2) AS n, repeat('x', 60) AS pad FROM generate_series(1, 100000) i");
$node->safe_psql('postgres', 'VACUUM ANALYZE price');
$query = 'SELECT n AS k, count(*) AS c, sum(i) AS s FROM price GROUP BY n';
$rows = core('postgres', $query);
my $pricing = call_keeper($node);
kill 'STOP', $pricing;
$node->safe_psql('postgres', "SELECT gpujoin_keep('price', '{i,n}')");
my ($planned, $said);
$node->psql('postgres', 'SET gpujoin.force = on; SET client_min_messages = debug1; ' . ("SELECT '1', sum(c), sum(s) FROM ($query) AS q; " x 3),
	stdout => \$planned, stderr => \$said);
is($planned, join("\n", ($rows) x 3), "plans that count on kept columns in vain give core's rows");
is(scalar(() = $said =~ /planning without kept columns of 1 tables/g), 1, 'and are made a second time once');
kill 'CONT', $pricing;

# So does a query that core's plan is cheaper for, when its runs have come to what it takes.
make_table('postgres', 'visit', 900000);
$node->safe_psql('postgres', 'CREATE INDEX ON visit (k); SET statement_timeout = 0');
$query = 'SELECT k, count(*) AS c, sum(i) AS s FROM visit WHERE k < 9 GROUP BY k';
$rows = core('postgres', $query);
my $different = 0;
ok( wait_until(
		sub {
			$different++ if $node->safe_psql('postgres', "SET gpujoin.encode_cost = 1; SELECT '1', sum(c), sum(s) FROM ($query) AS q") ne $rows;
			return kept_chunks('postgres', 'visit') eq '2';
		}),
	'it is asked for what a plan would use');
is($different, 0, 'whose rows are the same meanwhile');
# Planners are told a little later.
ok( wait_until(
		sub { $node->safe_psql('postgres', "SET gpujoin.encode_cost = 1; EXPLAIN (ANALYZE) $query") =~ /Kept: 2 of 2 chunks, blocks read 0/ }),
	'and uses it');

# What is kept is counted on in the form in which it is kept alone: until the months are, too, core's plan stays.
$node->safe_psql('postgres', "CREATE TABLE day AS SELECT i, i % 40 AS k, date '2020-01-01' + i % 1500 AS d, repeat('x', 60) AS pad FROM generate_series(1, 900000) i");
$node->safe_psql('postgres', 'VACUUM ANALYZE day');
my $days = 'SELECT k, count(*) AS c, sum(i) AS s FROM day WHERE d < \'2023-01-01\' GROUP BY k';
my $months = 'SELECT extract(month FROM d) AS k, count(*) AS c, sum(i) AS s FROM day JOIN ten ON k = m GROUP BY 1';
# (From PostgreSQL 16 on the table may end with some blocks that nothing is known of.)
my $all = qr/Kept(?: Build)?: 2 of 2 chunks, blocks read \d?\d\b/;
my $in_vain = 0;
sub dear { return $node->safe_psql('postgres', "SET gpujoin.encode_cost = 1; $_[0]"); }
ok(wait_until(sub { dear($days); dear("EXPLAIN (ANALYZE) $days") =~ $all }), 'days are kept');
unlike(dear("EXPLAIN $months"), qr/GPU/, 'months are not counted on');
unlike(dear("SET plan_cache_mode = force_generic_plan; PREPARE p(integer) AS $months HAVING count(*) > \$1; EXPLAIN EXECUTE p(0)"), qr/GPU/, 'nor by a plan for all values');
ok( wait_until(
		sub {
			my $plan = dear("EXPLAIN (ANALYZE) $months");
			$in_vain++ if $plan =~ /GPU/ and $plan !~ $all;
			$different++ if dear("SELECT '1', sum(c), sum(s) FROM ($months) AS q") ne core('postgres', $months);
			return $plan =~ $all;
		}),
	'until they are kept');
is("$in_vain $different", '0 0', 'and no plan reads them as if they were');

# EXPLAIN shows what would be run.
$node->safe_psql('postgres', 'SELECT gpujoin_forget()');
for my $run (1 .. 6)
{
	my $shown = dear("EXPLAIN (COSTS OFF) $months") =~ /GPU/;
	$in_vain++ if $shown and dear("EXPLAIN (ANALYZE) $months") !~ /GPU/;
}
is($in_vain, 0, 'no plan is shown that is not run');
ok(wait_until(sub { dear("EXPLAIN (ANALYZE) $months") =~ $all }), 'which does not stand in the way of keeping');

unlike($node->safe_psql('postgres', "SELECT string_agg(reason, '; ') FROM gpujoin_why('SELECT a.i FROM visit AS a JOIN visit AS b ON a.i <> b.i')"), qr/has not asked/,
	'a query that may be planned anew is explained');
is($node->safe_psql('postgres', "BEGIN READ ONLY; SET gpujoin.encode_cost = 1; SELECT '1'; EXPLAIN (COSTS OFF) SELECT x.* FROM ($days) AS x JOIN LATERAL (SELECT * FROM ten FOR UPDATE) AS t ON true; COMMIT") =~ /^1$/m, 1,
	'plans that lock rows are shown in transactions that may not');

# So are the parts that read tables of statements that do more, and queries of queries.
$node->safe_psql('postgres', 'SELECT gpujoin_forget(); CREATE TABLE target (k integer, c bigint, s bigint)');
ok( wait_until(
		sub {
			$node->safe_psql('postgres', "SET gpujoin.encode_cost = 1; TRUNCATE target; INSERT INTO target $query");
			return kept_chunks('postgres', 'visit') eq '2';
		}),
	'so is what an INSERT reads');
is($node->safe_psql('postgres', "SELECT '1', sum(c), sum(s) FROM target"), $rows, 'whose rows are right');
$in_vain = 0;
make_table('postgres', 'held', 900000);
$node->safe_psql('postgres', 'CREATE INDEX ON held (k)');
my $held = $query =~ s/visit/held/r;
$node->safe_psql('postgres', 'CREATE TABLE spare AS TABLE target; CREATE MATERIALIZED VIEW unpopulated AS SELECT m FROM ten WITH NO DATA');
for my $statement ("WITH w AS (UPDATE spare SET c = c RETURNING k) SELECT * FROM ($held) AS q JOIN w USING (k)", "INSERT INTO spare VALUES (1, (SELECT max(s) FROM ($held) AS q))",
	"SELECT * FROM ($held) AS q", "SELECT * FROM ($held) AS q JOIN (SELECT * FROM ten FOR UPDATE) AS t ON true",
	"UPDATE target SET c = q.c, s = q.s FROM ($held) AS q WHERE q.k = target.k")
{
	$node->safe_psql('postgres', 'SELECT gpujoin_forget()');
	ok( wait_until(
			sub {
				my $plan = dear("EXPLAIN (ANALYZE) $statement");
				$in_vain++ if $plan =~ /GPU/ and $plan !~ $all;
				return $plan =~ $all;
			}),
		"so is what is read by $statement");
}
is($in_vain, 0, 'and none runs as if it were kept before it is');
like(dear("EXPLAIN SELECT * FROM ($held) AS q JOIN unpopulated ON m = q.k"), qr/GPU/, 'what cannot be run is explained');
is(dear("PREPARE p AS SELECT * FROM ($held) AS q JOIN unpopulated ON m = q.k; CREATE TABLE no_rows AS EXECUTE p WITH NO DATA; SELECT count(*) FROM no_rows"), '0',
	'or makes a table without rows');
like(dear("SET constraint_exclusion = on; BEGIN READ ONLY; EXPLAIN SELECT q.* FROM ($held) AS q LEFT JOIN (SELECT * FROM ten FOR UPDATE) AS t ON t.m < 1 AND t.m > 2; COMMIT"),
	qr/GPU/, 'or in a transaction that may only read');
is($node->safe_psql('postgres', "SELECT '1', sum(c), sum(s) FROM target"), $rows, 'whose rows are right');

# Of a table that another query wants other columns of all narrow ones are kept, if they take less than half of the memory.
$node->safe_psql('postgres', <<'END');
SELECT gpujoin_forget();
CREATE TABLE wide AS SELECT i, i % 7 AS a, i % 11 AS b, i % 13 AS c, i % 17::bigint AS d, ('s' || i % 3)::char(4) AS short, ('s' || i)::varchar(90) AS long,
	repeat('x', 60) AS pad FROM generate_series(1, 500000) AS i;
CREATE TABLE filler AS SELECT i, md5(i::text) || md5('a' || i) || md5('b' || i) AS pad FROM generate_series(1, 380000) AS i;
VACUUM ANALYZE wide, filler;
END
sub by { return "SELECT $_[0] AS k, count(*) AS c, sum(i) AS s FROM wide GROUP BY $_[0]"; }
sub kept_columns { return $node->safe_psql('postgres', "SELECT coalesce(max(columns), 0) FROM gpujoin_kept WHERE relation = 'wide'::regclass"); }
my $wrong = 0;
sub keeps_by
{
	my ($column, $columns) = @_;
	return wait_until(sub {
		$wrong++ if forced('postgres', by($column)) ne core('postgres', by($column));
		return kept_columns() eq $columns && keepers() eq '0'; });
}
my $selves = 'SELECT x.k, x.c + y.c AS c, x.s + y.s AS s FROM (' . by('a') . ') AS x JOIN (' . by('b') . ') AS y USING (k)';
ok(wait_until(sub { $wrong++ if dear("SELECT '1', sum(c), sum(s) FROM ($selves) AS q") ne core('postgres', $selves); kept_columns() eq '3' && keepers() eq '0' }),
	'what one query asks for is kept, and no more');
$node->safe_psql('postgres', 'SELECT gpujoin_forget()');
ok(keeps_by('a', 2), 'so it is of another one');
$node->safe_psql('postgres', 'INSERT INTO wide SELECT * FROM wide WHERE i <= 200000');
$node->safe_psql('postgres', 'VACUUM ANALYZE wide');
ok( wait_until(
		sub { forced('postgres', by('a')); $node->safe_psql('postgres', 'SET gpujoin.force = on; EXPLAIN (ANALYZE) ' . by('a')) =~ /Kept: 2 of 2 chunks, blocks read \d?\d\b/ }),
	'what the table has grown by is kept, too');
is(kept_columns(), '2', 'which are no other columns');
ok(keeps_by('b', 7), 'all narrow columns are when the next one asks, and such as come again');
like($node->safe_psql('postgres', 'SET gpujoin.force = on; EXPLAIN (ANALYZE) ' . by('c')), qr/Kept: 2 of 2 chunks, blocks read \d?\d\b/, 'which are used at once');
$node->safe_psql('postgres', 'SELECT gpujoin_forget()');
isnt($node->safe_psql('postgres', "SELECT gpujoin_keep('filler')"), '0', 'more than half of the memory is in use');
ok(keeps_by('a', 2), 'then, too, what is asked for is kept');
ok(keeps_by('b', 3), 'and no more');
is($wrong, 0, 'rows are those of core meanwhile');

# A plan that reads a trigger's transition tables, which nobody else knows, is not started for asking.
$node->safe_psql('postgres', <<'END');
SELECT gpujoin_forget();
CREATE TABLE fired (k integer);
CREATE TABLE seen (c bigint, s bigint);
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE c bigint; s bigint;
BEGIN
	EXECUTE 'SELECT sum(c), sum(s) FROM (SELECT k, count(*) AS c, sum(i) AS s FROM visit WHERE k < 9 GROUP BY k) AS q JOIN added USING (k)' INTO c, s;
	INSERT INTO seen VALUES (c, s);
	RETURN NULL;
END $$;
CREATE TRIGGER looks AFTER INSERT ON fired REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION look();
END
my $refused = 0;
ok( wait_until(
		sub {
			$refused++ if $node->psql('postgres', 'SET gpujoin.encode_cost = 1; INSERT INTO fired SELECT i FROM generate_series(0, 8) AS i') != 0;
			return $refused || kept_chunks('postgres', 'visit') eq '2';
		}),
	'so is what a trigger reads together with its transition table');
is($refused, 0, 'without an error');
is($node->safe_psql('postgres', "SELECT DISTINCT '1', c, s FROM seen"), $rows, 'and the rows are right');

# The table is not what it was when the keeper comes to it, or is gone.
for my $change ('ALTER TABLE sale ALTER k TYPE text', 'ALTER TABLE sale DROP i, ADD i bigint DEFAULT 5', 'TRUNCATE sale', 'DROP TABLE sale')
{
	$node->safe_psql('postgres', 'DROP TABLE IF EXISTS sale; SELECT gpujoin_forget()');
	make_table('postgres', 'sale', 100000);
	# A keeper that stands still lets the change come first.
	my $asker = $node->background_psql('postgres');
	$asker->query_safe('SET gpujoin.force = on; SELECT k, sum(i) FROM sale GROUP BY k');
	my $keeper = call_keeper($node);
	$asker->query_safe('SELECT k, sum(i) FROM sale GROUP BY k');
	$asker->quit;
	$node->safe_psql('postgres', $change);
	kill 'CONT', $keeper;
	ok(wait_until(sub { keepers() eq '0' }), "the keeper ends after $change");
	is($node->safe_psql('postgres', "SELECT count(*) FROM gpujoin_kept WHERE relation IS DISTINCT FROM 'caller'::regclass"), '0', 'and has kept nothing of what was') if $change !~ /ADD i/;
	next if $change =~ /DROP TABLE/;
	my $all = 'SELECT k, count(*) AS c, sum(i) AS s FROM sale GROUP BY k';
	$rows = core('postgres', $all);
	for my $run (1 .. 3) { is(forced('postgres', $all), $rows, "run $run then gives core's rows"); }
}

# Who drops the database need not wait until it is done.
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION gpujoin');
make_table('other', 'theirs', 1000000);
$node->safe_psql('other', 'SET gpujoin.force = on; SELECT k, sum(i) FROM theirs GROUP BY k; SELECT k, sum(i) FROM theirs GROUP BY k');
is($node->psql('postgres', 'DROP DATABASE other'), 0, 'a database can be dropped while its tables are being kept');

# It is ended by somebody while a request waits: the next scan has another one come.
make_table('postgres', 'sold', 1000000);
$query = 'SELECT k, count(*) AS c, sum(i) AS s FROM sold GROUP BY k';
my $keeper = call_keeper($node);
for my $run (1 .. 2) { forced('postgres', $query); }
$node->safe_psql('postgres', "SELECT pg_terminate_backend($keeper)");
kill 'CONT', $keeper;
ok(wait_until(sub { keepers() eq '0' }), 'the keeper can be terminated');
is(kept_chunks('postgres', 'sold'), '0', 'before it has kept what it was asked for');
is(forced('postgres', $query), core('postgres', $query), "rows are core's");
ok(wait_until(sub { forced('postgres', $query); kept_chunks('postgres', 'sold') eq '2' }), 'and another keeper keeps it');

# Helpers share the chunks of a table with the keeper. One that is ended while the keeper waits for its chunk leaves that to a
# later keeper.
$node->safe_psql('postgres', 'ALTER SYSTEM SET gpujoin.keep_workers = 3');
$node->reload;
sub helpers { return $node->safe_psql('postgres', "SELECT coalesce(min(pid), 0) FROM pg_stat_activity WHERE backend_type = 'gpujoin keeper helper'"); }
make_table('postgres', 'split', 3000000);
my $split = 'SELECT k, count(*) AS c, sum(i) AS s FROM split GROUP BY k';
$rows = core('postgres', $split);
# It leaves soon, maybe before the scan that has called it is over: it is waited for meanwhile. Where it was missed, all begins anew.
$node->safe_psql('postgres', q{CREATE FUNCTION meets_helper(is_ended boolean) RETURNS boolean LANGUAGE plpgsql AS $$
	DECLARE
		helper int;
	BEGIN
		FOR i IN 1 .. 600 LOOP
			PERFORM pg_stat_clear_snapshot();
			SELECT min(pid) INTO helper FROM pg_stat_activity WHERE backend_type = 'gpujoin keeper helper';
			IF helper IS NOT NULL THEN
				RETURN NOT is_ended OR pg_terminate_backend(helper);
			END IF;
			PERFORM pg_sleep(0.005);
		END LOOP;
		RETURN false;
	END $$});
sub meets_helper
{
	my ($is_ended) = @_;
	return wait_until(sub {
		$node->safe_psql('postgres', 'SELECT gpujoin_forget()') if kept_chunks('postgres', 'split') > 4;
		my ($found, $complaint);
		my $scan = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', 'SET gpujoin.force = on', '-c',
			"SELECT '1', coalesce(sum(c), 0), coalesce(sum(s), 0) FROM ($split) AS q" ], '>', \$found, '2>', \$complaint);
		my $met = $node->safe_psql('postgres', "SELECT meets_helper($is_ended)");
		$scan->finish;
		chomp $found;
		$different++ if $found ne $rows;
		return $met eq 't'; });
}
ok(meets_helper('false'), 'a helper comes');
is($different, 0, "while rows are core's");
ok(wait_until(sub { $node->safe_psql('postgres', "SET gpujoin.force = on; EXPLAIN (ANALYZE) $split") =~ /Kept: ([2-9]) of \1 chunks, blocks read 0/ }),
	'all chunks are kept');
is(forced('postgres', $split), $rows, "rows of what several have kept are core's");
ok(wait_until(sub { keepers() eq '0' && helpers() eq '0' }), 'all leave');
$node->safe_psql('postgres', 'SELECT gpujoin_forget()');
ok(meets_helper('true'), 'a helper comes again, and is ended');
ok(wait_until(sub { keepers() eq '0' && helpers() eq '0' }), 'the keeper does not wait for helpers that are gone');
is(forced('postgres', $split), $rows, "rows are core's");

# More is asked for than there are places for: nobody makes chunks for want of one.
$node->safe_psql('postgres', 'ALTER SYSTEM RESET gpujoin.keep_workers; SELECT gpujoin_forget()');
$node->reload;
for my $number (1 .. 36) { $node->safe_psql('postgres', "CREATE TABLE many$number AS SELECT i, repeat('x', 60) AS pad FROM generate_series(1, 30000) i; VACUUM ANALYZE many$number"); }
$keeper = call_keeper($node);
kill 'STOP', $keeper;
my $made = 0;
for my $number (1 .. 36)
{
	my $sum = "SELECT 1, count(*) AS c, sum(i) AS s FROM many$number";
	$different++ if forced('postgres', $sum) ne core('postgres', $sum) or forced('postgres', $sum) ne core('postgres', $sum);
	$made += kept_chunks('postgres', "many$number");
}
is("$made $different", '0 0', 'no query keeps what the keeper has no place for');
kill 'CONT', $keeper;
ok( wait_until(sub { forced('postgres', 'SELECT 1, count(*) AS c, sum(i) AS s FROM many36'); kept_chunks('postgres', 'many36') eq '1' }),
	'and it is asked again later');
ok(wait_until(sub { keepers() eq '0' }), 'it leaves in the end');

# There is no room: it is not tried again by every scan.
$node->append_conf('postgresql.conf', "gpujoin.keep_memory = '4MB'\n");
$node->restart;
wait_until_ready($node) or die 'gpujoin is not ready';
for my $run (1 .. 3) { is(forced('postgres', $query), core('postgres', $query), "run $run without room gives core's rows"); }
ok(wait_until(sub { keepers() eq '0' }), 'the keeper leaves');
forced('postgres', $query);
is(keepers(), '0', 'and is not called again at once');

# There is no place for one more process: scans keep what they read, as they do where they are told to.
for my $setting ("max_worker_processes = 2", "max_worker_processes = 8\ngpujoin.keep_in_background = off")
{
	$node->append_conf('postgresql.conf', "gpujoin.keep_memory = '64MB'\n$setting\n");
	$node->restart;
	wait_until_ready($node) or die 'gpujoin is not ready';
	for my $run (1 .. 2) { forced('postgres', $query); }
	is(kept_chunks('postgres', 'sold'), '2', "the second scan keeps with $setting");
}
unlike(slurp_file($node->logfile), qr/(PANIC|FATAL:  (?!terminating|the database system)|TRAP)/, 'nothing went wrong');
$node->stop;
done_testing();
