# pg_stat_gpujoin has a row for each database, as long as there is room and the database is there; what has no row of its own
# is counted where datid is 0.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

my $node = make_node('statistics', 'gpujoin.force = on', 'restart_after_crash = on', 'max_parallel_workers_per_gather = 0');
start_ready($node);
my $join = 'SELECT count(*) FROM generate_series(1, 100) a JOIN generate_series(1, 100) b ON a = b';

sub joins
{
	my ($where) = @_;
	return $node->safe_psql('postgres', "SELECT datname, joins, failed FROM pg_stat_gpujoin WHERE $where ORDER BY datname");
}
sub joins_of { return joins("datname = '$_[0]'"); }
sub joins_of_none { return $node->safe_psql('postgres', 'SELECT joins FROM pg_stat_gpujoin WHERE datid = 0'); }

# Two databases, of which one is renamed and then dropped.
is($node->safe_psql('postgres', 'SELECT count(*), max(datid::int8), sum(server_restarts) FROM pg_stat_gpujoin'), '1|0|0', 'before the first join there is one row');
$node->safe_psql('postgres', 'CREATE DATABASE first');
$node->safe_psql('first', "$join; $join");
$node->psql('first', "$join AND 1 / (a - 50) > -100");
$node->safe_psql('postgres', $join);
is(joins('datid <> 0'), "first|3|1\npostgres|1|0", 'each database has its joins');
is($node->safe_psql('postgres', 'SELECT joins, failed FROM gpujoin_statistics()'), '4|1', 'the sums are of all');
$node->safe_psql('postgres', 'ALTER DATABASE first RENAME TO renamed');
is(joins_of('renamed'), 'renamed|3|1', 'a name may change');
$node->safe_psql('postgres', 'DROP DATABASE renamed');
is(joins('datid <> 0'), 'postgres|1|0', 'one that was dropped has no row');
is(joins_of_none(), 3, 'its joins count with those of no database');
is($node->safe_psql('postgres', 'SELECT joins, failed FROM gpujoin_statistics()'), '4|1', 'and the sums stay');

# Restarts of the server, and a reset of them.
my $server = server_pid($node);
kill 'KILL', $server;
ok(wait_until_ready($node, $server), 'the server is started again');
is($node->safe_psql('postgres', 'SELECT sum(server_restarts) FROM pg_stat_gpujoin'), 1, 'that is counted');
$node->safe_psql('postgres', 'SELECT gpujoin_reset_statistics(0)');
is($node->safe_psql('postgres', 'SELECT joins, server_restarts, stats_reset = since FROM pg_stat_gpujoin WHERE datid = 0'), '0|0|t', 'until it is reset');
is(joins_of('postgres'), 'postgres|1|0', 'for no database, which leaves others as they are');

# More databases than there is room for.
my $places = 128;
my $template = 'CREATE DATABASE %s TEMPLATE template0';
my @databases = map { "db$_" } 1 .. $places + 1;
$node->safe_psql('postgres', join(";\n", map { sprintf $template, $_ } @databases) . ';');
$node->safe_psql('postgres', join("\n", map { "\\c $_\n$join;" } @databases));
is($node->safe_psql('postgres', "SELECT count(*), sum(joins) FROM pg_stat_gpujoin WHERE datid <> 0"), "$places|$places", 'as many databases as there are places have rows');
is(joins_of_none(), 2, 'others are counted together');
is($node->safe_psql('postgres', 'SELECT joins FROM gpujoin_statistics()'), $places + 2, 'so that nothing is lost');
$node->safe_psql('postgres', 'DROP DATABASE db1');
$node->safe_psql($databases[-1], $join);
is(joins_of($databases[-1]), "$databases[-1]|1|0", 'a database that is dropped leaves its place to another one');
is($node->safe_psql('postgres', 'SELECT joins FROM gpujoin_statistics()'), $places + 3, 'and nothing is lost with it');

# A standby's own counts, where databases are dropped by the primary.
$node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->start;
ok(wait_until_ready($standby), 'a standby joins');
$standby->safe_psql('db2', $join);
is($standby->safe_psql('postgres', 'SELECT datname, joins FROM pg_stat_gpujoin WHERE datid <> 0'), 'db2|1', 'it counts by itself');
$node->safe_psql('postgres', 'DROP DATABASE db2');
ok(wait_until(sub { $standby->safe_psql('postgres', 'SELECT count(*), sum(joins) FROM pg_stat_gpujoin') eq '1|1' }), 'it has no row of a database that the primary has dropped');
$standby->stop;

# They outlive a restart, but for a crash, after which they begin anew, as PostgreSQL's own do.
my $all = 'SELECT datid, joins, failed, build_rows, since, stats_reset, server_restarts FROM pg_stat_gpujoin ORDER BY datid';
$server = server_pid($node);
kill 'KILL', $server;
ok(wait_until_ready($node, $server), 'the server is started again');
$node->safe_psql('postgres', 'SELECT gpujoin_reset_statistics(oid) FROM pg_database WHERE datname = $$postgres$$');
my $before = $node->safe_psql('postgres', $all);
like($before, qr/^0\|.*\|1$/m, 'before the restart');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', $all), $before, 'an immediate shutdown leaves them as they were');
my $addresses = slurp_file($node->data_dir . '/pg_hba.conf');
$node->stop;
append_to_file($node->data_dir . '/pg_hba.conf', "nonsense\n");
is($node->start(fail_ok => 1), 0, 'a start fails');
unlink($node->data_dir . '/pg_hba.conf');
append_to_file($node->data_dir . '/pg_hba.conf', $addresses);
$node->start;
is($node->safe_psql('postgres', $all), $before, 'and so does a start that fails');
my $file = $node->data_dir . '/pg_stat/gpujoin.stat';
$node->stop;
my $whole = slurp_file($file);
$node->start;
is($node->safe_psql('postgres', $all), $before, 'a restart leaves them as they were');
ok(wait_until(sub { !-e $file }), 'no backup has the file');
ok(wait_until_ready($node), 'joins run after it');
$node->safe_psql('db3', $join);
is(joins_of('db3'), 'db3|2|0', 'and are added');
$server = server_pid($node);
kill 'KILL', $server;
ok(wait_until_ready($node, $server), 'the server is started again');
is($node->safe_psql('postgres', 'SELECT sum(server_restarts) FROM pg_stat_gpujoin'), 2, 'restarts are added, too');
$server = server_pid($node);
kill 'KILL', $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'");
ok(wait_until_ready($node, $server), 'PostgreSQL crashes, and comes back');
my $none = '1|0|0';
is($node->safe_psql('postgres', 'SELECT count(*), sum(joins), sum(server_restarts) FROM pg_stat_gpujoin'), $none, 'without what was counted before');

# Files that are not what was written.
for my $broken ([ 'is cut', substr($whole, 0, length($whole) - 1) ], [ 'has another byte', substr($whole, 0, 40) . chr(ord(substr($whole, 40, 1)) ^ 1) . substr($whole, 41) ],
	[ 'is of another size', pack('L', 1) . substr($whole, 4) ], [ 'is empty', '' ])
{
	my ($how, $content) = @$broken;
	$node->stop;
	open my $handle, '>', $file or die;
	binmode $handle;
	print $handle $content;
	close $handle;
	my $from = -s $node->logfile;
	$node->start;
	is($node->safe_psql('postgres', 'SELECT count(*), sum(joins), sum(server_restarts) FROM pg_stat_gpujoin'), $none, "a file that $how is ignored");
	like(slurp_file($node->logfile, $from), qr/ignoring statistics of gpujoin in file "pg_stat\/gpujoin\.stat"/, 'the log says so');
}
my $from = -s $node->logfile;
mkdir "$file.tmp" or die;
$node->stop;
like(slurp_file($node->logfile, $from), qr/could not write file "pg_stat\/gpujoin\.stat\.tmp": Is a directory/, 'a file that cannot be written is told of');
$node->start;
is($node->safe_psql('postgres', 'SELECT 1'), 1, 'and hinders nothing');
$node->stop;

done_testing();
