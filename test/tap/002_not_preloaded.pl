# Without shared_preload_libraries the extension can be created and used, plans nothing, and says why.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

my $node = PostgreSQL::Test::Cluster->new('late');
$node->init;
$node->append_conf('postgresql.conf', "gpujoin.device = 'cpu'\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION gpujoin');

is(status($node, 'ready'), 'f', 'it is not ready');
is(status($node, 'reason'), 'gpujoin is not in shared_preload_libraries', 'and says why');
is(status($node, 'server'), 'not preloaded', 'there is no server');
is($node->safe_psql('postgres', 'SELECT gpujoin_version()'), '0.2.0', 'the version is known');

my $query = 'SELECT count(*) FROM pg_class a JOIN pg_class b USING (relname)';
my $plan = $node->safe_psql('postgres', "LOAD 'gpujoin'; SET gpujoin.force = on; EXPLAIN (COSTS OFF) $query");
unlike($plan, qr/GPU Join/, 'joins are planned as ever');
is($node->safe_psql('postgres', "SELECT reason FROM gpujoin_why('$query') WHERE kind = 'Inner Join'"),
	'the server is not ready, so that core plans everything', 'and so says who is asked why');
is($node->safe_psql('postgres', "LOAD 'gpujoin'; SHOW gpujoin.device"), 'cpu', 'settings keep their values');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_gpujoin WHERE joins IS NOT NULL'), '0',
	'there are no statistics');

my ($rc, $out, $err) = $node->psql('postgres', 'SELECT * FROM gpujoin_devices');
is($rc, 0, 'the devices can be asked for');
like($err, qr/WARNING:.*not running.*shared_preload_libraries/s, 'with a warning that says why there are none');

($rc, $out, $err) = $node->psql('postgres', 'SELECT gpujoin_calibrate()');
like($err, qr/ERROR:.*not running.*shared_preload_libraries/s, 'nothing can be measured');

# Who may look.
$node->safe_psql('postgres', 'CREATE ROLE nobody; CREATE ROLE watcher IN ROLE pg_monitor');
for my $question ('gpujoin_status()', 'gpujoin_devices', 'pg_stat_gpujoin', 'gpujoin_kept', 'gpujoin_running')
{
	($rc, $out, $err) = $node->psql('postgres', "SET ROLE nobody; SELECT * FROM $question");
	like($err, qr/permission denied/, "$question is not for everybody");
	($rc) = $node->psql('postgres', "SET ROLE watcher; SELECT * FROM $question");
	is($rc, 0, "$question is for pg_monitor");
}
($rc, $out, $err) = $node->psql('postgres', 'SET ROLE watcher; SELECT gpujoin_calibrate()');
like($err, qr/permission denied/, 'who only watches may not measure');
$node->safe_psql('postgres', 'DROP EXTENSION gpujoin');
$node->stop;

done_testing();
