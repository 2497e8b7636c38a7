# Rows of blocks that were changed after their table's columns were kept, and that VACUUM has not been at since: their
# patches have them as soon as no snapshot sees anything else. Rows come as the table has them, whoever asks.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

my $node = make_node('patches', 'autovacuum = off', "gpujoin.keep_memory = '64MB'", 'max_parallel_workers_per_gather = 0',
	"shared_buffers = '64MB'");  # pages that do not lie there are read rather than looked at
start_ready($node);
$node->safe_psql('postgres', "CREATE TABLE t AS SELECT i, i % 40 AS k, 0 AS v, repeat('x', 100) AS pad FROM generate_series(1, 100000) i");

sub query { return 'SELECT k, sum(i) AS s, sum(v) AS v, count(*) AS c FROM public.t WHERE i >= 0 GROUP BY k'; }
my $force = 'SET gpujoin.force = on; SET gpujoin.aggregate = on';
my $core = 'SET gpujoin.enabled = off';
sub selected { return "SELECT string_agg(q::text, ' ' ORDER BY k) FROM (" . query() . ') AS q'; }
sub rows { return $node->safe_psql('postgres', "$_[0]; " . selected()); }
sub is_right { is(rows($force), rows($core), $_[0]); }
sub blocks_read
{
	my ($query) = @_;
	return $node->safe_psql('postgres', "$force; EXPLAIN (ANALYZE) " . ($query // query())) =~ m{Kept: 1 of 1 chunks, blocks read (\d+)} ? $1 : 'Inf';
}
sub is_kept { my $read = blocks_read(); ok($read <= 64, $_[0]) or diag("$read blocks were read"); }
sub is_read { my $read = blocks_read(); ok($read >= $_[0], $_[1]) or diag("$read blocks were read"); }
sub keep { $node->safe_psql('postgres', "SELECT gpujoin_keep('t', '{i, k, v}')"); }
# Rows of every twentieth block or so, by which remainder.
sub change { $node->safe_psql('postgres', "UPDATE t SET v = v + 1 WHERE i % 1000 = $_[0]"); }
sub begin_session
{
	my $session = $node->background_psql('postgres');
	$session->query_safe($_) for @_;
	return $session;
}

$node->safe_psql('postgres', 'VACUUM ANALYZE t');
keep();
is_kept('all is kept');
change(1);
is_read(100, 'blocks that have changed are read');
is_right('as they are');
keep();
is_kept('and are kept without VACUUM, when nobody sees what was there before');
is_right('as they are');

# Other columns join those of the table and of the patch, where nothing but new rows has come, in blocks of their own.
$node->safe_psql('postgres', 'ALTER TABLE t SET (fillfactor = 10); VACUUM t');
keep();
$node->safe_psql('postgres', "INSERT INTO t SELECT i, 6, 6, repeat('n', 100) FROM generate_series(1, 3000) i");
keep();
$node->safe_psql('postgres', "SELECT gpujoin_keep('t', '{pad}')");
my $read = blocks_read('SELECT pad, count(*) FROM public.t GROUP BY pad');
ok($read <= 64, 'other columns are kept') or diag("$read blocks were read");
is_kept('beside those that were');
is_right('as they are');
$node->safe_psql('postgres', 'ALTER TABLE t RESET (fillfactor)');

# And where some of the table's blocks have changed: what others have is cut to those that are left.
change(20);
keep();
$node->safe_psql('postgres', "SELECT gpujoin_forget('t')");
$node->safe_psql('postgres', 'VACUUM t');
keep();
change(20);
keep();
$node->safe_psql('postgres', "SELECT gpujoin_keep('t', '{pad}')");
$read = blocks_read('SELECT pad, count(*) FROM public.t GROUP BY pad');
ok($read <= 64, 'other columns are kept of blocks that are left') or diag("$read blocks were read");
is_kept('beside those that were there');
is_right('as they are');

# Nor are they lost for the sake of blocks that VACUUM has marked since.
$node->safe_psql('postgres', "SELECT gpujoin_forget('t')");
keep();
change(21);
$node->safe_psql('postgres', 'VACUUM t');
$node->safe_psql('postgres', "SELECT gpujoin_keep('t', '{pad}')");
is($node->safe_psql('postgres', "SELECT columns FROM gpujoin_kept WHERE relation = 't'::regclass"), 4, 'all columns are there');
$read = blocks_read('SELECT pad, count(*) FROM public.t GROUP BY pad');
ok($read <= 64, 'others also of blocks that were marked') or diag("$read blocks were read");
keep();
is_kept('until they are of all');
is_right('as they are');

# What the patch has changes again.
change(1);
is_read(2, 'rows of a patch that have changed are read');
is_right('as they are');
$node->safe_psql('postgres', "DELETE FROM t WHERE i % 1000 = 2; INSERT INTO t SELECT i, 7, 7, repeat('y', 100) FROM generate_series(1, 3000) i");
is_right('as are rows that have gone or come');
keep();
is_kept('all of which are kept then');
is_right('as they are');

# A snapshot that is older.
my $old = begin_session('BEGIN ISOLATION LEVEL REPEATABLE READ', $force, 'SELECT 1');
my $before = $old->query_safe(selected());
change(3);
keep();
is_read(100, 'nothing is kept that another snapshot does not see');
is_right('nor that it does');
is($old->query_safe(selected()), $before, 'who has it sees what it had');
$old->query_safe('COMMIT');
keep();
is_kept('when it has gone the rows are kept');
is_right('as they are');

# A snapshot from when the patch was made, of rows that change and go then.
$old->query_safe($_) for 'BEGIN ISOLATION LEVEL REPEATABLE READ', 'SELECT 1';
$before = $old->query_safe(selected());
$node->safe_psql('postgres', 'UPDATE t SET i = i + 1000000 WHERE i % 1000 = 3; DELETE FROM t WHERE i % 1000 = 1');
is($old->query_safe(selected()), $before, 'rows of a patch that have gone are there for who saw them');
keep();
is($old->query_safe(selected()), $before, 'also when what has come in their place was looked at');
is_right('and are not for others');
$old->query_safe('COMMIT');

# Transactions that are open, and that end in either way, when the patch has been made.
for my $ending (qw(COMMIT ROLLBACK))
{
	keep();
	my $writer = begin_session('BEGIN', 'DELETE FROM t WHERE i % 1000 = 5', 'UPDATE t SET v = v + 1 WHERE i % 1000 = 6',
		"INSERT INTO t SELECT i, 8, 8, repeat('z', 100) FROM generate_series(1, 3000) i", 'SAVEPOINT s', 'UPDATE t SET v = 5 WHERE i % 1000 = 9', 'ROLLBACK TO s');
	keep();
	is_right("what is not committed is not seen ($ending)");
	$writer->query_safe($ending);
	is_right("and then it is, or not ($ending)");
	keep();
	is_right("also when it was kept ($ending)");
	is_kept("which it is ($ending)");
	$writer->quit;
}

# Locks are no changes, though who has them may stamp the pages.
my $locker = begin_session('BEGIN', 'SELECT count(*) FROM (SELECT FROM t WHERE i % 1000 = 7 FOR UPDATE) AS q');
keep();
is_kept('rows that are locked are kept');
$locker->query_safe('UPDATE t SET v = 9 WHERE i % 1000 = 7');
is_right('rows are not changed by who has locked them before he commits');
$locker->query_safe('COMMIT');
is_right('but are then');
$locker->quit;

# VACUUM marks the pages, takes away the last ones, and others come in their place.
change(11);
keep();
$node->safe_psql('postgres', 'VACUUM t');
is_right('rows are the same after VACUUM');
$node->safe_psql('postgres', "DELETE FROM t WHERE ctid >= '(1000,1)'; VACUUM (TRUNCATE) t");
is_right('without the last blocks');
$node->safe_psql('postgres', "INSERT INTO t SELECT i, 9, 9, repeat('w', 100) FROM generate_series(1, 40000) i");
is_right('and with others in their place');
keep();
is_right('which are kept');
$node->safe_psql('postgres', 'CLUSTER t USING t_i') if $node->safe_psql('postgres', 'CREATE INDEX t_i ON t (i); SELECT 1');
is_right('and after the table was written anew');

# The keeper makes patches, too, when scans have read what has changed a few times.
my $keeper = "$force; SET gpujoin.keep_in_background = on";
$node->safe_psql('postgres', 'VACUUM t');
keep();
change(12);
ok( wait_until(
		sub { $node->safe_psql('postgres', "$keeper; " . query()); $node->safe_psql('postgres', "$keeper; EXPLAIN (ANALYZE) " . query()) =~ m{blocks read \d\d?\b} }),
	'the keeper keeps what scans have read again and again');
is_right('as it is');

# A page that was changed without being logged, as hints are, is the same page.
$node->append_conf('postgresql.conf', 'wal_log_hints = on');
$node->restart;
wait_until_ready($node) or die;
$node->safe_psql('postgres', 'VACUUM t');
keep();
change(13);
$node->safe_psql('postgres', 'CHECKPOINT');
keep();
is_kept('hints that are logged do not keep rows from being kept');
is_right('as they are');
$node->stop;
done_testing();
