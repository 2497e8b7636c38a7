# gpujoin_keep() where there is too little memory, or none, or no server, and where it is cancelled; the view gpujoin_kept
# of tables of other databases, and of those that are gone.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

my $node = make_node('kept', 'autovacuum = off', 'gpujoin.keep_memory = 0');
start_ready($node);
sub fails
{
	my ($query, $pattern, $what) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$query");
	like($err, $pattern, $what);
}
$node->safe_psql('postgres', q{
	CREATE TABLE sale AS SELECT i, i % 40 AS k, repeat('x', 100) || i AS t FROM generate_series(1, 300000) i;
	CREATE TABLE small AS SELECT i, i % 40 AS k FROM generate_series(1, 40000) i});
$node->safe_psql('postgres', 'VACUUM ANALYZE');

fails("SELECT gpujoin_keep('sale')", qr/ERROR:  55000: no columns are kept, because gpujoin.keep_memory is 0.*HINT:  Set gpujoin.keep_memory in postgresql.conf and reload it/s,
	'without memory nothing is kept');
is($node->safe_psql('postgres', 'SELECT count(*) FROM gpujoin_kept'), '0', 'and nothing is shown');
is($node->safe_psql('postgres', 'SELECT gpujoin_forget()'), '', 'or forgotten');

$node->append_conf('postgresql.conf', "gpujoin.keep_memory = '8MB'\n");
$node->restart;
wait_until_ready($node) or die 'gpujoin is not ready';
fails("SELECT gpujoin_keep('sale')", qr/ERROR:  53200: there is not enough room in gpujoin.keep_memory for the columns of "sale".*DETAIL:  1 of its 1 chunks are not kept; of 8 MB \d are in use.*HINT:  Raise gpujoin.keep_memory, name fewer columns/s,
	'where there is not enough memory, an error says so');
is($node->safe_psql('postgres', "SELECT gpujoin_keep('sale', '{i, k}') = pg_relation_size('sale') / 8192"), 't', 'fewer columns fit');
is($node->safe_psql('postgres', 'SELECT relation, columns, chunks, rows FROM gpujoin_kept'), 'sale|2|1|300000', 'and are there');

# Cancelled: what was begun does not keep others from keeping it.
$node->safe_psql('postgres', 'SELECT gpujoin_forget()');
fails("SET statement_timeout = 5; SELECT gpujoin_keep('sale', '{i, k}')", qr/ERROR:  57014: canceling statement/, 'it can be cancelled');
is($node->safe_psql('postgres', 'SELECT count(*) FROM gpujoin_kept'), '0', 'then there is nothing');
ok(wait_until(sub { $node->safe_psql('postgres', "SELECT gpujoin_keep('sale', '{i, k}') > 0") eq 't' }), 'until it is kept for good');
ok(wait_until_idle($node), 'and no session is left');

# Names of other databases' tables are not known; what is dropped has none.
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', q{CREATE EXTENSION gpujoin;
	CREATE TABLE theirs AS SELECT i FROM generate_series(1, 1000) i});
$node->safe_psql('other', 'VACUUM theirs');
is($node->safe_psql('other', "SELECT gpujoin_keep('theirs')"), '5', 'a table of another database is kept');
is($node->safe_psql('other', 'SELECT database, relation FROM gpujoin_kept ORDER BY 1'), "other|theirs\npostgres|", 'each has its name in its database');
is($node->safe_psql('postgres', 'SELECT database, relation FROM gpujoin_kept ORDER BY 1'), "other|\npostgres|sale", 'alone');
$node->safe_psql('postgres', "SELECT gpujoin_forget('sale')");
is($node->safe_psql('other', 'SELECT database, relation FROM gpujoin_kept'), 'other|theirs', 'one can be forgotten');
$node->safe_psql('postgres', 'DROP DATABASE other');
is($node->safe_psql('postgres', 'SELECT database, relation, rows FROM gpujoin_kept'), '||1000', 'of what is dropped there is no name');
# What nobody can ask for goes when something is kept, but not what a transaction is only about to leave.
my $keep_sale = "SELECT gpujoin_keep('sale', '{k}') > 0";
my $kept = 'SELECT database, relation FROM gpujoin_kept ORDER BY 2';
is($node->safe_psql('postgres', "SELECT gpujoin_keep('small') > 0; $kept"), "t\npostgres|small", 'and it goes when another table is kept');
my $truncating = $node->background_psql('postgres');
$truncating->query_safe('BEGIN; TRUNCATE small');
is($node->safe_psql('postgres', "$keep_sale; $kept"), "t\npostgres|sale\npostgres|small", 'what is being truncated stays');
$truncating->query_safe('ROLLBACK');
is($node->safe_psql('postgres', "SET gpujoin.force = on; SET gpujoin.aggregate = on; EXPLAIN (ANALYZE) SELECT k, sum(i) FROM small GROUP BY k") =~ /Kept: 1 of 1 chunks, blocks read 0/, 1,
	'and is used when that is taken back');
$truncating->query_safe('TRUNCATE small');
$truncating->quit;
is($node->safe_psql('postgres', "SELECT count(*) FILTER (WHERE relation IS NULL) FROM gpujoin_kept"), '1', 'when it has been');
is($node->safe_psql('postgres', "$keep_sale; $kept"), "t\npostgres|sale", 'it goes');
$node->safe_psql('postgres', 'INSERT INTO small SELECT i, i % 40 AS k FROM generate_series(1, 40000) i');
$node->safe_psql('postgres', 'VACUUM ANALYZE small');
is($node->safe_psql('postgres', 'SELECT gpujoin_forget()'), '', 'all can be forgotten');
is($node->safe_psql('postgres', 'SELECT count(*) FROM gpujoin_kept'), '0', 'then there is nothing');

# Another server has nothing; without one there is an error.
$node->safe_psql('postgres', "SELECT gpujoin_keep('small')");
my $pid = server_pid($node);
kill 'KILL', $pid;
wait_until_ready($node, $pid) or die 'the server did not come back';
is($node->safe_psql('postgres', 'SELECT count(*) FROM gpujoin_kept'), '0', 'the next server has nothing');
is($node->safe_psql('postgres', "SELECT gpujoin_keep('small') > 0"), 't', 'but keeps what it is told to');

# After a vacuum a query does not read pages to prove them that do not lie in shared buffers.
my $sum = 'SELECT sum(i) FROM sale WHERE k < 20';
my $join = 'SELECT count(*), max(n) FROM sale JOIN names USING (k) WHERE i > 10';
$node->safe_psql('postgres', q{CREATE TABLE names AS SELECT k, 'name ' || k AS n FROM generate_series(0, 39) k});
my $settings = 'SET gpujoin.aggregate = on; SET parallel_setup_cost = 10';
sub restart_with
{
	$node->append_conf('postgresql.conf', $_[0]);
	$node->restart;
	wait_until_ready($node) or die 'gpujoin is not ready';
}
sub readers
{
	my $plan = $node->safe_psql('postgres', "$settings; EXPLAIN " . ($_[0] // $sum));
	return $plan =~ /Gather/ ? 'several' : $plan =~ /GPU/ ? 'one' : 'others';
}
restart_with("shared_buffers = 8MB\n");
is(readers(), 'several', 'a table that is not kept is read by several processes');
$node->safe_psql('postgres', "SELECT gpujoin_keep('sale', '{i, k}')");
is(readers(), 'one', 'one that is kept by one');
is(readers($join), 'one', 'and is joined by one');
$node->safe_psql('postgres', 'UPDATE sale SET k = k WHERE i = 1');
$node->safe_psql('postgres', 'VACUUM sale');
# Some do.
$node->safe_psql('postgres', q{SELECT count(*) FROM sale WHERE ctid = ANY (ARRAY(SELECT format('(%s,1)', b)::tid FROM generate_series(0, 5000, 8) b))});
is(readers($join), 'several', 'where most pages do not lie in shared buffers nothing is left after a vacuum');
ok(wait_until(sub { $node->safe_psql('postgres', "$settings; SET gpujoin.keep_in_background = on; $join"); readers($join) eq 'one' }),
	'until the keeper has proven them');

# Where pages prove nothing, nothing is counted on until it is kept again.
restart_with("shared_buffers = 128MB\nwal_level = minimal\nmax_wal_senders = 0\n");
$node->safe_psql('postgres', "SELECT gpujoin_keep('sale', '{i, k}')");
$node->safe_psql('postgres', 'UPDATE sale SET k = k WHERE i = 1');
is(readers(), 'one', 'a table of which hardly anything has changed is still counted on');
$node->safe_psql('postgres', 'VACUUM sale');
is(readers(), 'several', 'under wal_level = minimal nothing is left after a vacuum');
$node->safe_psql('postgres', "SELECT gpujoin_keep('sale', '{i, k}')");
is(readers(), 'one', 'until it is kept again');

$node->safe_psql('postgres', q(UPDATE pg_extension SET extversion = '0.1.0' WHERE extname = 'gpujoin'));
fails("SELECT gpujoin_why('SELECT 1')", qr/ERROR:  55000: extension gpujoin has version 0\.1\.0 .*HINT:  Execute ALTER EXTENSION gpujoin UPDATE/s,
	'an extension of another version is told from this one');
$node->stop;

$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
$node->start;
fails("SELECT gpujoin_keep('small')", qr/ERROR:  58000: the gpujoin server is not running.*shared_preload_libraries/s, 'without a server there is an error');
fails('SELECT gpujoin_forget()', qr/ERROR:  58000: the gpujoin server is not running.*shared_preload_libraries/s, 'as for what is forgotten');
my ($rc, $out, $err) = $node->psql('postgres', 'SELECT * FROM gpujoin_kept');
like($err, qr/WARNING:.*not running/, 'and a warning where one only looks');
$node->stop;

done_testing();
