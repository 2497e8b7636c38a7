# pg_stat_gpujoin has a row for each database, as long as there is room and the database is there; what has no row of its own
# is counted where datid is 0.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

my $node = make_node('statistics', 'gpujoin.force = on', 'max_parallel_workers_per_gather = 0');
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
$node->stop;

done_testing();
