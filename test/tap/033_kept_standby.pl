# A hot standby keeps columns of its own, by its own function and its own keeper, and gives the rows that it would give without
# them, whatever the primary does meanwhile, under snapshots old and new, and when it has been promoted.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

my $primary = make_node('primary', 'autovacuum = off', "gpujoin.keep_memory = '64MB'", 'max_parallel_workers_per_gather = 0',
	"shared_buffers = '64MB'", 'max_standby_streaming_delay = 100');
start_ready($primary);
$primary->safe_psql('postgres', "CREATE TABLE t AS SELECT i, i % 40 AS k, 0 AS v, repeat('x', 100) AS pad FROM generate_series(1, 100000) i");
$primary->safe_psql('postgres', 'VACUUM ANALYZE t');
$primary->backup('first');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'first', has_streaming => 1);
$standby->start;
ok(wait_until_ready($standby), 'a hot standby has a server');

my $query = 'SELECT k, sum(i) AS s, sum(v) AS v, count(*) AS c FROM public.t WHERE i >= 0 GROUP BY k';
my $force = 'SET gpujoin.force = on; SET gpujoin.aggregate = on';
my $selected = "SELECT string_agg(q::text, ' ' ORDER BY k) FROM ($query) AS q";
sub rows { return $standby->safe_psql('postgres', "$_[0]; $selected"); }
sub is_right { is(rows($force), rows('SET gpujoin.enabled = off'), $_[0]); }
sub blocks_read
{
	return $standby->safe_psql('postgres', "$force; EXPLAIN (ANALYZE) $query") =~ m{Kept: 1 of 1 chunks, blocks read (\d+)} ? $1 : 'Inf';
}
sub is_kept { my $read = blocks_read(); ok($read <= 64, $_[0]) or diag("$read blocks were read"); }
sub is_read { my $read = blocks_read(); ok($read >= $_[0], $_[1]) or diag("$read blocks were read"); }
sub keep { $standby->safe_psql('postgres', "SELECT gpujoin_keep('t', '{i, k, v}')"); }
# VACUUM does not wait until what it has logged is written.
sub wait_until_replayed { $primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert')); }
# On the primary, and replayed.
sub change
{
	$primary->safe_psql('postgres', $_) for @_;
	wait_until_replayed();
}
# Rows of every twentieth block or so, by which remainder.
sub updated { return "UPDATE t SET v = v + 1 WHERE i % 1000 = $_[0]"; }

keep();
is_kept('columns are kept');
is_right('as they are');
change(updated(1));
is_read(100, 'blocks that have changed are read');
is_right('as they are');
my ($out, $err);
$standby->psql('postgres', "SELECT gpujoin_keep('t', '{i, k, v}')", stdout => \$out, stderr => \$err);
like($err, qr/NOTICE:  \d+ of \d+ blocks of "t" are kept\nHINT:  VACUUM the table on the primary:/, 'which VACUUM does something about');
is_read(100, 'and no patches are made');
change('BEGIN; ' . updated(2) . '; ROLLBACK', 'DELETE FROM t WHERE i % 1000 = 3', "INSERT INTO t SELECT i, 3, 3, 'new' FROM generate_series(1, 1000) i");
is_right('as are rows of any kind of change');
change('VACUUM t');
keep();
is_kept('what the primary has vacuumed is kept');
is_right('as it is');

# The map of what was kept has another version, of which the pages say that it is true still, or is not.
change(updated(4), 'VACUUM t');
is_right('after a vacuum rows are those of today');
is_read(100, 'some of which are read');
is_read(100, 'as often as they are asked for');
keep();
is_kept('until they are kept');

# A snapshot that is older than a change has what was there before, as long as recovery lets it.
my $session = $standby->background_psql('postgres', on_error_stop => 0);
$session->query_safe($_) for (split(/; /, $force), 'BEGIN ISOLATION LEVEL REPEATABLE READ');
my $before = $session->query_safe($selected);
change(updated(5));
is($session->query_safe($selected), $before, 'an older snapshot sees the rows of before');
isnt(rows($force), $before, 'a newer one does not');
is_right('and is right');
$primary->safe_psql('postgres', 'VACUUM t');
ok(wait_until(sub { $standby->safe_psql('postgres', 'SELECT confl_snapshot > 0 FROM pg_stat_database_conflicts WHERE datname = current_database()') eq 't' }),
	'it is in the way of a vacuum');
$session->{run}->finish;
wait_until_replayed();
is_right('which recovery replays then');

# Its keeper keeps what queries ask for.
$standby->append_conf('postgresql.conf', "gpujoin.keep_in_background = on\n");
$standby->reload;
$standby->safe_psql('postgres', "SELECT gpujoin_forget('t')");
ok(wait_until(sub { rows($force); blocks_read() <= 64 }), 'the keeper keeps columns, too');
is_right('as they are');
change('TRUNCATE t', "INSERT INTO t SELECT i, i % 40, 7, repeat('y', 100) FROM generate_series(1, 50000) i", 'VACUUM ANALYZE t');
ok(wait_until(sub { rows($force); blocks_read() <= 64 }), 'also of a table that was filled anew');
is_right('as they are');
$standby->append_conf('postgresql.conf', "gpujoin.keep_in_background = off\n");
$standby->reload;

# What was vacuumed in recovery, after it was kept, has left no note that somebody could find after the promotion.
keep();
is_kept('columns are kept before a promotion');
change(updated(6), 'VACUUM t');
$session = $standby->background_psql('postgres');
$session->query_safe($_) for ('SET gpujoin.enabled = off', 'BEGIN ISOLATION LEVEL REPEATABLE READ');
$before = $session->query_safe($selected);
$standby->promote;
is_right('after it they are not taken for true');
$session->query_safe($_) for ('SET gpujoin.enabled = on', split(/; /, $force));
$standby->safe_psql('postgres', updated(7));
is($session->query_safe($selected), $before, 'a snapshot of recovery is what it was');
$session->quit;
is_right('rows that change then are right');
$standby->safe_psql('postgres', 'VACUUM t');
keep();
is_kept('and kept');
is_right('as they are');
done_testing();
