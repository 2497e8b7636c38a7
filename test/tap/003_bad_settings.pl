# Settings that make no sense are refused where they are set, and at the start of the cluster replaced by their
# defaults, as PostgreSQL does with all settings of extensions. What only the server can judge leaves a cluster that
# works without it and says why, without flooding the log.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

my $node = make_node('settings', "gpujoin.device = 'gpu'");
start_ready($node);
like(slurp_file($node->logfile),
	qr/WARNING:  invalid value for parameter "gpujoin.device": "gpu".*It must be "auto", "cpu", or GPU numbers/s,
	'a bad device in postgresql.conf is reported, with what is expected');
is($node->safe_psql('postgres', 'SHOW gpujoin.device'), 'auto', 'and is not used');

sub refused
{
	my ($command, $message, $name) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', $command);
	like($err, $message, $name // "$command is refused");
}
refused("ALTER SYSTEM SET gpujoin.device = '$_'", qr/ERROR:  invalid value for parameter "gpujoin.device"/)
  for ('gpu', '0,', ',1', '-1', '0 1', '0;1', '5000', '', 'cpu,0', '0,cpu', 'cpu,', 'cpucpu', join(',', ('cpu') x 17));
refused("ALTER SYSTEM SET $_", qr/ERROR:.*(outside the valid range|invalid value)/)
  for ("gpujoin.staging_memory = '1MB'", 'gpujoin.cpu_threads = -1', "gpujoin.algorithm = 'bogo'",
	"gpujoin.host_memory = '100TB'", 'gpujoin.emit_cost = -1');
refused('SET gpujoin.devices = 1', qr/invalid configuration parameter name "gpujoin.devices"/);
refused("SET gpujoin.device = 'cpu'", qr/cannot be changed without restarting/);
for my $good ('auto', 'CPU', '0', '0,1', ' 3 , 12')
{
	my ($rc) = $node->psql('postgres', "ALTER SYSTEM SET gpujoin.device = '$good'");
	is($rc, 0, "gpujoin.device = '$good' is accepted");
}

# GPUs that do not exist: joins run on the CPU, and the view says why.
$node->safe_psql('postgres', "ALTER SYSTEM SET gpujoin.device = '1022, 1023'");
$node->restart;
ok(wait_until_ready($node), 'the server starts without the GPUs that it was given');
is(status($node, 'has_gpu'), 'f', 'with none');
is($node->safe_psql('postgres', "SELECT count(*) FROM gpujoin_devices WHERE engine = 'cuda' AND state = 'ready'"),
	'0', 'none is said to be ready');
is($node->safe_psql('postgres', "SELECT state FROM gpujoin_devices WHERE engine = 'cpu'"), 'ready', 'but the CPU');
is($node->safe_psql('postgres', 'SELECT string_agg(state, $$, $$) FROM gpujoin_devices WHERE number IN (1022, 1023)'),
	'no such device, no such device', 'and why each of the others is not');
$node->stop;

# A server that has too little memory to start is tried ever more rarely, and everything else works.
$node->append_conf('postgresql.auto.conf', "gpujoin.device = 'cpu'\ngpujoin.staging_memory = '64GB'\n");
my $log = $node->logfile;
system_or_bail('bash', '-c', "ulimit -v 8000000; exec pg_ctl -w -D '" . $node->data_dir . "' -l '$log' start");
$node->_update_pid(1);
my $words;    # of a server that is down, and not of the next that is starting
ok(wait_until(sub { ($words) = status($node, q{server || ': ' || last_words}) =~ /^down: (.*)/ }), 'a server without memory is down');
like($words, qr/memory/, 'its last words say why');
is(status($node, 'ready'), 'f', 'no joins are taken');
is($node->safe_psql('postgres', 'SELECT count(*) > 0 FROM pg_class a JOIN pg_class b USING (oid)'), 't',
	'core executes them');
my @ends;
ok(wait_until(sub { @ends = slurp_file($log) =~ /^\S+ (\S+) .*gpujoin server .* ended: exited with code/gm; @ends > 3 }),
	'it is tried again');
my @seconds = map { my ($hours, $minutes, $seconds) = split /:/; ($hours * 60 + $minutes) * 60 + $seconds } @ends;
cmp_ok(($seconds[$_] - $seconds[$_ - 1]) % 86400, '>=', 2**($_ - 1), 'ever more rarely') for (1 .. 3);
$node->stop;

done_testing();
