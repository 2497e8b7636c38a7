# A base backup skips the socket without a warning; a hot standby made from it has a server of its own, before and
# after its promotion.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

my $primary = make_node('primary');
start_ready($primary);

my $target = PostgreSQL::Test::Utils::tempdir();
my ($out, $err) = run_command(
	[ 'pg_basebackup', '-D', "$target/backup", '-d', $primary->connstr('postgres'), '-c', 'fast', '--no-sync' ]);
is($err, '', 'pg_basebackup says nothing');
ok(-e "$target/backup/PG_VERSION", 'and makes a backup');
is(scalar(grep { /gpujoin/ } slurp_dir("$target/backup")), 0, 'without the socket');

$primary->backup('first');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'first', has_streaming => 1);
$standby->start;
ok(wait_until_ready($standby), 'a hot standby has a server');
isnt(server_pid($standby), server_pid($primary), 'of its own');
is($standby->safe_psql('postgres', 'SELECT pg_is_in_recovery()'), 't', 'while in recovery');

my $pid = server_pid($standby);
$standby->promote;
is($standby->safe_psql('postgres', 'SELECT pg_is_in_recovery()'), 'f', 'promoted');
is(server_pid($standby), $pid, 'it keeps its server');
$standby->stop;
$primary->stop;
ok(!is_alive($pid), 'which ends with it');

done_testing();
