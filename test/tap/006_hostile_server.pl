# Whatever a server sends, a backend answers with an error and goes on: it checks every message before it uses it.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use GpuJoinTest;

use_fake_server();

my $node = make_node('hostile');
start_ready($node);
$node->safe_psql('postgres', 'CREATE TABLE a AS SELECT g AS k, g AS v FROM generate_series(1, 100) g; ANALYZE');

# An error is soon there, but on a busy machine not at once; for one who waits for silence a second will do.
sub misbehave
{
	my ($how, $expected, $sqlstate) = @_;
	my $timeout = $sqlstate eq '57014' ? '1s' : '300s';
	my $file = $node->data_dir . '/misbehaviour';
	unlink $file;
	append_to_file($file, $how);
	my ($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET gpujoin.force = on;"
		  . "SET statement_timeout = '$timeout'; SELECT a.v, b.v FROM a JOIN a b ON a.k = b.k");
	like($err, qr/ERROR:  (?:$sqlstate): .*$expected/s, $how);
}

my $malformed = 'malformed message from the gpujoin server';
for my $stage ('hello', 'open', 'append', 'seal', 'probe')
{
	misbehave("$stage:$_", $malformed, '58000')
	  for ('short', 'magic', 'size', 'type', 'long', 'unasked', 'devices', 'ghost_append', 'ghost_result',
		'ghost_stage', 'staged');
	misbehave("$stage:text", 'malformed', '58000');
	misbehave("$stage:$_", 'the gpujoin server is of another build of gpujoin', '58000') for ('version', 'build');
	misbehave("$stage:silent", 'canceling statement due to statement timeout', '57014');
}
misbehave('hello:version', 'HINT:  Restart PostgreSQL after upgrading gpujoin.', '58000');
misbehave("$_:close", 'lost the connection to the gpujoin server', '58000') for ('append', 'seal', 'probe');
misbehave("hello:$_", $malformed, '58000') for ('no_descriptor', 'unsealed', 'too_small');
misbehave("open:$_", $malformed, '58000') for ('block_outside', 'block_overflow');
misbehave("probe:$_", $malformed, '58000')
  for ('outside', 'overflow', 'unaligned', 'rows', 'numbers_outside', 'no_numbers', 'columns', 'column_outside', 'ghost');

unlike(slurp_file($node->logfile), qr/terminated by signal|crash/, 'no backend has crashed');
$node->stop;
done_testing();
